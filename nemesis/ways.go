package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis/wire"
)

// way is one direction between two nodes.
type way struct{ from, to string }

// ways is what is done to packets at their senders' doors: who wants which way held, and
// how bad each way is. The faults that work on one way are counted and combined, so that
// one's end does not heal another's harm. Its lock is that of starts.
type ways struct {
	env    *Env
	held   map[way]map[owner]bool
	shaped map[way]map[owner]wire.Shape
}

func newWays(e *Env) *ways {
	return &ways{env: e, held: map[way]map[owner]bool{}, shaped: map[way]map[owner]wire.Shape{}}
}

// renew does to a node that got a new network namespace what was done to it before. The lock
// is held.
func (w *ways) renew(ctx context.Context, node string) error {
	for x := range w.held {
		if x.from == node {
			if _, err := w.order(ctx, x, wire.Order{Do: wire.Hold}); err != nil {
				return err
			}
		}
	}
	for x := range w.shaped {
		if x.from == node {
			if err := w.apply(ctx, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// order does something at the door of a way's sender.
func (w *ways) order(ctx context.Context, x way, o wire.Order) (wire.Report, error) {
	from, to, err := w.ends(x)
	if err != nil {
		return wire.Report{}, err
	}
	o.To, o.Port = []string{to.Addr}, to.Port
	if o.Port == 0 {
		o.Port = 9 // discard: a refusal is an answer too
	}
	r, err := w.env.packets(ctx, from.NetNS, o)
	if err != nil && w.env.net.died(err, from) {
		return wire.Report{}, errDown
	}
	if err != nil {
		return wire.Report{}, fmt.Errorf("%s to %s: %w", x.from, x.to, err)
	}
	return r, nil
}

// ends finds a way's nodes; an error is errDown where the sender has no network.
func (w *ways) ends(x way) (from, to compose.Node, err error) {
	from, ok1 := w.env.node(x.from)
	to, ok2 := w.env.node(x.to)
	switch {
	case !ok1 || !ok2:
		return from, to, fmt.Errorf("%s or %s is gone", x.from, x.to)
	case down(from):
		return from, to, errDown
	}
	return from, to, nil
}

// orderAll does something on many ways, at each sender's door in one go and at all doors
// at the same time.
func (w *ways) orderAll(ctx context.Context, some []way, o wire.Order) (sum wire.Report, err error) {
	to := map[string][]string{} // by sender
	var doors []compose.Node
	for _, x := range some {
		from, node, err := w.ends(x)
		if errors.Is(err, errDown) {
			continue // its network went with it: see renew
		}
		if err != nil {
			return sum, err
		}
		if to[x.from] == nil {
			doors = append(doors, from)
		}
		to[x.from] = append(to[x.from], node.Addr)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, from := range doors {
		all.Go(func() {
			o := o
			o.To = to[from.Name]
			r, oerr := w.env.packets(ctx, from.NetNS, o)
			mu.Lock()
			defer mu.Unlock()
			if oerr != nil && !w.env.net.died(oerr, from) {
				err = errors.Join(err, fmt.Errorf("at the door of %s: %w", from.Name, oerr))
			}
			sum.Messages, sum.GivenUp = sum.Messages+r.Messages, sum.GivenUp+r.GivenUp
		})
	}
	all.Wait()
	return sum, err
}

// hold makes what goes these ways wait.
func (w *ways) hold(ctx context.Context, by owner, some []way) error {
	if err := w.env.starts.lock(ctx, func() []string { return bothEnds(some) }); err != nil {
		return err
	}
	defer w.env.starts.mu.Unlock()
	for _, x := range some {
		if w.held[x] == nil {
			w.held[x] = map[owner]bool{}
		}
		w.held[x][by] = true
	}
	_, err := w.orderAll(ctx, some, wire.Order{Do: wire.Hold})
	return err
}

// deliver lets go what waits on these ways, all that nobody else wants held, and says
// what that was.
func (w *ways) deliver(ctx context.Context, by owner, some []way) (wire.Report, error) {
	if err := w.env.starts.lock(ctx, func() []string { return bothEnds(some) }); err != nil {
		return wire.Report{}, err
	}
	defer w.env.starts.mu.Unlock()
	var free []way
	for _, x := range some {
		if delete(w.held[x], by); len(w.held[x]) == 0 {
			delete(w.held, x)
			free = append(free, x)
		}
	}
	return w.orderAll(ctx, free, wire.Order{Do: wire.Deliver})
}

// discard throws away what waits on these ways; nothing is held there any more.
func (w *ways) discard(ctx context.Context, some []way) (thrown int, err error) {
	if err := w.env.starts.lock(ctx, func() []string { return bothEnds(some) }); err != nil {
		return 0, err
	}
	defer w.env.starts.mu.Unlock()
	var held []way
	for _, x := range some {
		if len(w.held[x]) > 0 {
			held = append(held, x)
		}
	}
	r, err := w.orderAll(ctx, held, wire.Order{Do: wire.Discard})
	return r.Messages, err
}

// shape makes these ways as bad as s, besides what others do to them.
func (w *ways) shape(ctx context.Context, by owner, some []way, s wire.Shape) error {
	if err := w.env.starts.lock(ctx, func() []string { return bothEnds(some) }); err != nil {
		return err
	}
	defer w.env.starts.mu.Unlock()
	for _, x := range some {
		if w.shaped[x] == nil {
			w.shaped[x] = map[owner]wire.Shape{}
		}
		w.shaped[x][by] = s
		if err := w.apply(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// unshape takes that back. It can be called again.
func (w *ways) unshape(ctx context.Context, by owner, some []way) (all error) {
	if err := w.env.starts.lock(ctx, func() []string { return bothEnds(some) }); err != nil {
		return err
	}
	defer w.env.starts.mu.Unlock()
	for _, x := range some {
		delete(w.shaped[x], by)
		all = errors.Join(all, w.apply(ctx, x))
		if len(w.shaped[x]) == 0 {
			delete(w.shaped, x)
		}
	}
	return all
}

// apply makes a way as bad as all who want it bad want it; the lock is held.
func (w *ways) apply(ctx context.Context, x way) error {
	var sum wire.Shape
	for _, s := range w.shaped[x] {
		sum.Delay, sum.Jitter, sum.Loss = sum.Delay+s.Delay, sum.Jitter+s.Jitter, 1-(1-sum.Loss)*(1-s.Loss)
		if s.Rate > 0 && (sum.Rate == 0 || s.Rate < sum.Rate) {
			sum.Rate = s.Rate
		}
		if s.Flap > 0 && (sum.Flap == 0 || s.Flap < sum.Flap) {
			sum.Flap = s.Flap
		}
	}
	if _, err := w.order(ctx, x, wire.Order{Do: wire.Shaped, Shape: sum}); err != nil && !errors.Is(err, errDown) {
		return err
	}
	return nil
}

// seen sends packets each of the ways, one after the other, until is says of one's fate that it
// shows what is done to that way. Ways whose sender is down show nothing; where none shows it,
// that is an error.
func (w *ways) seen(ctx context.Context, some []way, is func(wire.Fate) error) error {
	type outcome struct {
		shown bool
		err   error
	}
	outcomes := make(chan outcome, len(some))
	for _, x := range some {
		go func() {
			for {
				r, err := w.order(ctx, x, wire.Order{Do: wire.Probe})
				if errors.Is(err, errDown) {
					outcomes <- outcome{}
					return
				}
				if err == nil {
					if err = is(r.Fate); err != nil {
						err = fmt.Errorf("%s to %s: %w", x.from, x.to, err)
					}
				}
				if err == nil {
					outcomes <- outcome{shown: true}
					return
				}
				if !wait(ctx, time.Millisecond, nil) {
					outcomes <- outcome{err: err}
					return
				}
			}
		}()
	}
	shown, all := 0, error(nil)
	for range some {
		o := <-outcomes
		if o.shown {
			shown++
		}
		all = errors.Join(all, o.err)
	}
	if all == nil && shown == 0 {
		return errors.New("every sender is down")
	}
	return all
}

// counts is what became of the packets on these ways.
func (w *ways) counts(ctx context.Context, some []way) (lost, passed int) {
	for _, x := range some {
		if r, err := w.order(ctx, x, wire.Order{Do: wire.Count}); err == nil {
			lost, passed = lost+r.Lost, passed+r.Passed
		}
	}
	return lost, passed
}

// lookEvery is how often several doors are asked for what only one of them may know.
const lookEvery = 2 * time.Millisecond

// await returns when n messages wait on these ways together.
func (w *ways) await(ctx context.Context, some []way, n int) error {
	for {
		have := 0
		for _, x := range some {
			o := wire.Order{Do: wire.Count}
			if len(some) == 1 {
				o = wire.Order{Do: wire.Await, N: n} // it tells by itself
			}
			r, err := w.order(ctx, x, o)
			// An agent gives up before the time is over, so that its answer comes in time.
			late := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
			if err != nil && !late && !errors.Is(err, errDown) {
				return err
			}
			have += r.Messages
		}
		if have >= n {
			return nil
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return fmt.Errorf("%d of %d messages came: %w", have, n, ctx.Err())
		}
	}
}

// next lets the next n messages on these ways go.
func (w *ways) next(ctx context.Context, some []way, n int) error {
	if len(some) == 1 {
		_, err := w.order(ctx, some[0], wire.Order{Do: wire.Deliver, N: n})
		return err
	}
	for range n {
		if err := w.await(ctx, some, 1); err != nil {
			return err
		}
		for _, x := range some {
			r, err := w.order(ctx, x, wire.Order{Do: wire.Count})
			if err != nil || r.Messages == 0 {
				continue
			}
			if _, err := w.order(ctx, x, wire.Order{Do: wire.Deliver, N: 1}); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// between are the ways from some nodes to others, and with both back as well.
func waysBetween(from, to []compose.Node, both bool) ([]way, error) {
	var out []way
	for _, a := range from {
		for _, b := range to {
			if a.Name == b.Name {
				return nil, fmt.Errorf("%s sends nothing to itself over the network", a.Name)
			}
			out = append(out, way{a.Name, b.Name})
			if both {
				out = append(out, way{b.Name, a.Name})
			}
		}
	}
	return out, nil
}

var errNotIsolated = errors.New("this machine cannot hold packets: the nodes share one network (picklock doctor says why)")

// wireable says what stands in the way of working on packets.
func wireable(e *Env) error {
	if !e.Isolated {
		return errNotIsolated
	}
	ctx, cancel := context.WithTimeout(context.Background(), verifyWithin)
	defer cancel()
	if _, err := e.packets(ctx, "", wire.Order{Do: wire.Try}); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
