package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/picklock/picklock/history"
)

// Runner lets clients carry out their programs while their moves trigger faults. Observe,
// Waiting, Woken and Ended may be called from any goroutine while Run runs in another.
type Runner struct {
	// IgnoreLost: a client goes on to act under a grant of which its library has said
	// that it is lost.
	IgnoreLost bool
	// Reentrant: a client that holds the lock may acquire it once more.
	Reentrant bool
	// Several: as many clients hold the lock as it has permits, so that they write nothing under it.
	Several bool
	// Patience is how long, after all faults are over, clients may go on to wait for the
	// lock before they give up.
	Patience time.Duration
	// Order is the one in which the clients start; nil: the scenario's. Who starts first asks first more often than not,
	// where several ask at once.
	Order []string

	scenario *Scenario
	stage    Stage
	tell     func(Taken) // may be nil
	faults   []*faultState
	track    []*faultState // the faults, and what is counted
	quit     func(error)   // ends the run

	leader    string // of the servers when the run began, if a fault is of a role
	leaderErr error

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change
	latest  int64         // when the last event or message came
	clients map[string]*clientState
	over    map[string]bool    // clients whose programs have ended
	points  map[Trigger]point  // of their programs
	refusal map[Trigger]string // of points that were passed over: what came of the client's last request, if it was not granted
	moved   map[string]int64   // when the latest act of a client ended; "" for a fault's begin or end
	counts  map[string]int
	counter string // counting, if not ""
	unfit   *Unfit // nil as long as the lock could do all that the scenario asks for
	slow    string // what this machine made last until a client's lease was over

	following sync.WaitGroup // of acts
	ended     sync.WaitGroup // of faults
}

type clientState struct {
	asked, granted int64  // times of the latest acquire's invoke and ok; 0: not yet
	grants, kills  int    // how many there were
	had            int64  // time of the latest acquire's ok, also after it has asked again; 0: none yet
	grant          string // the name of the latest; entries of a reentrant lock are none
	until          int64  // end of the latest grant's lease, 0: it has none
	watchdog       bool   // the library promises to renew it by itself
	released       int64  // time of its release's ok; 0: not yet
	acted          int64  // when its latest operation began or ended, but for renewals; 0: none yet
	asking         bool   // its latest acquire has not ended
	why            string // the error with which it ended; "" if it was granted
	waiting, lost  bool
	other          string  // the key that it has, or asks for, beside the one that all else here is about
	refusals       []int64 // when its latest acquire was made to wait, the latest ones
	busy, last     *pending
}

// NewRunner prepares a scenario with programs; tell is called with every move and fault, and
// may be nil.
func NewRunner(s *Scenario, stage Stage, tell func(Taken)) *Runner {
	r := &Runner{
		scenario: s, stage: stage, tell: tell, Patience: awaitWithin, changed: make(chan struct{}), clients: map[string]*clientState{},
		over: map[string]bool{}, points: map[Trigger]point{}, refusal: map[Trigger]string{}, moved: map[string]int64{}, counts: map[string]int{},
	}
	for _, c := range s.Clients {
		r.clients[c] = &clientState{}
	}
	for i := range s.TriggeredFaults {
		r.faults = append(r.faults, &faultState{TriggeredFault: &s.TriggeredFaults[i]})
	}
	r.track = slices.Clone(r.faults)
	for i := range s.Counts {
		r.track = append(r.track, &faultState{TriggeredFault: &s.Counts[i]})
	}
	return r
}

// Observe takes an event as it arrives.
func (r *Runner) Observe(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.change()
	c := r.clients[e.Process]
	if c == nil {
		return
	}
	if e.F != history.Renew {
		c.acted = max(c.acted, e.Time)
	}
	if c.ofOther(e) {
		return
	}
	if e.F == history.Acquire && e.Mode != history.Nested && e.Mode != history.Downgrade {
		c.asking, c.why = e.Type == history.Invoke, e.Error
	}
	switch {
	case e.F == history.Acquire && e.Mode == history.Nested:
		if e.Type == history.OK && e.Lease > 0 {
			c.until = max(c.until, e.Since+e.Lease)
		}
	case e.F == history.Acquire && e.Mode == history.Downgrade:
		// What it had it has still; the events of its grant are those of the first one.
		if e.Type == history.OK {
			c.grant, c.until = e.Grant, 0
			if e.Lease > 0 {
				c.until = e.Since + e.Lease
			}
		}
	case e.F == history.Acquire && e.Type == history.Invoke:
		c.asked, c.granted, c.until, c.released, c.waiting, c.lost, c.refusals = e.Time, 0, 0, 0, false, false, nil
	case e.F == history.Acquire && e.Type == history.OK:
		c.granted, c.had, c.grant, c.watchdog = e.Time, e.Time, e.Grant, e.Watchdog
		c.grants++
		if e.Lease > 0 {
			c.until = e.Since + e.Lease
		}
	case e.F == history.Renew && e.Type == history.OK && e.Lease > 0:
		c.until = max(c.until, e.Since+e.Lease)
	case e.F == history.Release && e.Type == history.OK && e.Grant == c.grant:
		c.released = e.Time
	case e.F == history.Lost:
		c.lost = true
	}
}

// ofOther says that an event is about the other key, beside the one that the client holds.
func (c *clientState) ofOther(e history.Event) bool {
	if e.F == history.Acquire && e.Type == history.Invoke && c.busy != nil && c.busy.move.Other {
		c.other = e.Key
	}
	if c.other == "" || e.Key != c.other {
		return false
	}
	if e.F == history.Release && e.Type != history.Invoke || e.F == history.Acquire && e.Type != history.Invoke && e.Type != history.OK {
		c.other = ""
	}
	return true
}

