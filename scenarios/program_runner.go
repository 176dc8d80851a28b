package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// ProgramRunner lets clients carry out their programs while their steps trigger faults. Like
// a Runner, it gets events from any goroutine while Run runs in another.
type ProgramRunner struct {
	*Runner
	// IgnoreLost: a client goes on to act under a grant of which its library has said
	// that it is lost.
	IgnoreLost bool
	// Patience is how long, after all faults are over, clients may go on to wait for the
	// lock before they give up.
	Patience time.Duration

	triggered []*faultState
	tell      func(Taken)
	passed    map[Trigger]bool // moves that have ended; Runner.mu guards it
	slow      string           // what this machine made last until somebody's lease was over; Runner.mu guards it
	ended     sync.WaitGroup   // of triggered faults
}

// Canceler is a Stage that can have a client give up what it is doing.
type Canceler interface{ Cancel(client string) error }

// faultState is one triggered fault of a run.
type faultState struct {
	*TriggeredFault
	runner   *Runner // injects it, and undoes it
	once     sync.Once
	injected bool
	begun    bool // Runner.mu guards it
	on       bool // and has not been undone; Runner.mu guards it
	outcome  error
	late     time.Duration  // from its trigger to its injection, if that was too long; else 0
	grants   map[string]int // when it took effect
	past     bool           // what its until speaks of had come by then
}

// NewProgramRunner prepares a scenario with programs; tell is called with every move and fault, and
// may be nil.
func NewProgramRunner(s *Scenario, stage Stage, tell func(Taken)) *ProgramRunner {
	p := &ProgramRunner{Runner: NewRunner(s, stage, nil), tell: tell, passed: map[Trigger]bool{}, Patience: awaitWithin}
	for i := range s.TriggeredFaults {
		r := NewRunner(s, stage, nil)
		r.killed = p.forget
		p.triggered = append(p.triggered, &faultState{TriggeredFault: &s.TriggeredFaults[i], runner: r})
	}
	return p
}

// DiscardedError is why a run proves nothing of its schedule: a fault did not take effect, or not
// at its trigger, or this machine was too slow for what the clients do.
type DiscardedError struct {
	TriggeredFault TriggeredFault // zero where it is not for a fault
	Why            string
	Err            error // what went wrong with the fault; nil where its trigger never came
	late           bool
}

// Busy says that this machine was too busy to inject the fault in time.
func (e *DiscardedError) Busy() bool { return e.late }

// Is makes one that came too late an ErrBusy.
func (e *DiscardedError) Is(target error) bool { return target == ErrBusy && e.late }

func (e *DiscardedError) Error() string {
	if e.TriggeredFault.Fault.Text == "" {
		return "discarded: " + e.Why
	}
	return fmt.Sprintf("discarded: %s: %s", e.TriggeredFault.Fault.Text, e.Why)
}

func (e *DiscardedError) Unwrap() error { return e.Err }

// Run runs the schedule to its end: until every client has come to the end of its
// program and every fault is over. It returns a DiscardedError if a fault did not take effect at
// its trigger. Heal must be called in the end all the same.
func (p *ProgramRunner) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer p.following.Wait()
	defer p.ended.Wait()
	if err := p.reach(ctx, Trigger{At: Start}); err != nil {
		return err
	}
	for _, st := range p.triggered {
		if st.When.At == Event {
			p.ended.Go(func() {
				if p.awaitSince(ctx, st.When.Await, nil) == nil {
					p.injectTriggered(ctx, st, p.stage.Now())
				}
			})
		}
	}
	failed := make(chan error, len(p.scenario.Clients))
	for _, c := range p.scenario.Clients {
		go func() { failed <- p.execute(ctx, c) }()
	}
	p.ended.Go(func() { p.giveUp(ctx) })
	var first error
	for range p.scenario.Clients {
		if err := <-failed; err != nil && first == nil {
			first = err
			cancel(err)
		}
	}
	cancel(errOver)
	if first != nil {
		return first
	}
	p.ended.Wait()
	return p.discarded()
}

var errOver = errors.New("the run is over")

