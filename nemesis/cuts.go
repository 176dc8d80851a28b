package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/picklock/picklock/compose"
)

// cut is one direction between two nodes in which packets are lost.
type cut struct{ from, to string }

// owner is a fault that wants something done to the network. What several want ends with the
// last of them, however often each is healed.
type owner any

// cuts is the state of the network: every cut with the faults that want it, so that one
// fault's end does not heal another's harm. Its lock is that of starts.
type cuts struct {
	env *Env
	on  map[cut]map[owner]bool
}

func newCuts(e *Env) *cuts {
	if e.starts == nil {
		e.starts = newStarts(e)
	}
	return &cuts{env: e, on: map[cut]map[owner]bool{}}
}

// renew cuts a node off again after it got a new network namespace. The lock is held.
func (c *cuts) renew(ctx context.Context, node string) error {
	for x := range c.on {
		if x.to == node {
			return c.apply(ctx, []cut{x})
		}
	}
	return nil
}

// add cuts more for a fault.
func (c *cuts) add(ctx context.Context, by owner, more []cut) error {
	if err := c.env.starts.lock(ctx, func() []string { return bothEnds(more) }); err != nil {
		return err
	}
	defer c.env.starts.mu.Unlock()
	for _, x := range more {
		if c.on[x] == nil {
			c.on[x] = map[owner]bool{}
		}
		c.on[x][by] = true
	}
	return c.apply(ctx, more)
}

// remove takes back what a fault has cut. It can be called again.
func (c *cuts) remove(ctx context.Context, by owner, some []cut) error {
	if err := c.env.starts.lock(ctx, func() []string { return bothEnds(some) }); err != nil {
		return err
	}
	defer c.env.starts.mu.Unlock()
	for _, x := range some {
		if delete(c.on[x], by); len(c.on[x]) == 0 {
			delete(c.on, x)
		}
	}
	all := c.apply(ctx, some)
	for _, to := range receivers(some) {
		all = errors.Join(all, c.healed(ctx, to))
	}
	return all
}

// healed sees that a node drops no packets but what others still want.
func (c *cuts) healed(ctx context.Context, to string) error {
	n, ok := c.env.node(to)
	if !ok || down(n) {
		return nil
	}
	r, err := c.env.Injector.Do(ctx, Op{Name: OpDropped, NetNS: n.NetNS})
	dropped := r.Dropped
	if c.died(err, n) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("see whether the network of %s is healed: %w", to, err)
	}
	for x := range c.on {
		if from, ok := c.env.node(x.from); ok && x.to == to {
			delete(dropped, from.Addr)
		}
	}
	if len(dropped) > 0 {
		return fmt.Errorf("heal the network of %s: it still drops packets from %v", to, dropped)
	}
	return nil
}

// apply sets the filter of every node at the receiving end of some cut. One that fails keeps
// none of the others from it.
func (c *cuts) apply(ctx context.Context, changed []cut) (all error) {
	for _, to := range receivers(changed) {
		n, ok := c.env.node(to)
		if !ok {
			all = errors.Join(all, fmt.Errorf("cut the network of %s: no such node", to))
			continue
		}
		if down(n) {
			continue // its network went with it: see renew
		}
		var from []string
		for x := range c.on {
			if x.to != to {
				continue
			}
			if f, ok := c.env.node(x.from); ok {
				from = append(from, f.Addr)
			}
		}
		if _, err := c.env.Injector.Do(ctx, Op{Name: OpDrop, NetNS: n.NetNS, From: from}); err != nil && !c.died(err, n) {
			all = errors.Join(all, fmt.Errorf("cut the network of %s: %w", to, err))
		}
	}
	return all
}

// down says that a node has no network at the moment.
func down(n compose.Node) bool { return n.PID == 0 && n.NetNS == "" }

// died says that an error comes from a node's death since it was looked up: it was
// killed, and maybe started again, and its network went with it.
func (c *cuts) died(err error, nodes ...compose.Node) bool {
	for _, n := range nodes {
		if now, ok := c.env.node(n.Name); !ok || now.NetNS != n.NetNS {
			return true
		}
	}
	return errors.Is(err, os.ErrProcessDone)
}

// errDown says that a cut cannot be probed because one of its ends is down.
var errDown = errors.New("partition: an end of every cut is down")

// probe returns nil when a packet along the cut was seen to be dropped.
func (c *cuts) probe(ctx context.Context, x cut) error {
	from, ok1 := c.env.node(x.from)
	to, ok2 := c.env.node(x.to)
	if !ok1 || !ok2 {
		return fmt.Errorf("partition: %s or %s is gone", x.from, x.to)
	}
	if down(from) || down(to) {
		return errDown
	}
	port := to
	if port.Port == 0 {
		port.Port = 9 // discard: a refusal is an answer too
	}
	// Another fault that changes the same node's filter starts its counters anew:
	// a packet more tells whether this cut is still there.
	for {
		reached, err := c.env.Injector.Do(ctx, Op{Name: OpReach, NetNS: from.NetNS, Addr: port.HostPort()})
		if c.died(err, from, to) {
			return errDown
		}
		if err != nil {
			return fmt.Errorf("probe the way from %s to %s: %w", x.from, x.to, err)
		}
		if reached.Yes {
			return fmt.Errorf("partition: %s still reaches %s", x.from, x.to)
		}
		dropped, err := c.env.Injector.Do(ctx, Op{Name: OpDropped, NetNS: to.NetNS})
		if c.died(err, to) {
			return errDown
		}
		if err != nil {
			return err
		}
		if dropped.Dropped[from.Addr] > 0 {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("partition: no packet from %s to %s was dropped", x.from, x.to)
		}
	}
}

func bothEnds[X cut | way](some []X) []string {
	var out []string
	for _, x := range some {
		c := cut(x)
		out = append(out, c.from, c.to)
	}
	return out
}

func receivers(some []cut) []string {
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
