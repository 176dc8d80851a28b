package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
)

// TestAnsweredLate: a grant without a lease of its own, which a library promises to renew, may be over when its client
// learns of it. A run in which that needs no fault proves nothing.
func TestAnsweredLate(t *testing.T) {
	const lease = time.Second
	ask := func(client string, at time.Duration) history.Event {
		return history.Event{Process: client, F: history.Acquire, Type: history.Invoke, Time: int64(at)}
	}
	got := func(client string, at time.Duration) history.Event {
		return history.Event{Process: client, F: history.Acquire, Type: history.OK, Grant: client + ".1", Time: int64(at), Watchdog: true}
	}
	leased, bare := got("A", 1200*time.Millisecond), got("A", 1200*time.Millisecond)
	leased.Since, leased.Lease = int64(100*time.Millisecond), int64(2*time.Second)
	bare.Watchdog = false
	for _, tt := range []struct {
		name   string
		faults bool
		events []history.Event
		late   bool
	}{
		{"answered after more than a lease", false, []history.Event{ask("A", 1), got("A", 1200*time.Millisecond)}, true},
		{"answered within a lease", false, []history.Event{ask("A", 1), got("A", lease)}, false},
		{"it says when its lease began", false, []history.Event{ask("A", 1), leased}, false},
		{"it is held until it is given back", false, []history.Event{ask("A", 1), bare}, false},
		{"another client had asked for it", false, []history.Event{ask("B", 1), ask("A", 2), got("A", 1200*time.Millisecond)}, false},
		{"under a fault", true, []history.Event{ask("A", 1), got("A", 1200*time.Millisecond)}, false},
	} {
		s := &Scenario{Clients: []string{"A", "B"}, TTL: lease, TriggeredFaults: []TriggeredFault{{}}}
		r := NewRunner(s, emptyStage(), nil)
		r.track[0].begun = tt.faults
		for _, e := range tt.events {
			r.Observe(e)
		}
		r.granted("A")
		if late := strings.HasPrefix(r.slow, "A's acquire lasted 1.2s, longer than a lease"); late != tt.late || !late && r.slow != "" {
			t.Errorf("%s: %q", tt.name, r.slow)
		}
	}
}