// discarded says which fault did not take effect as planned.
func (p *ProgramRunner) discarded() error {
	for _, st := range p.triggered {
		switch {
		case !st.injected:
			return &DiscardedError{*st.TriggeredFault, "its trigger never came: " + st.When.String(), nil, false}
		case st.outcome != nil:
			return &DiscardedError{*st.TriggeredFault, st.outcome.Error(), st.outcome, false}
		case st.late > 0:
			return &DiscardedError{*st.TriggeredFault, fmt.Sprintf("it was injected %v after its trigger: this machine is too busy", st.late.Round(time.Millisecond)), nil, true}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slow != "" {
		return &DiscardedError{Why: p.slow + ": this machine is too busy", late: true}
	}
	return nil
}

// brisk is the part of a lease that a move may last longer than it was meant to, whatever ends
// meanwhile.
const brisk = 0.05

// lasted notes a move that was to be over at an instant, and was over so much later that
// somebody's lease ended in between: what follows shows something else.
func (p *ProgramRunner) lasted(client, do string, meant int64) {
	now := p.stage.Now()
	if time.Duration(now-meant) <= time.Duration(brisk*float64(p.scenario.TTL)) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range p.scenario.Clients {
		c := p.clients[name]
		if over := c.until > meant && c.until <= now; p.slow == "" && c.granted != 0 && over && (c.released == 0 || c.released > meant) {
			p.slow = fmt.Sprintf("%s's %s lasted %v longer than it should, and %s's lease ended meanwhile", client, do, time.Duration(now-meant).Round(time.Millisecond), name)
		}
	}
}

// disturbed says that a fault has taken effect: what clients do may last from then on.
func (p *ProgramRunner) disturbed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.triggered, func(st *faultState) bool { return st.begun })
}

// Heal undoes all faults that are still on.
func (p *ProgramRunner) Heal(ctx context.Context) error {
	var errs []error
	for _, st := range slices.Backward(p.triggered) {
		errs = append(errs, st.runner.Heal(ctx))
	}
	return errors.Join(errs...)
}

// reach injects all faults with this trigger, and returns when they are on.
func (p *ProgramRunner) reach(ctx context.Context, a Trigger) error {
	now := p.stage.Now()
	if a.At == After {
		p.mu.Lock()
		p.passed[a] = true
		p.change()
		p.mu.Unlock()
	}
	var here []*faultState
	for _, st := range p.triggered {
		if st.When == a {
			here = append(here, st)
		}
	}
	if a.At == During { // the client goes on meanwhile: none may wait for another
		var on sync.WaitGroup
		for _, st := range here {
			on.Go(func() { p.injectTriggered(ctx, st, now) })
		}
		on.Wait()
		return ctx.Err()
	}
	// The client stands here until all are on, in their order: one is late only if it is after
	// those before it are on.
	for _, st := range here {
		p.injectTriggered(ctx, st, now)
		now = p.stage.Now()
	}
	return ctx.Err()
}

// injectTriggered injects one fault, once, and sees to its end.
func (p *ProgramRunner) injectTriggered(ctx context.Context, st *faultState, trigger int64) {
	st.once.Do(func() {
		st.injected, st.grants, st.past = true, p.grants(), p.past(st.Until)
		w, _ := st.Fault.word()
		began := p.stage.Now()
		late := p.tooLate(trigger, began)
		// On before it takes effect: a client that dies of it must not look alive.
		p.turn(st, true)
		_, st.outcome = w.take(st.runner, ctx, st.Fault)
		st.late = late
		p.told(st.Line, st.Fault.Text, began, st.outcome)
		if st.outcome != nil || st.Fault.momentary() {
			p.turn(st, false)
			return
		}
		p.ended.Go(func() { p.lift(ctx, st) })
	})
}

