package scenarios

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picklock/picklock/history"
)

// A client whose lock tells of no refusal waits once what it asked has been dealt with, and not before.
func TestWaiting(t *testing.T) {
	const long = time.Second
	event := func(r *Runner, client string, typ history.Type, f string) {
		r.Observe(history.Event{Process: client, Type: typ, F: f, Time: r.stage.Now()})
	}
	asks := func(r *Runner) { event(r, "B", history.Invoke, history.Acquire) }
	always := func(time.Duration) bool { return true }
	never := func(time.Duration) bool { return false }
	for name, tt := range map[string]struct {
		rest    func(since time.Duration) bool
		carried func(since time.Duration) map[string]Carried
		unseen  bool // what the servers do
		acts    func(r *Runner)
		at      time.Duration // when it came, a few looks later at most; 0: it did not
	}{
		"it asks, and all come to rest": {rest: always, acts: func(r *Runner) {
			time.Sleep(100 * time.Millisecond)
			asks(r)
		}, at: 100 * time.Millisecond},
		"it computes for a while": {rest: func(d time.Duration) bool { return d > 300*time.Millisecond }, acts: asks, at: 300 * time.Millisecond},
		"it has not asked":        {rest: always, acts: func(*Runner) {}},
		"never at rest":           {rest: never, acts: asks},
		"its acquire has failed": {rest: func(d time.Duration) bool { return d > 200*time.Millisecond }, acts: func(r *Runner) {
			asks(r)
			time.Sleep(100 * time.Millisecond)
			event(r, "B", history.Fail, history.Acquire)
		}},
		"it is dead": {rest: always, acts: func(r *Runner) {
			r.mu.Lock()
			r.faults = append(r.faults, &faultState{TriggeredFault: &TriggeredFault{Fault: Fault{Word: killName, Nodes: []string{"B"}}}, on: true})
			r.mu.Unlock()
			asks(r)
		}},
		"it is granted the lock": {rest: never, acts: func(r *Runner) {
			asks(r)
			time.Sleep(100 * time.Millisecond)
			event(r, "B", history.OK, history.Acquire)
		}, at: 100 * time.Millisecond},
		"its lock tells of a refusal": {rest: never, acts: func(r *Runner) {
			asks(r)
			time.Sleep(100 * time.Millisecond)
			r.Waiting("B")
		}, at: 100 * time.Millisecond},
		"it asks again and again, and is answered": {rest: never, acts: asks, at: 250 * time.Millisecond, carried: func(d time.Duration) map[string]Carried {
			n := uint64(d / (50 * time.Millisecond))
			return map[string]Carried{"1": {Sent: n, Received: uint64(max(0, d-2*time.Millisecond) / (50 * time.Millisecond))}}
		}},
		"nobody sees the servers, and it is at rest": {rest: always, unseen: true, acts: asks},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := &Scenario{Clients: []string{"A", "B"}, TTL: time.Second}
				rest := resting{start: began, rest: func() bool { return tt.rest(time.Since(began)) }}
				var stage Stage = rest
				switch {
				case tt.carried != nil:
					stage = heard{rest, func() map[string]Carried { return tt.carried(time.Since(began)) }}
				case tt.unseen:
					stage = unseen{rest, func() map[string]Carried { return nil }}
				}
				r := NewRunner(s, stage, nil)
				go tt.acts(r)
				ctx, cancel := context.WithTimeout(t.Context(), long)
				defer cancel()
				err := r.awaitEvent(ctx, &Await{What: waitingEvent.what, Client: "B"})
				came := time.Since(began)
				if (err == nil) != (tt.at > 0) || err == nil && (came < tt.at || came > tt.at+20*time.Millisecond) {
					t.Errorf("after %v: %v, want it at %v", came, err, tt.at)
				}
				synctest.Wait()
			})
		})
	}
}

// heard is a stage on which nobody comes to rest unless the test says so, and what connections carry is seen.
type heard struct {
	resting
	carried func() map[string]Carried
}

func (s heard) Carried(context.Context, string) (map[string]Carried, error) { return s.carried(), nil }
