package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/picklock/picklock/history"
)

// Inject injects a fault, confirms that it took effect, and returns what heals it. Both are in
// the history. A fault that did not take effect is healed at once and is an error; one of which
// only the end shows that is healed, and an error of heal. Once heal has succeeded it does
// nothing any more.
func (n *Nemesis) Inject(ctx context.Context, r FaultRequest) (heal func(context.Context) error, err error) {
	if err := r.Possible(n.env); err != nil {
		return nil, err
	}
	k, _ := lookup(r.Kind)
	f, err := k.Make(ctx, n.env, Plan{FaultRequest: r}, chance{})
	if err == nil {
		err = n.env.validateTargets(k, f)
	}
	if err != nil {
		return nil, fmt.Errorf("fault %s: %w", r.Kind, err)
	}
	release := func() {}
	if k.Single {
		if !n.claim(k, f) {
			return nil, fmt.Errorf("fault %s on %s: another %s is on there, and the end of one would end both: let them follow one another", r.Kind, strings.Join(f.Nodes(), ", "), r.Kind)
		}
		release = sync.OnceFunc(func() { n.release(k, f) })
	}
	i, err := n.inject(ctx, k, f)
	if err != nil {
		defer release()
		err = fmt.Errorf("fault %s on %s did not take effect: %w", r.Kind, strings.Join(f.Nodes(), ", "), err)
		if herr := i.heal(context.WithoutCancel(ctx)); herr != nil {
			err = fmt.Errorf("%w; %w", err, herr)
		}
		return nil, err
	}
	e, ok := f.(Effective)
	return func(ctx context.Context) error {
		if err := i.heal(ctx); err != nil {
			return err
		}
		release()
		if !ok {
			return nil
		}
		if err := e.Effect(); err != nil {
			return fmt.Errorf("%s of %s had no effect: %w", r.Kind, strings.Join(f.Nodes(), ", "), err)
		}
		return nil
	}, nil
}

// injection is one fault from its injection to the end of its healing: planned
// faults and requested ones alike.
type injection struct {
	nemesis *Nemesis
	kind    string
	fault   Fault

	mu      sync.Mutex
	healing int64 // when its end began; 0: it has not
	healed  bool
}

// inject does a fault, looks for its effect, and records how that went. The time of
// the event is the one just before the injection: the fault begins no earlier. If the error
// is not nil, the fault is not confirmed; it has to be healed all the same.
func (n *Nemesis) inject(ctx context.Context, k Kind, f Fault) (*injection, error) {
	i := &injection{nemesis: n, kind: k.Name, fault: f}
	begun := history.Event{F: k.Name, Nodes: f.Nodes(), Phase: history.Begin, Fault: strings.Join(f.Steps(), "; "), Time: n.env.now() - n.start}
	ctx, cancel := context.WithTimeout(ctx, verifyWithin)
	defer cancel()
	err := f.Inject(ctx)
	if err == nil {
		err = f.Verify(ctx)
	}
	begun.Detail, begun.Confirmed = f.Detail(), err == nil
	if err != nil {
		begun.Error = err.Error()
	}
	n.write(begun)
	if k.Single {
		n.mu.Lock()
		n.single = append(n.single, i)
		n.mu.Unlock()
	}
	return i, err
}

// replaced ends the faults of a node alone that hit its process or its disk: another process has taken its place, which has none of them.
func (n *Nemesis) replaced(ctx context.Context, node string) error {
	n.mu.Lock()
	var over []*injection
	for _, i := range n.single {
		if slices.Equal(i.fault.Nodes(), []string{node}) {
			over = append(over, i)
		}
	}
	n.mu.Unlock()
	var all error
	for _, i := range over {
		all = errors.Join(all, i.heal(ctx))
	}
	return all
}

// heal ends the fault and records its end. Once that has succeeded it does nothing
// any more.
func (i *injection) heal(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.healed {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, healWithin)
	defer cancel()
	f, n := i.fault, i.nemesis
	if i.healing == 0 {
		i.healing = n.env.now() - n.start
	}
	if err := f.Heal(ctx); err != nil {
		return fmt.Errorf("heal %s of %s: %w", i.kind, strings.Join(f.Nodes(), ", "), err)
	}
	i.healed = true
	n.mu.Lock()
	n.single = slices.DeleteFunc(n.single, func(o *injection) bool { return o == i })
	n.mu.Unlock()
	end := history.Event{F: i.kind, Nodes: f.Nodes(), Phase: history.End, Detail: f.Detail(), Since: i.healing, Time: n.env.now() - n.start}
	if err := i.effect(); err != nil {
		end.Error = err.Error()
	}
	n.write(end)
	return nil
}

// effect is an error if only the end of the fault shows that it had none.
func (i *injection) effect() error {
	if e, ok := i.fault.(Effective); ok && i.healed {
		return e.Effect()
	}
	return nil
}

// leave records that the fault stays: what it hit does not start any more.
func (i *injection) leave(err *restartFailedError) {
	var still []string
	for _, name := range i.fault.Nodes() {
		if now, ok := i.nemesis.env.node(name); ok && now.PID == 0 {
			still = append(still, name)
		}
	}
	i.nemesis.write(history.Event{
		F: i.kind, Nodes: i.fault.Nodes(), Time: i.nemesis.env.now() - i.nemesis.start, Detail: err.Error(),
		Error: strings.Join(still, ", ") + " did not start again: the logs in nodes/ say why",
	})
}

func (n *Nemesis) write(e history.Event) {
	e.Process, e.Type = history.Nemesis, history.Info
	n.record(e)
}
