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
		"granted when a lease has ended meanwhile": {rest: never, busy: true, lease: or + 10*time.Millisecond, events: func(r *Runner) {
			time.Sleep(or + 20*time.Millisecond)
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
				r.clients["B"].busy = &pending{}
				if tt.events != nil {
					go tt.events(r)
				}
				outcome, err := r.awaitFor(t.Context(), &Await{What: "granted", Client: "B", Or: Span{Fixed: or}})
				if outcome != tt.want || errors.Is(err, ErrBusy) != tt.busy || err != nil && !tt.busy || time.Since(began) < tt.atLeast {
					t.Errorf("after %v: %q, %v", time.Since(began), outcome, err)
				}
			})
		})
	}
}

// unseen is a stage whose servers run somewhere else: of what they do, only their answers are
// seen.
type unseen struct {
	resting
	carried func() map[string]Carried
}

func (s unseen) AtRest(context.Context, []string) (bool, error) {
	if !s.rest() {
		return false, nil
	}
	return false, ErrUnseen
}

func (s unseen) Carried(context.Context, string) (map[string]Carried, error) {
	return s.carried(), nil
}

// Where servers cannot be seen, a wait gives up only if the service has answered the client since:
// a time alone proves nothing, and the run of a lock that may still answer is not judged.
func TestSettleUnseen(t *testing.T) {
	const or, ttl = 300 * time.Millisecond, time.Second
	type bytes = map[string]Carried
	// polls is a client that asks every 50 ms and is answered 2 ms later, until an instant.
	polls := func(until time.Duration) func(time.Duration) bytes {
		return func(d time.Duration) bytes {
			n := uint64(min(d, until) / (50 * time.Millisecond))
			got := n
			if d < until && d%(50*time.Millisecond) < 2*time.Millisecond && n > 0 {
				got--
			}
			return bytes{"1": {Sent: 10 * n, Received: 3 * got}}
		}
	}
	for name, tt := range map[string]struct {
		carried func(since time.Duration) bytes
		events  func(r *Runner)
		want    string // the step's outcome
		unseen  bool   // or its error
	}{
		"refused anew": {want: "not within 300ms", events: func(r *Runner) {
			time.Sleep(or)
			r.Waiting("B")
			r.Waiting("B")
		}},
		"in line since before":                         {unseen: true, events: func(r *Runner) { r.Waiting("B") }},
		"in line since before, and it keeps a session": {carried: polls(time.Hour), unseen: true, events: func(r *Runner) { r.Waiting("B") }},
		"it asks and is answered":                      {carried: polls(time.Hour), want: "not within 300ms"},
		"it asked and was answered before":             {carried: polls(or), unseen: true},
		"it says nothing":                              {carried: func(time.Duration) bytes { return bytes{"1": {Sent: 10, Received: 3}} }, unseen: true},
		"it has no connection":                         {unseen: true},
		"it asks and is not answered": {unseen: true, carried: func(d time.Duration) bytes {
			return bytes{"1": {Sent: uint64(d / (50 * time.Millisecond)), Received: 3}}
		}},
		"it is answered what it had asked before": {unseen: true, carried: func(d time.Duration) bytes {
			if d < or+40*time.Millisecond {
				return bytes{"1": {Sent: 10, Received: 3}}
			}
			return bytes{"1": {Sent: 10, Received: 6}}
		}},
		"it is answered too seldom": {unseen: true, carried: func(d time.Duration) bytes {
			n := uint64(d / (50 * time.Millisecond))
			return bytes{"1": {Sent: n + 1, Received: min(n, 6+often-1)}}
		}},
		"one connection's request is still open": {unseen: true, carried: func(d time.Duration) bytes {
			out := polls(time.Hour)(d)
			out["2"] = Carried{Sent: uint64(d / (20 * time.Millisecond)), Received: 1}
			return out
		}},
		"granted a little later": {want: "", events: func(r *Runner) {
			time.Sleep(or + 50*time.Millisecond)
			r.Observe(history.Event{Process: "B", Type: history.OK, F: history.Acquire, Time: r.stage.Now()})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := &Scenario{Clients: []string{"A", "B"}, TTL: ttl}
				r := NewRunner(s, unseen{resting{start: began, rest: func() bool { return true }}, func() map[string]Carried {
					if tt.carried == nil {
						return nil
					}
					return tt.carried(time.Since(began))
				}}, nil)
				r.Observe(history.Event{Process: "B", Type: history.Invoke, F: history.Acquire, Time: r.stage.Now()})
				time.Sleep(time.Millisecond)
				r.moveEnded("A")
				r.clients["B"].busy = &pending{}
				if tt.events != nil {
					go tt.events(r)
				}
				outcome, err := r.awaitFor(t.Context(), &Await{What: "granted", Client: "B", Or: Span{Fixed: or}})
				if outcome != tt.want || errors.Is(err, ErrUnseen) != tt.unseen || errors.Is(err, ErrBusy) || err != nil && !tt.unseen {
					t.Errorf("after %v: %q, %v", time.Since(began), outcome, err)
				}
				synctest.Wait()
			})
		})
	}
}

