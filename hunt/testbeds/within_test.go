package testbeds

import (
	"testing"
	"time"

	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/scenarios"
)

// A run may last as long as the deadlock of its own lease takes to be proved, for each acquire.
func TestRunWithin(t *testing.T) {
	schedule := func(bound string, ttl string) *scenarios.Scenario {
		s, err := scenarios.Parse("s.yaml", []byte("name: s\nabout: x\nlocks: [redis]\nttl: "+ttl+bound+`
clients:
  A: acquire, work 0.5 leases, release, acquire, release
  B: acquire, release
faults:
  - pause: A
    when: before A's release
    until: 1.6 leases
`))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	l := &testbed{}
	for _, ttl := range []time.Duration{250 * time.Millisecond, 10 * time.Second, 60 * time.Second} {
		got := l.runWithin(schedule("", ttl.String()))
		// Three acquires that each wait until nobody can doubt the deadlock, and what lies between.
		if least := startWithin + 3*(harness.DefaultBound(ttl)+2*ttl) + ttl*21/10; got < least || got > 3*least {
			t.Errorf("a lease of %v: %v, want at least %v", ttl, got, least)
		}
	}
	if got := l.runWithin(schedule("\nbound: 4m", "1s")); got < startWithin+12*time.Minute {
		t.Errorf("with a bound of its own %v", got)
	}
}
