package scenarios

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// A fault of a role falls on the servers that have it when the run begins.
func TestRoles(t *testing.T) {
	for fault, c := range map[string]struct {
		leader string
		want   []string // what was injected
	}{
		"pause: leader":               {"s2", []string{"pause s2"}},
		"pause: follower":             {"s2", []string{"pause redis"}},
		"kill: followers":             {"s2", []string{"kill redis", "kill s3"}},
		"cut: leader from followers":  {"s3", []string{"partition s3-redis,s2"}},
		"pause: leader, redis":        {"s2", []string{"pause s2", "pause redis"}},
		"pause: s2":                   {"", []string{"pause s2"}},
		"hold: leader to follower":    {"", nil},
		"clock: leader +1s":           {"redis", []string{"clock redis"}},
		"powerloss: follower":         {"redis", []string{"powerloss s2"}},
		"cut: A from leader":          {"redis", []string{"partition A-redis"}},
		"withhold: leader to A":       {"s2", []string{"withhold s2-A"}},
		"slow: followers from A 10ms": {"s2", []string{"slow redis,s3-A"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, err := Parse("mine.yaml", []byte(scheduleHead+"clients:\n  A: acquire, work 1 leases, write\n"+strike("before A's work", fault, "1 leases")))
			if err != nil {
				t.Fatal(err)
			}
			st := emptyStage()
			st.servers, st.leader = []string{"s2", "s3"}, c.leader
			p := NewRunner(s, st, nil)
			st.runner = p
			err = p.Run(t.Context())
			if e := p.Heal(t.Context()); e != nil {
				t.Error(e)
			}
			st.perform.Wait()
			if len(c.want) == 0 {
				var d *DiscardedError
				if !errors.As(err, &d) || !strings.Contains(d.Why, "no server led the others") {
					t.Errorf("%s: %v", fault, err)
				}
				return
			}
			if err != nil {
				t.Errorf("%s: %v", fault, err)
			}
			if !slices.Equal(st.asked, c.want) {
				t.Errorf("%s: %q, want %q", fault, st.asked, c.want)
			}
		})
	}
}
