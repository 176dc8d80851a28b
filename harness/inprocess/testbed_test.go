package inprocess

import (
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/redis"
	"github.com/picklock/picklock/compose/local"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/internal/testkit"
	"github.com/picklock/picklock/scenarios"
)

const overlapping = `clients:
  A: acquire, read, work 0.1 leases, write, release
  B: await A granted, acquire, read, write, release
`

// TestTestbed: runs follow one another on the same servers, each with a key of its own and a
// verdict of its own, and harm does not reach from one into the next.
func TestTestbed(t *testing.T) {
	testkit.NeedProgram(t, "redis-server", "apt-get install redis-server")
	o := options()
	o.Locks = clients.NewTable(nil, redis.Locks()...)
	o.Runtime = harness.Local{Sandbox: &local.Sandbox{Why: "a test"}}
	o.Lock, o.Fencing, o.TTL = "redis", "none", 400*time.Millisecond
	testbed, err := harness.NewTestbed(harness.TestbedOptions{Options: o, Clients: []string{"A", "B", "C"}, Bound: time.Second}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := testbed.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for _, x := range []struct {
		name, text, found, discarded string
	}{
		{"no fault", overlapping, "", ""},
		{"a pause before the write", overlapping + "faults:\n- when: before A's write\n  pause: A\n  until: after B's write or 4 leases\n", "stale-write", ""},
		{"no fault again", overlapping, "", ""},
		{"a crash", overlapping + "faults:\n- when: before A's write\n  kill: A\n  until: B granted or 4 leases\n", "", ""},
		{"a message of nobody", overlapping + "faults:\n- when: lease of B over\n  pause: A\n", "", "its trigger never came"},
		{"no fault at last", overlapping, "", ""},
	} {
		s, err := scenarios.Parse("mine.yaml", []byte("name: mine\nabout: x\nlocks: [redis]\nttl: 400ms\n"+x.text))
		if err != nil {
			t.Fatal(err)
		}
		p := run(t, testbed, s)
		if !strings.Contains(p.Discarded, x.discarded) || x.discarded == "" && p.Discarded != "" {
			t.Errorf("%s: discarded %q, want %q", x.name, p.Discarded, x.discarded)
		}
		found := p.Verdict.Valid == checker.False
		if found != (x.found != "") {
			t.Errorf("%s: %v (%s)", x.name, p.Verdict.Valid, p.Verdict.Why)
		}
		for _, a := range p.Verdict.Anomalies {
			if x.found != "" && p.Verdict.Properties[a.Property].Required && a.Name != x.found && a.Name != "lost-update" {
				t.Errorf("%s: %s: %s", x.name, a.Name, a.Explanation)
			}
		}
		for _, e := range p.Events {
			if e.Time < 0 || e.Time > int64(p.Took+time.Second) {
				t.Errorf("%s: an event at %d of a run of %v", x.name, e.Time, p.Took)
			}
		}
	}
	if n := testbed.Starts(); n != 1 {
		t.Errorf("servers were started %d times for runs that harmed none", n)
	}
}

// run runs a schedule, again where this machine was too busy for it.
func run(t *testing.T, testbed *harness.Testbed, s *scenarios.Scenario) *harness.RunResult {
	t.Helper()
	for i := 0; ; i++ {
		p, err := testbed.Run(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if !p.Busy || i == 20 {
			return p
		}
	}
}