// Waiting takes a client's word that the service made it wait.
func (r *Runner) Waiting(client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.clients[client]
	if c == nil {
		return
	}
	if c.refusals = append(c.refusals, r.stage.Now()); len(c.refusals) > 2 {
		c.refusals = c.refusals[1:]
	}
	if !c.waiting {
		c.waiting = true
		r.change()
	}
}

// Ended takes the news that a client's process is no more: what it was doing has come
// to nothing.
func (r *Runner) Ended(client, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.clients[client]; c != nil && c.busy != nil && !r.isDead(client) { // a kill says itself what it ends
		select {
		case c.busy.ended <- why:
		default: // it was reported already
		}
	}
}

// moveEnded notes that a client, or, where it has no name, a fault has just done something.
func (r *Runner) moveEnded(client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved[client] = r.stage.Now()
}

// change tells all who wait; r.mu is held.
func (r *Runner) change() {
	r.latest = r.stage.Now()
	close(r.changed)
	r.changed = make(chan struct{})
}

// Run runs the schedule to its end: until every client has come to the end of its
// program and every fault is over. It returns a DiscardedError if a fault did not take effect at
// its trigger. Heal must be called in the end all the same.
func (r *Runner) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	r.quit = cancel
	defer cancel(nil)
	defer r.following.Wait()
	defer r.ended.Wait()
	r.findLeader(ctx)
	if err := r.reach(ctx, Trigger{At: Start}); err != nil {
		return err
	}
	for _, st := range r.track {
		if st.When.At == Event {
			r.ended.Go(func() {
				if r.awaitSince(ctx, st.When.Await, nil) == nil {
					r.inject(ctx, st, r.stage.Now())
				}
			})
		}
	}
	failed := make(chan error, len(r.scenario.Clients))
	order := r.Order
	if order == nil {
		order = r.scenario.Clients
	}
	for _, c := range order {
		go func() { failed <- r.execute(ctx, c) }()
	}
	r.ended.Go(func() { r.giveUp(ctx) })
	for range order {
		if err := <-failed; err != nil {
			cancel(err)
		}
	}
	cancel(errOver)
	if err := context.Cause(ctx); !errors.Is(err, errOver) {
		return err
	}
	r.ended.Wait()
	return r.discarded()
}

var errOver = errors.New("the run was over")

// discarded says which fault did not take effect as planned.
func (r *Runner) discarded() error {
	for _, st := range r.track {
		switch {
		case !st.injected:
			return &DiscardedError{TriggeredFault: *st.TriggeredFault, Why: NeverCame + ": " + st.When.String(), Instead: r.instead(st)}
		case errors.Is(st.outcome, errOver): // another run may be long enough
			return &DiscardedError{TriggeredFault: *st.TriggeredFault, Why: st.outcome.Error()}
		case st.outcome != nil:
			return &DiscardedError{TriggeredFault: *st.TriggeredFault, Why: st.outcome.Error(), Err: st.outcome}
		case st.late > 0:
			return &DiscardedError{TriggeredFault: *st.TriggeredFault, Why: fmt.Sprintf("it was injected %v after its trigger: this machine is too busy", st.late.Round(time.Millisecond)), late: true}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.slow != "" {
		return &DiscardedError{Why: r.slow + ": this machine is too busy", late: true}
	}
	return nil
}

// brisk is the part of a lease that a move may last longer than it was meant to, whatever ends
// meanwhile.
const brisk = 0.05

// lasted notes a move that was to be over at an instant, and was over so much later that
// a client's lease ended in between: what follows shows something else.
func (r *Runner) lasted(client, do string, meant int64) {
	now := r.stage.Now()
	if time.Duration(now-meant) <= time.Duration(brisk*float64(r.scenario.TTL)) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if name := r.leaseEnded(meant, now); r.slow == "" && name != "" {
		r.slow = fmt.Sprintf("%s's %s lasted %v longer than it should, and %s's lease ended meanwhile", client, do, time.Duration(now-meant).Round(time.Millisecond), name)
	}
}

// granted notes a grant of which nobody knows when its lease began, and that may have been over when its client learnt of
// it: nobody else had asked for the lock, no fault was on, and yet its acquire lasted for longer than a lease.
func (r *Runner) granted(client string) {
	if r.disturbed() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.clients[client]
	if took := time.Duration(c.granted - c.asked); r.slow != "" || !c.watchdog || c.until != 0 || took <= r.scenario.TTL {
		return
	} else if !slices.ContainsFunc(r.scenario.Clients, func(name string) bool { return name != client && r.clients[name].asked != 0 }) {
		r.slow = fmt.Sprintf("%s's acquire lasted %v, longer than a lease, and nobody else had asked for the lock", client, took.Round(time.Millisecond))
	}
}

// disturbed says that a fault has taken effect: what clients do may last from then on.
func (r *Runner) disturbed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.track, func(st *faultState) bool { return st.begun })
}

// Canceler is a Stage that can have a client give up what it is doing.
type Canceler interface{ Cancel(client string) error }

// giveUp has clients that still wait for the lock give up, Patience after nothing has
// changed any more. Once in a run it is looked before whether a client that asks afresh is granted it.
func (r *Runner) giveUp(ctx context.Context) {
	c, ok := r.stage.(Canceler)
	if !ok {
		return
	}
	asked := false
	t := time.NewTimer(r.Patience)
	defer t.Stop()
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
			t.Reset(r.Patience)
		case <-t.C:
			if !asked {
				asked = true
				if r.askAfresh(ctx) {
					t.Reset(r.Patience)
					continue
				}
			}
			for _, name := range r.scenario.Clients {
				_ = c.Cancel(name) // one that is dead has given up
			}
			t.Reset(r.Patience)
		case <-ctx.Done():
			return
		}
	}
}
