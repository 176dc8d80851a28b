package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// GateRequest asks for a gate on what a client sends in its next act, or is answered.
type GateRequest struct {
	Client   string
	To       []string // the others; none: servers and the register
	Answered bool     // count the answers
	N        int      // after how many messages the gate shuts
}

// Gate lets so many messages pass, and then nothing more between the client and the
// others, in neither direction, until it is opened: a fault that begins when it has shut
// begins before any node has heard of the last message. A message is what one packet
// brings, as with a hold; what TCP sends again counts once.
type Gate interface {
	// Shut is closed when the last of the messages has passed and nothing more does.
	Shut() <-chan struct{}
	// Passed counts the messages that have passed so far.
	Passed(ctx context.Context) (int, error)
	// Open lets go what has waited since, and ends the count.
	Open(ctx context.Context) error
}

// ActGate is a gate on one of a step's acts.
type ActGate struct {
	Act   int
	Await *Await // what waits for it
}

// actGate is one that is set up.
type actGate struct {
	Gate
	over   chan struct{} // closed when its act has ended
	passed int           // by then
	opened bool          // r.mu guards it
	err    error         // why it could not be set up
}

// arm sets up the gates on a step's act, which is about to begin.
func (r *Runner) arm(ctx context.Context, st Step, act int) error {
	for _, x := range st.Gates {
		if x.Act != act {
			continue
		}
		a := x.Await
		gate, err := r.stage.Gate(ctx, GateRequest{Client: a.Client, To: r.resolve(a.Servers), Answered: a.What == answeredEvent.what, N: a.N})
		g := &actGate{Gate: gate, over: make(chan struct{})}
		if err != nil {
			g.opened, g.err = true, fmt.Errorf("count the messages of %s's %s: %w", a.Client, a.Act, err)
		}
		r.mu.Lock()
		r.gates[a] = g
		r.change()
		r.mu.Unlock()
		if g.err != nil {
			return g.err
		}
	}
	return nil
}

// actOver ends the count of an act's messages; a gate that has shut stays so.
func (r *Runner) actOver(ctx context.Context, st Step, act int) error {
	for _, x := range st.Gates {
		r.mu.Lock()
		g := r.gates[x.Await]
		r.mu.Unlock()
		if x.Act != act || g == nil {
			continue
		}
		var err error
		if g.passed, err = g.Passed(ctx); err != nil {
			return err
		}
		close(g.over)
		if g.passed < x.Await.N {
			if err := r.open(ctx, x.Await); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitGate returns when the gate has shut. It stays so until openAwaited.
func (r *Runner) awaitGate(ctx context.Context, a *Await) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, r.open(context.WithoutCancel(ctx), a))
		}
	}()
	g, err := r.armed(ctx, a)
	if err != nil {
		return err
	}
	select {
	case <-g.Shut():
	case <-ctx.Done():
		return ctx.Err()
	case <-g.over:
		if g.passed < a.N {
			return a.never(ctx, fmt.Errorf("%s's %s was over after %d of %d messages %s", a.Client, a.Act, g.passed, a.N, a.What))
		}
	}
	r.awaited = append(r.awaited, a)
	return nil
}

// armed is the gate that the await is for, once its act has begun.
func (r *Runner) armed(ctx context.Context, a *Await) (*actGate, error) {
	for {
		r.mu.Lock()
		g, changed, last, failed := r.gates[a], r.changed, r.clients[a.Client].last, r.failed
		ended := last != nil && last.done
		r.mu.Unlock()
		switch {
		case g != nil && g.err == nil:
			return g, nil
		case g != nil: // the act cannot begin: its step says so
			if failed != nil {
				return nil, failed
			}
		case ended:
			return nil, a.never(ctx, fmt.Errorf("%s did not come to its %s: %s %s", a.Client, a.Act, last.act, last.outcome.Outcome))
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// never is what comes of an await that cannot come any more.
func (a *Await) never(ctx context.Context, why error) error {
	if a.Or == 0 && a.Within == 0 {
		return why
	}
	<-ctx.Done()
	return ctx.Err()
}

// openWithin bounds the opening of a gate.
const openWithin = 10 * time.Second

// open opens the gate behind an await, if it is there.
func (r *Runner) open(ctx context.Context, a *Await) error {
	r.mu.Lock()
	g := r.gates[a]
	if g == nil || g.opened {
		r.mu.Unlock()
		return nil
	}
	g.opened = true
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	if err := g.Open(ctx); err != nil {
		return fmt.Errorf("let go what waits since %s: %w", a, err)
	}
	return nil
}

// openAwaited opens the gates that were awaited, unless the step injects a fault: what it does is
// done before anybody hears of the last message.
func (r *Runner) openAwaited(ctx context.Context, st Step) error {
	if st.injects() {
		return nil
	}
	some := r.awaited
	r.awaited = nil
	var all error
	for _, a := range some {
		all = errors.Join(all, r.open(ctx, a))
	}
	return all
}

// injects says that the step injects a fault, and waits for nothing.
func (st *Step) injects() bool {
	w, ok := st.word()
	return ok && w.fault != "" && st.N == 0
}

// openAll opens every gate.
func (r *Runner) openAll(ctx context.Context) error {
	r.mu.Lock()
	some := slices.Collect(maps.Keys(r.gates))
	r.mu.Unlock()
	var all error
	for _, a := range some {
		all = errors.Join(all, r.open(ctx, a))
	}
	return all
}