// tooLate is how long it took from a fault's trigger to its injection, if the fault then met
// something else than it was meant to: a lease had ended, or a client or another fault had done
// something. A quarter of a lease is too late in any case. 0: it was in time.
func (p *ProgramRunner) tooLate(trigger, began int64) time.Duration {
	late := time.Duration(began - trigger)
	if late <= time.Duration(brisk*float64(p.scenario.TTL)) {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if late > p.scenario.TTL/4 || p.latest > trigger || p.leaseEnded(trigger, began) {
		return late
	}
	return 0
}

// past says that what ends a fault has come already. What is meant is what comes of it after
// the fault has taken effect: one that ended as it began would prove nothing.
func (p *ProgramRunner) past(u Until) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u.Move.Client != "" {
		return p.passed[u.Move]
	}
	return u.Await != nil && u.Await.What != grantedEvent.what && p.isSo(u.Await)
}

// isSo says that an event of those that clients tell of has come. p.mu is held.
func (p *ProgramRunner) isSo(a *Await) bool {
	at, err := a.event().at(p.Runner, a)
	return err == nil && at != 0 && at <= p.stage.Now()
}

// lift ends a fault when its until says so, or when the run is over.
func (p *ProgramRunner) lift(ctx context.Context, st *faultState) {
	bounded, cancel := context.WithTimeout(ctx, st.Until.Or.Of(p.scenario.TTL))
	defer cancel()
	switch u := st.Until; { // the end of a wait ends the fault, too
	case u.Move.Client != "" && st.past: // a client makes a move once
		<-bounded.Done()
	case u.Move.Client != "":
		_ = p.awaitThat(bounded, func() bool { return p.passed[u.Move] })
	case u.Await != nil && st.past:
		if p.awaitThat(bounded, func() bool { return !p.isSo(u.Await) }) == nil {
			_ = p.awaitSince(bounded, u.Await, st.grants)
		}
	case u.Await != nil:
		_ = p.awaitSince(bounded, u.Await, st.grants)
	default:
		<-bounded.Done()
	}
	began := p.stage.Now()
	err := st.runner.Heal(context.WithoutCancel(ctx))
	p.told(st.Line, "end of "+st.Fault.Text, began, err)
	p.turn(st, false)
	if err != nil {
		st.outcome = fmt.Errorf("at its end: %w", err)
	}
}

// turn notes that a fault is on, or off.
func (p *ProgramRunner) turn(st *faultState, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if st.on != on {
		st.on, st.begun = on, true
		p.moved[""] = p.stage.Now()
		p.change()
	}
}

// grants counts each client's grants.
func (p *ProgramRunner) grants() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]int{}
	for name, c := range p.clients {
		out[name] = c.grants
	}
	return out
}

// awaitSince waits for what comes of an event after some moment, when there had been so
// many grants: one that a client had before is not the one that is meant.
func (p *ProgramRunner) awaitSince(ctx context.Context, a *Await, grants map[string]int) error {
	if a.What != grantedEvent.what {
		return p.awaitEvent(ctx, a)
	}
	return p.awaitThat(ctx, func() bool { return p.clients[a.Client].grants > grants[a.Client] })
}

// awaitThat waits until something is so; p.mu is held when it is asked.
func (p *ProgramRunner) awaitThat(ctx context.Context, is func() bool) error {
	for {
		p.mu.Lock()
		there, changed := is(), p.changed
		p.mu.Unlock()
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

func (p *ProgramRunner) told(line int, text string, began int64, err error) {
	if p.tell == nil {
		return
	}
	t := Taken{Line: line, Text: text, At: began, Took: time.Duration(p.stage.Now() - began)}
	if err != nil {
		t.Outcome = err.Error()
	}
	p.tell(t)
}

// giveUp has clients that still wait for the lock give up, Patience after nothing has
// changed any more.
func (p *ProgramRunner) giveUp(ctx context.Context) {
	c, ok := p.stage.(Canceler)
	if !ok {
		return
	}
	t := time.NewTimer(p.Patience)
	defer t.Stop()
	for {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
			t.Reset(p.Patience)
		case <-t.C:
			for _, name := range p.scenario.Clients {
				_ = c.Cancel(name) // one that is dead has given up
			}
			t.Reset(p.Patience)
		case <-ctx.Done():
			return
		}
	}
}
