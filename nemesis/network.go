package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis/packetfault"
)

// directedLink is one direction between two nodes.
type directedLink struct{ from, to string }

// owner is a fault that does something to the network. What several do ends with the last of
// them, however often each is healed.
type owner any

// linkFaults are the faults of one link, by owner.
type linkFaults struct {
	cut    map[owner]bool // packets are dropped where they arrive
	held   map[owner]bool // packets wait at their sender
	shaped map[owner]packetfault.Shape
	muted  map[owner]bool // connections that there were are broken, and an end does not know
}

func (l *linkFaults) none() bool { return len(l.cut)+len(l.held)+len(l.shaped)+len(l.muted) == 0 }

// network is what is done to each link, so that the end of one fault does not heal another.
// Its lock is that of starts.
type network struct {
	env   *Env
	links map[directedLink]*linkFaults
}

func newNetwork(e *Env) *network {
	if e.starts == nil {
		e.starts = newStarts(e)
	}
	return &network{env: e, links: map[directedLink]*linkFaults{}}
}

// change calls f for each link, with the lock held, and forgets links without faults. Then it
// calls apply.
func (nw *network) change(ctx context.Context, some []directedLink, f func(x directedLink, l *linkFaults), apply func() error) error {
	if err := nw.env.starts.lock(ctx, func() []string { return ends(some) }); err != nil {
		return err
	}
	defer nw.env.starts.mu.Unlock()
	for _, x := range some {
		l := nw.links[x]
		if l == nil {
			l = &linkFaults{map[owner]bool{}, map[owner]bool{}, map[owner]packetfault.Shape{}, map[owner]bool{}}
			nw.links[x] = l
		}
		if f(x, l); l.none() {
			delete(nw.links, x)
		}
	}
	return apply()
}

// renew applies the faults of a node that got a new network namespace to it. The lock is held.
func (nw *network) renew(ctx context.Context, node string) error {
	for x, l := range nw.links {
		if x.to == node && len(l.cut) > 0 {
			if err := nw.applyCuts(ctx, []directedLink{x}); err != nil {
				return err
			}
			break // that was all of the node's
		}
	}
	for x, l := range nw.links {
		if x.from != node {
			continue
		}
		if len(l.held) > 0 {
			if _, err := nw.order(ctx, x, packetfault.Request{Op: packetfault.Hold}); err != nil {
				return err
			}
		}
		if len(l.shaped) > 0 {
			if err := nw.applyShapes(ctx, []directedLink{x}); err != nil {
				return err
			}
		}
	}
	return nil
}

// cut cuts links for a fault.
func (nw *network) cut(ctx context.Context, by owner, some []directedLink) error {
	return nw.change(ctx, some, func(_ directedLink, l *linkFaults) { l.cut[by] = true }, func() error {
		return nw.applyCuts(ctx, some)
	})
}

// uncut ends what a fault has cut. It can be called again.
func (nw *network) uncut(ctx context.Context, by owner, some []directedLink) error {
	return nw.change(ctx, some, func(_ directedLink, l *linkFaults) { delete(l.cut, by) }, func() error {
		all := nw.applyCuts(ctx, some)
		for _, to := range receivers(some) {
			all = errors.Join(all, nw.uncutSeen(ctx, to))
		}
		return all
	})
}

// uncutSeen sees that a node drops no packets but what others still want.
func (nw *network) uncutSeen(ctx context.Context, to string) error {
	n, ok := nw.env.node(to)
	if !ok || down(n) {
		return nil
	}
	r, err := nw.env.Injector.Do(ctx, Op{Name: OpDropped, NetNS: n.NetNS, Scope: nw.env.Scope})
	dropped := r.Dropped
	if nw.died(err, n) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("see whether the network of %s is healed: %w", to, err)
	}
	for x, l := range nw.links {
		if from, ok := nw.env.node(x.from); ok && x.to == to && len(l.cut) > 0 {
			delete(dropped, from.Addr)
		}
	}
	if len(dropped) > 0 {
		return fmt.Errorf("heal the network of %s: it still drops packets from %v", to, dropped)
	}
	return nil
}

// applyCuts sets the filter of every node at the receiving end of some cut. One that fails keeps
// none of the others from it.
func (nw *network) applyCuts(ctx context.Context, changed []directedLink) (all error) {
	for _, to := range receivers(changed) {
		n, ok := nw.env.node(to)
		if !ok {
			all = errors.Join(all, fmt.Errorf("cut the network of %s: no such node", to))
			continue
		}
		if down(n) {
			continue // its network went with it: see renew
		}
		var from []string
		for x, l := range nw.links {
			if x.to != to || len(l.cut) == 0 {
				continue
			}
			if f, ok := nw.env.node(x.from); ok {
				from = append(from, f.Addr)
			}
		}
		if _, err := nw.env.Injector.Do(ctx, Op{Name: OpDrop, NetNS: n.NetNS, Scope: nw.env.Scope, From: from}); err != nil && !nw.died(err, n) {
			all = errors.Join(all, fmt.Errorf("cut the network of %s: %w", to, err))
		}
	}
	return all
}

// hold makes what goes along these links wait.
func (nw *network) hold(ctx context.Context, by owner, some []directedLink) error {
	return nw.change(ctx, some, func(_ directedLink, l *linkFaults) { l.held[by] = true }, func() error {
		_, err := nw.orderAll(ctx, some, packetfault.Request{Op: packetfault.Hold})
		return err
	})
}

