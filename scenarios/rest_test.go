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

// A step that nothing but a slow machine makes last may not outlast a lease: what follows was
// meant to come within it.
func TestStepOutlastsALease(t *testing.T) {
	for name, tt := range map[string]struct {
		steps string
		takes time.Duration // A's write
		busy  bool
	}{
		"its own":                      {"  - A: acquire\n  - A: write\n", 1100 * time.Millisecond, true},
		"another's":                    {"  - A: acquire\n  - await: lease of A over\n  - B: acquire\n  - A: write\n", 1100 * time.Millisecond, true},
		"almost":                       {"  - A: acquire\n  - A: write\n", 900 * time.Millisecond, false},
		"one that was over":            {"  - A: acquire\n  - await: lease of A over\n  - A: write\n", 2 * time.Second, false},
		"in the background":            {"  - A: acquire\n  - A: write &\n  - await: A done\n", 1100 * time.Millisecond, false},
		"while a fault makes it last":  {"  - A: acquire\n  - pause: redis\n  - A: write\n  - resume: redis\n", 1100 * time.Millisecond, false},
		"while the lock is waited for": {"  - A: acquire\n  - B: acquire\n", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := run(t, tt.steps, func(s *stage) { s.takes["A write"] = tt.takes })
			if errors.Is(err, ErrBusy) != tt.busy || err != nil && !tt.busy {
				t.Error(err)
			}
		})
	}
}

// A wait for a time before a lease's end that comes back after it is of no use.
func TestBeforeLeaseIsOver(t *testing.T) {
	for name, tt := range map[string]struct {
		until time.Duration // the lease's end, from now on
		await Await
		busy  bool
	}{
		"over already":         {0, Await{What: "after", Since: leaseOver, For: -time.Second}, true},
		"almost":               {time.Nanosecond, Await{What: "after", Since: leaseOver, For: -time.Second}, false},
		"meant to be after it": {0, Await{What: "after", Since: leaseOver, For: 0}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := NewRunner(&Scenario{Clients: []string{"A"}, TTL: time.Second}, resting{start: time.Now()}, nil)
				tt.await.Client = "A"
				r.clients["A"].granted, r.clients["A"].until = 1, r.stage.Now()+int64(tt.until)
				if _, err := r.await(t.Context(), Step{Await: &tt.await}); errors.Is(err, ErrBusy) != tt.busy || err != nil && !tt.busy {
					t.Error(err)
				}
			})
		})
	}
}

// It is quiet when the time has passed and nobody is busy with what would break the quiet.
func TestQuietIsRest(t *testing.T) {
	const quiet = 200 * time.Millisecond
	for name, tt := range map[string]struct {
		rest time.Duration // from when on the nodes are at rest
		says time.Duration // when a client says something; 0: never
		want time.Duration // when it is quiet
		busy bool
	}{
		"at rest":                     {want: quiet},
		"busy for longer":             {rest: 300 * time.Millisecond, want: 300 * time.Millisecond},
		"busy with what it then says": {rest: 300 * time.Millisecond, says: 290 * time.Millisecond, want: 490 * time.Millisecond},
		"never at rest":               {rest: time.Hour, busy: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				r := NewRunner(&Scenario{Clients: []string{"A"}, TTL: time.Second}, resting{start: began, rest: func() bool { return time.Since(began) >= tt.rest }}, nil)
				r.latest = r.stage.Now()
				if tt.says > 0 {
					go func() {
						time.Sleep(tt.says)
						r.Observe(history.Event{Process: "A", Type: history.OK, F: history.Write})
					}()
				}
				_, err := r.await(t.Context(), Step{Await: &Await{What: "quiet", For: quiet}})
				took := time.Since(began)
				if errors.Is(err, ErrBusy) != tt.busy || !tt.busy && (err != nil || took < tt.want || took > tt.want+50*time.Millisecond) {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}
