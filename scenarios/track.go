package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// faultState is one fault of the track in a run.
type faultState struct {
	*TriggeredFault
	once     sync.Once
	injected bool
	late     time.Duration // from its trigger to its injection, if that was too long; else 0

	// Runner.mu guards what follows.
	begun   bool
	on      bool // and has not been undone
	landed  bool // it has taken effect
	over    bool
	outcome error
	tooFew  string                        // of a move that sent, or got, fewer messages than its trigger has; else ""
	heals   []func(context.Context) error // what undoes it
	grants  map[string]int                // when it took effect
	past    bool                          // what its until speaks of had come by then
}

// reach is a client's coming to a point of its program. The faults that begin there are injected,
// and it returns when they are on and those that end there are over.
func (r *Runner) reach(ctx context.Context, a Trigger) error {
	if a.At != Before { // what ends at a move's end does not wait for what begins there
		r.come(a, reached)
	}
	now := r.stage.Now()
	var here []*faultState
	for _, st := range r.track {
		if st.When == a {
			here = append(here, st)
		}
	}
	if a.At == During { // the client goes on meanwhile: none may wait for another
		var on sync.WaitGroup
		for _, st := range here {
			on.Go(func() { r.inject(ctx, st, now) })
		}
		on.Wait()
	} else {
		// The client stands here until all are on, in their order: one is late only if it is after
		// those before it are on.
		for _, st := range here {
			r.inject(ctx, st, now)
			now = r.stage.Now()
		}
	}
	if a.At == Before {
		r.come(a, reached)
		if err := r.awaitThat(ctx, func() bool { return !r.endsHere(a) }); err != nil {
			return err
		}
	}
	r.come(a, left)
	return ctx.Err()
}

func (r *Runner) come(a Trigger, how point) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.points[a] = how
	r.change()
}

// endsHere says that a fault is on that ends at a point of a program. r.mu is held.
func (r *Runner) endsHere(a Trigger) bool {
	return slices.ContainsFunc(r.track, func(st *faultState) bool { return st.Until.Move == a && st.on && !st.past })
}

// inject injects one fault, once, and sees to its end.
func (r *Runner) inject(ctx context.Context, st *faultState, trigger int64) {
	st.once.Do(func() {
		st.injected = true
		grants, past := r.grants(), r.past(st.Until)
		began := r.stage.Now()
		late := r.tooLate(trigger, began)
		// On before it takes effect: a client that dies of it must not look alive.
		r.turn(func() { st.on, st.begun, st.grants, st.past = true, true, grants, past })
		err := r.do(ctx, st)
		if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), errOver) {
			err = fmt.Errorf("%w before fault %s had taken effect", errOver, st.Fault.Text)
		}
		st.late = late
		r.told(st.Line, st.Fault.Text, began, err)
		over := err != nil || st.Fault.momentary()
		r.turn(func() { st.outcome, st.landed, st.on, st.over = err, err == nil, !over, over })
		if !over {
			r.ended.Go(func() { r.lift(ctx, st) })
		}
	})
}

// tooLate is how long it took from a fault's trigger to its injection, if the fault then met
// something else than it was meant to: a lease had ended, or a client or another fault had done
// something. A quarter of a lease is too late in any case. 0: it was in time.
func (r *Runner) tooLate(trigger, began int64) time.Duration {
	late := time.Duration(began - trigger)
	if late <= time.Duration(brisk*float64(r.scenario.TTL)) {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if late > r.scenario.TTL/4 || r.latest > trigger || r.leaseEnded(trigger, began) != "" {
		return late
	}
	return 0
}

// past says that what ends a fault has come already. What is meant is what comes of it after
// the fault has taken effect: one that ended as it began would prove nothing.
func (r *Runner) past(u Until) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u.Move.Client != "" {
		return r.points[u.Move] != 0
	}
	return u.Await != nil && u.Await.What != grantedEvent.what && r.isSo(u.Await)
}

// isSo says that an event of those that clients tell of has come. r.mu is held.
func (r *Runner) isSo(a *Await) bool {
	e := a.event()
	if e.at == nil {
		return false
	}
	at, err := e.at(r, a)
	return err == nil && at != 0 && at <= r.stage.Now()
}