// deliver releases what waits on these links, unless another fault holds it, and reports
// what that was.
func (nw *network) deliver(ctx context.Context, by owner, some []directedLink) (r packetfault.Report, err error) {
	var free []directedLink
	err = nw.change(ctx, some, func(x directedLink, l *linkFaults) {
		if delete(l.held, by); len(l.held) == 0 {
			free = append(free, x)
		}
	}, func() error {
		r, err = nw.orderAll(ctx, free, packetfault.Request{Op: packetfault.Deliver})
		return err
	})
	return r, err
}

// discard throws away what waits on these links; nothing is held there until holdAgain.
func (nw *network) discard(ctx context.Context, some []directedLink) (thrown int, err error) {
	var held []directedLink
	err = nw.change(ctx, some, func(x directedLink, l *linkFaults) {
		if len(l.held) > 0 {
			held = append(held, x)
		}
	}, func() error {
		r, err := nw.orderAll(ctx, held, packetfault.Request{Op: packetfault.Discard})
		thrown = r.Messages
		return err
	})
	return thrown, err
}

// holdAgain makes what goes along those of these links wait that a fault holds.
func (nw *network) holdAgain(ctx context.Context, some []directedLink) error {
	var held []directedLink
	return nw.change(ctx, some, func(x directedLink, l *linkFaults) {
		if len(l.held) > 0 {
			held = append(held, x)
		}
	}, func() error {
		_, err := nw.orderAll(ctx, held, packetfault.Request{Op: packetfault.Hold})
		return err
	})
}

// mute notes that connections along these links do not carry anything any more.
func (nw *network) mute(ctx context.Context, by owner, some []directedLink) error {
	return nw.change(ctx, some, func(_ directedLink, l *linkFaults) { l.muted[by] = true }, nothing)
}

// unmute notes the end of that. It can be called again.
func (nw *network) unmute(ctx context.Context, by owner, some []directedLink) error {
	return nw.change(ctx, some, func(_ directedLink, l *linkFaults) { delete(l.muted, by) }, nothing)
}

func nothing() error { return nil }

// withheld says that nothing that one node sends to another arrives, or that no acknowledgement
// comes back, as long as a fault is on. Of what is slowed or lost at times, some arrives.
func (nw *network) withheld(from, to string) bool {
	nw.env.starts.mu.Lock()
	defer nw.env.starts.mu.Unlock()
	for _, x := range []directedLink{{from, to}, {to, from}} {
		if l := nw.links[x]; l != nil && len(l.cut)+len(l.held)+len(l.muted) > 0 {
			return true
		}
	}
	return false
}

// Withheld says that what one node sends to another stays unacknowledged as long as a fault is
// on: their link is cut, held, or its connections were broken without a word.
func (n *Nemesis) Withheld(from, to string) bool { return n.env.net.withheld(from, to) }

// shape makes these links as bad as s, besides what others do to them.
func (nw *network) shape(ctx context.Context, by owner, some []directedLink, s packetfault.Shape) error {
	return nw.change(ctx, some, func(_ directedLink, l *linkFaults) { l.shaped[by] = s }, func() error {
		return nw.applyShapes(ctx, some)
	})
}

// unshape ends that. It can be called again.
func (nw *network) unshape(ctx context.Context, by owner, some []directedLink) error {
	return nw.change(ctx, some, func(_ directedLink, l *linkFaults) { delete(l.shaped, by) }, func() error {
		return nw.applyShapes(ctx, some)
	})
}

// applyShapes combines the shapes of each link's owners and applies the result. If one link
// fails, the others are done all the same. The lock is held.
func (nw *network) applyShapes(ctx context.Context, some []directedLink) (all error) {
	for _, x := range some {
		var sum packetfault.Shape
		if l := nw.links[x]; l != nil {
			for _, s := range l.shaped {
				sum.Delay, sum.Jitter, sum.Loss = sum.Delay+s.Delay, sum.Jitter+s.Jitter, 1-(1-sum.Loss)*(1-s.Loss)
				if s.Rate > 0 && (sum.Rate == 0 || s.Rate < sum.Rate) {
					sum.Rate = s.Rate
				}
				if s.Flap > 0 && (sum.Flap == 0 || s.Flap < sum.Flap) {
					sum.Flap = s.Flap
				}
			}
		}
		if _, err := nw.order(ctx, x, packetfault.Request{Op: packetfault.Shaped, Shape: sum}); err != nil && !errors.Is(err, errDown) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// down says that a node has no network at the moment.
func down(n compose.Node) bool { return n.PID == 0 && n.NetNS == "" }

// died reports whether an error comes from a node's death since it was looked up: it was
// killed, and maybe started again, and its network went with it.
func (nw *network) died(err error, nodes ...compose.Node) bool {
	for _, n := range nodes {
		if now, ok := nw.env.node(n.Name); !ok || now.NetNS != n.NetNS {
			return true
		}
	}
	return errors.Is(err, os.ErrProcessDone)
}

func receivers(some []directedLink) []string {
	seen := map[string]bool{}
	var out []string
	for _, x := range some {
		if !seen[x.to] {
			seen[x.to] = true
			out = append(out, x.to)
		}
	}
	return out
}

// ends are the nodes of these links, in their order.
func ends(some []directedLink) []string {
	var out []string
	for _, c := range some {
		for _, name := range []string{c.from, c.to} {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
