package scenarios

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picklock/picklock/history"
)

// resting is a stage whose nodes come to rest when the test says so.
type resting struct {
	Stage
	start time.Time
	rest  func() bool
}

func (s resting) Now() int64                                     { return int64(time.Since(s.start)) + 1 }
func (s resting) AtRest(context.Context, []string) (bool, error) { return s.rest(), nil }

// A wait that ends after a time goes on until what was asked has been dealt with: until the
// service has refused it since, or all that have to do with it are at rest.
func TestSettle(t *testing.T) {
	const or = 300 * time.Millisecond
	never := func(time.Duration) bool { return false }
	for name, tt := range map[string]struct {
		rest    func(since time.Duration) bool
		events  func(r *Runner) // while it is awaited
		lease   time.Duration   // of another client, from the beginning on
		want    string          // the step's outcome
		busy    bool            // or its error
		atLeast time.Duration
	}{
		"at rest when the time is over": {rest: func(time.Duration) bool { return true }, want: "not within 300ms", atLeast: or},
		"at rest a little later":        {rest: func(d time.Duration) bool { return d > or+100*time.Millisecond }, want: "not within 300ms", atLeast: or + 100*time.Millisecond},
		"refused anew, and never at rest": {rest: never, want: "not within 300ms", events: func(r *Runner) {
			time.Sleep(or + 50*time.Millisecond)
			r.Waiting("B")
			r.Waiting("B")
		}},
		"granted a little later": {rest: never, want: "", events: func(r *Runner) {
			time.Sleep(or + 50*time.Millisecond)
			r.Observe(history.Event{Process: "B", Type: history.OK, F: history.Acquire, Time: r.stage.Now()})
		}},
		"granted when a lease has ended meanwhile": {rest: never, busy: true, lease: or + 260*time.Millisecond, events: func(r *Runner) {
			time.Sleep(or + 280*time.Millisecond)
			r.Observe(history.Event{Process: "B", Type: history.OK, F: history.Acquire, Time: r.stage.Now()})
		}},
		"refused once, which may be from before": {rest: never, busy: true, events: func(r *Runner) { r.Waiting("B") }},
		"never dealt with":                       {rest: never, busy: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := &Scenario{Clients: []string{"A", "B"}, TTL: time.Second}
				r := NewRunner(s, resting{start: began, rest: func() bool { return tt.rest(time.Since(began)) }}, nil)
				r.Observe(history.Event{Process: "B", Type: history.Invoke, F: history.Acquire, Time: r.stage.Now()})
				time.Sleep(time.Millisecond)
				r.moved["A"] = r.stage.Now() // what A did came after B had asked
				if tt.lease > 0 {
					r.Observe(history.Event{Process: "A", Type: history.OK, F: history.Acquire, Since: 1, Time: 1, Lease: int64(tt.lease)})
				}
				ch := &chain{act: history.Acquire}
				r.clients["B"].busy, r.clients["B"].last = ch, ch
				if tt.events != nil {
					go tt.events(r)
				}
				outcome, err := r.await(t.Context(), Step{Await: &Await{What: "granted", Client: "B", Or: or}})
				if outcome != tt.want || errors.Is(err, ErrBusy) != tt.busy || err != nil && !tt.busy || time.Since(began) < tt.atLeast {
					t.Errorf("after %v: %q, %v", time.Since(began), outcome, err)
				}
			})
		})
	}
}
