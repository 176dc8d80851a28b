package hunt

import (
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/scenarios"
)

// TestImpairedPairsComeEarly: a crash of the holder, or of the leader, while something is wrong with a server, comes
// before most schedules with one fault, and once; and not if such faults are left out.
func TestImpairedPairsComeEarly(t *testing.T) {
	const lease = 250 * time.Millisecond
	far := func(f scenarios.TriggeredFault) bool { return strings.HasSuffix(f.Fault.Text, " +30s") }
	for _, c := range []struct {
		name    string
		on      Target
		want    []string // among the pairs
		without string   // in none of them
		pairs   int
	}{
		{"one server", target(1, 1), []string{"clock: redis +30s;kill: A", "clock: redis +30s;kill: redis", "clock: redis -500ms;kill: A", "disk: redis stall;kill: redis"}, "without data", 8},
		{"three, of which one leads", Target{Lock: "l", TTL: lease, Servers: []string{"s1", "s2", "s3"}, Roles: true, Kept: true},
			[]string{"cut: leader from followers;kill: leader", "disk: leader stall;kill: A"}, "kill: follower", 20},
		{"three equal ones", target(3, 1), []string{"disk: s1 stall;kill: A"}, "kill: s", 6},
		{"kinds that are left out", target(1, 1, "kill", "pause"), nil, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen, found, singles := map[string]bool{}, map[string]bool{}, 0
			over := false              // the early ones
			atGrant := false           // the leader's disk stalls as soon as a lock is granted that is kept
			alone := map[string]bool{} // what came alone, with its program, and when it comes and ends
			for p := range space(c.on, 2) {
				if seen[p.id] {
					t.Fatalf("%s comes twice", p.id)
				}
				seen[p.id] = true
				if p.depth == 1 {
					singles++
					alone[p.workload+p.schedule.TriggeredFaults[0].String()] = true
					over = over || len(found) > 0
					atGrant = atGrant || !over && p.id == "stays|disk: leader stall when after A's acquire until 3 leases"
				}
				if p.depth < 2 || over {
					continue
				}
				list := p.schedule.TriggeredFaults
				if c.pairs > 0 && (!alone[p.workload+list[1].String()] || !far(list[0]) && !alone[p.workload+list[0].String()]) {
					t.Errorf("%s: one of them did not come alone before", p.id)
				}
				if far(list[0]) && list[0].Until.Move != list[1].When && list[0].Until.Await != list[1].When.Await {
					t.Errorf("%s: the clock is not set right when it crashes", p.id)
				}
				both := list[0].Fault.Text + ";" + list[1].Fault.Text
				found[both] = true
				if c.without != "" && strings.Contains(both, c.without) {
					t.Errorf("%s", both)
				}
			}
			if !over && c.pairs > 0 {
				t.Errorf("all %d schedules with one fault come before the pairs", singles)
			}
			if c.pairs == 0 {
				return
			}
			if c.on.Kept && !atGrant {
				t.Error("the leader's disk does not stall at the grant before the pairs")
			}
			for _, w := range c.want {
				if !found[w] {
					t.Errorf("not among the early ones: %s", w)
				}
			}
			if len(found) != c.pairs {
				t.Errorf("%d pairs, want %d: %v", len(found), c.pairs, found)
			}
		})
	}
}