// lift ends a fault when its until says so, or when the run is over.
func (r *Runner) lift(ctx context.Context, st *faultState) {
	u := st.Until
	limit := u.Or.Of(r.scenario.TTL) + u.Within.Of(r.scenario.TTL)
	must := u.event() != "" && !u.Or.some()
	if must && !u.Within.some() {
		limit = awaitWithin
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var came error
	if must && st.past {
		came = errPast
	} else {
		came = r.awaitEnd(bounded, st)
	}
	if must && came != nil && ctx.Err() == nil {
		r.quit(u.never(st, limit, came))
	}
	began := r.stage.Now()
	err := r.undo(context.WithoutCancel(ctx), st)
	r.told(st.Line, "end of "+st.Fault.Text, began, err)
	if err != nil {
		err = fmt.Errorf("at its end: %w", err)
	}
	r.turn(func() { st.on, st.over, st.outcome = false, true, err })
}

// errPast is that what must end a fault had come before it began.
var errPast = errors.New("it had come before")

// awaitEnd waits for what ends a fault; nil says that it has come.
func (r *Runner) awaitEnd(ctx context.Context, st *faultState) error {
	switch u := st.Until; { // the end of a wait ends the fault, too
	case u.AtOnce:
		return nil
	case u.Move.Client != "" && !st.past: // a client comes to a point once
		if err := r.awaitThat(ctx, func() bool { return r.points[u.Move] != 0 }); err != nil {
			return err
		}
		return r.cameTo(ctx, u)
	case u.Await != nil && st.past:
		if err := r.awaitThat(ctx, func() bool { return !r.isSo(u.Await) }); err != nil {
			return err
		}
		return r.awaitSince(ctx, u.Await, st.grants)
	case u.Await != nil:
		return r.awaitSince(ctx, u.Await, st.grants)
	}
	<-ctx.Done()
	return ctx.Err()
}

// cameTo says whether a client has come to the point that ends a fault, or has passed it over.
func (r *Runner) cameTo(ctx context.Context, u Until) error {
	r.mu.Lock()
	over := r.points[u.Move] == passedOver
	err := r.neverCame(u.Move)
	r.mu.Unlock()
	switch {
	case !over:
		return nil
	case u.Or.some():
		<-ctx.Done()
	}
	return err
}

// never is why a run is over because what ends a fault has not come.
func (u Until) never(st *faultState, limit time.Duration, err error) error {
	why := fmt.Sprintf("what ends it, %s, did not come within %v", u.event(), limit)
	var never *neverError
	switch {
	case errors.As(err, &never):
		why = never.Error()
	case errors.Is(err, errPast):
		why = fmt.Sprintf("what ends it, %s, had come before it began: this machine is too busy", u.event())
		return &DiscardedError{TriggeredFault: *st.TriggeredFault, Why: why, late: true}
	}
	if u.Within.some() {
		if u.Reason != "" {
			why += ", as " + u.Reason
		}
		err = &Unfit{why}
	} else {
		err = errors.New(why)
	}
	return &DiscardedError{TriggeredFault: *st.TriggeredFault, Why: why, Err: err}
}

// turn notes what has become of a fault.
func (r *Runner) turn(note func()) {
	r.moveEnded("")
	r.mu.Lock()
	defer r.mu.Unlock()
	note()
	r.change()
}

// grants counts each client's grants.
func (r *Runner) grants() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]int{}
	for name, c := range r.clients {
		out[name] = c.grants
	}
	return out
}

// awaitSince waits for what comes of an event after some moment, when there had been so
// many grants: one that a client had before is not the one that is meant.
func (r *Runner) awaitSince(ctx context.Context, a *Await, grants map[string]int) error {
	if a.What != grantedEvent.what {
		return r.awaitEvent(ctx, a)
	}
	return r.awaitThat(ctx, func() bool { return r.clients[a.Client].grants > grants[a.Client] })
}

// awaitThat waits until something is so; r.mu is held when it is asked.
func (r *Runner) awaitThat(ctx context.Context, is func() bool) error {
	for {
		r.mu.Lock()
		there, changed := is(), r.changed
		r.mu.Unlock()
		if there {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *Runner) told(line int, text string, began int64, err error) {
	if r.tell == nil {
		return
	}
	t := Taken{Line: line, Text: text, At: began, Took: time.Duration(r.stage.Now() - began)}
	if err != nil {
		t.Outcome = err.Error()
	}
	r.tell(t)
}

// do does what a fault is, and keeps what undoes it.
func (r *Runner) do(ctx context.Context, st *faultState) error {
	f := &st.Fault
	w, ok := lookup(f.Word)
	if !ok {
		r.count(f.Word, true)
		return nil
	}
	resolve, err := r.roles(f)
	if err != nil {
		return err
	}
	if w.do != nil {
		return w.do(ctx, r.stage, f, resolve)
	}
	for _, request := range w.requests(f, resolve) {
		heal, err := r.stage.Inject(ctx, request)
		if err != nil {
			return err
		}
		r.mu.Lock()
		st.heals = append(st.heals, heal)
		r.mu.Unlock()
		if f.Word == killName {
			r.forget(request.Nodes[0])
		}
	}
	if f.momentary() { // done, it is over: nothing of it is undone later
		return r.undo(ctx, st)
	}
	return nil
}

// undo ends what a fault is: all at once, for members of a quorum that were killed answer only
// together.
func (r *Runner) undo(ctx context.Context, st *faultState) error {
	if _, fault := lookup(st.Fault.Word); !fault {
		r.count(st.Fault.Word, false)
		return nil
	}
	r.mu.Lock()
	heals := st.heals
	st.heals = nil
	r.mu.Unlock()
	errs := make([]error, len(heals))
	var all sync.WaitGroup
	for i, h := range heals {
		all.Go(func() { errs[i] = h(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Heal undoes all faults that are still on.
func (r *Runner) Heal(ctx context.Context) error {
	var errs []error
	for _, st := range slices.Backward(r.faults) {
		errs = append(errs, r.undo(ctx, st))
	}
	return errors.Join(errs...)
}

// resolve writes "servers" out.
func (r *Runner) resolve(nodes []string) []string {
	var out []string
	for _, n := range nodes {
		if n == Servers {
			out = append(out, r.stage.Servers()...)
		} else {
			out = append(out, n)
		}
	}
	return out
}

// forget drops what a killed client was doing.
func (r *Runner) forget(client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.clients[client]; c != nil {
		if c.busy != nil {
			close(c.busy.killed)
		}
		*c = clientState{grants: c.grants, kills: c.kills + 1}
		r.change()
	}
}