// A client of a program gives up a wait on the same evidence: else its run is discarded.
func TestProgramWaitSettles(t *testing.T) {
	for name, tt := range map[string]struct {
		rest func(since time.Duration) bool
		acts func(r *Runner)
		busy bool
	}{
		"at rest":       {rest: func(time.Duration) bool { return true }},
		"never at rest": {rest: func(time.Duration) bool { return false }, busy: true},
		"refused, and then another acted": {rest: func(time.Duration) bool { return false }, busy: true, acts: func(r *Runner) {
			r.Waiting("B")
			r.Waiting("B")
			time.Sleep(time.Millisecond)
			r.Observe(history.Event{Process: "A", Type: history.OK, F: history.Release, Time: r.stage.Now()})
		}},
		"refused since another acted": {rest: func(time.Duration) bool { return false }, acts: func(r *Runner) {
			r.Observe(history.Event{Process: "A", Type: history.OK, F: history.Release, Time: r.stage.Now()})
			time.Sleep(time.Millisecond)
			r.Waiting("B")
			r.Waiting("B")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := &Scenario{Clients: []string{"A", "B"}, TTL: time.Second}
				p := NewRunner(s, resting{start: began, rest: func() bool { return tt.rest(time.Since(began)) }}, nil)
				p.Observe(history.Event{Process: "B", Type: history.Invoke, F: history.Acquire, Time: p.stage.Now()})
				p.clients["B"].busy = &pending{}
				time.Sleep(time.Millisecond)
				if tt.acts != nil {
					tt.acts(p)
				}
				c := &clientRunner{Runner: p, client: "A", count: map[string]int{}}
				err := c.wait(t.Context(), Move{Do: Wait, Await: &Await{What: "granted", Client: "B", Or: Span{Fixed: 300 * time.Millisecond}}})
				if errors.Is(err, ErrBusy) != tt.busy || err != nil && !tt.busy {
					t.Error(err)
				}
			})
		})
	}
}

// A fault that comes late is in time as long as nothing has happened since its trigger, and
// little of a lease has passed.
func TestTooLate(t *testing.T) {
	const ttl = time.Second
	for name, tt := range map[string]struct {
		late  time.Duration
		moved time.Duration // when a client does something, after the trigger; 0: never
		lease time.Duration // when a lease ends, after the trigger; 0: there is none
		want  bool
	}{
		"at once":                     {late: ttl / 20, moved: 1, lease: 1},
		"while nothing happens":       {late: ttl / 5},
		"much later":                  {late: ttl/4 + 1, want: true},
		"when a client has gone on":   {late: ttl / 10, moved: time.Millisecond, want: true},
		"when a lease has ended":      {late: ttl / 10, lease: time.Millisecond, want: true},
		"when a lease has just begun": {late: ttl / 10, lease: ttl / 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := NewRunner(&Scenario{Clients: []string{"A"}, TTL: ttl}, resting{start: time.Now()}, nil)
				trigger := p.stage.Now()
				p.latest = trigger
				if tt.lease > 0 {
					p.clients["A"].granted, p.clients["A"].until = 1, trigger+int64(tt.lease)
				}
				time.Sleep(tt.moved)
				if tt.moved > 0 {
					p.Observe(history.Event{Process: "A", Type: history.OK, F: history.Write})
				}
				if got := p.tooLate(trigger, trigger+int64(tt.late)) > 0; got != tt.want {
					t.Error(got)
				}
			})
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
				if _, err := r.awaitFor(t.Context(), &tt.await); errors.Is(err, ErrBusy) != tt.busy || err != nil && !tt.busy {
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
				_, err := r.awaitFor(t.Context(), &Await{What: "quiet", For: quiet})
				took := time.Since(began)
				if errors.Is(err, ErrBusy) != tt.busy || !tt.busy && (err != nil || took < tt.want || took > tt.want+50*time.Millisecond) {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}
