package harness

import (
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
)

// A run is given up when every client's program fails again and again, and nothing else
// can be the reason.
func TestProgramsGiveUp(t *testing.T) {
	failed := func(client string) history.Event {
		return history.Event{Process: client, F: history.Acquire, Type: history.Info, ClientFailed: true, Error: "no luck"}
	}
	nemesis := func(f string) history.Event {
		return history.Event{Process: history.Nemesis, F: f, Phase: history.Begin, Confirmed: true}
	}
	for _, tt := range []struct {
		name  string
		first []history.Event
		want  bool
	}{
		{"nothing else", nil, true},
		{"the machine was late", []history.Event{nemesis(checker.Stall)}, true},
		{"a fault struck", []history.Event{nemesis("kill")}, false},
		{"one got through", []history.Event{{Process: "c2", F: history.Acquire, Type: history.OK}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := programs{clients: 2}
			given := 0
			events := tt.first
			for range enoughFailures + 1 {
				events = append(events, failed("c1"), failed("c2"))
			}
			for _, e := range events {
				if p.observe(e) {
					given++
				}
			}
			if given > 1 || (given == 1) != tt.want {
				t.Errorf("given up %d times, want %v", given, tt.want)
			}
		})
	}
}
