package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// starts orders changes of the network and starts of nodes that get a new network namespace
// each time. The faults at such a node end with its old namespace. They are applied again once
// the new one is there, when the node's program already runs. Until then, the nodes at the other
// ends bar the links with faults. Its lock is also the lock of network.
type starts struct {
	env *Env

	mu      sync.Mutex
	under   map[string]bool // nodes that are being started
	changed chan struct{}   // closed and replaced when one of these starts has ended
	bars    map[bar]bool
}

// bar closes one direction between a node that runs and one that is being started, at the
// node that runs.
type bar struct {
	at, other string
	in        bool // from other to at; else the direction back
}

func newStarts(e *Env) *starts {
	return &starts{env: e, under: map[string]bool{}, changed: make(chan struct{}), bars: map[bar]bool{}}
}

// lock waits until none of these nodes is being started, and takes the lock: a fault of a node
// that has no network yet would begin after its program. nodes is called with the lock held.
func (s *starts) lock(ctx context.Context, nodes func() []string) error {
	for {
		s.mu.Lock()
		some := nodes()
		i := slices.IndexFunc(some, func(n string) bool { return s.under[n] })
		if i < 0 {
			return nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for the start of %s: %w", some[i], ctx.Err())
		}
	}
}

// around starts a node; start returns when its new namespace is known.
func (s *starts) around(ctx context.Context, node string, start func() error) error {
	// Of two nodes with such a link between them, neither could bar it for the other.
	if err := s.lock(ctx, func() []string { return append(s.related(node), node) }); err != nil {
		return err
	}
	s.under[node] = true
	mine := s.wanted(node)
	for _, b := range mine {
		s.bars[b] = true
	}
	err := s.apply(ctx, mine)
	s.mu.Unlock()
	if err == nil {
		err = start()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = s.env.net.renew(ctx, node)
	}
	for _, b := range mine {
		delete(s.bars, b)
	}
	delete(s.under, node)
	close(s.changed)
	s.changed = make(chan struct{})
	lctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), verifyWithin)
	defer cancel()
	return errors.Join(err, s.apply(lctx, mine))
}

// related are the nodes at the other ends of links to and from this one that have a
// fault. The lock is held.
func (s *starts) related(node string) []string {
	var out []string
	for x := range s.env.net.links {
		switch node {
		case x.from:
			out = append(out, x.to)
		case x.to:
			out = append(out, x.from)
		}
	}
	return out
}

// wanted are the bars for the start of a node: cuts are made where they arrive, all else at
// the sender. The lock is held.
func (s *starts) wanted(node string) []bar {
	var out []bar
	for x, l := range s.env.net.links {
		if x.to == node && len(l.cut) > 0 {
			out = append(out, bar{at: x.from, other: node})
		}
		if x.from == node && len(l.held)+len(l.shaped) > 0 {
			out = append(out, bar{at: x.to, other: node, in: true})
		}
	}
	return out
}

// apply closes at each node that has one of these bars the directions that bars of now want
// closed, and opens all others. The lock is held.
func (s *starts) apply(ctx context.Context, some []bar) (all error) {
	done := map[string]bool{}
	for _, changed := range some {
		if done[changed.at] {
			continue
		}
		done[changed.at] = true
		n, ok := s.env.node(changed.at)
		if !ok || down(n) {
			continue // it neither sends nor hears
		}
		var from, to []string
		for b := range s.bars {
			other, ok := s.env.node(b.other)
			switch {
			case !ok || b.at != n.Name:
			case b.in:
				from = append(from, other.Addr)
			default:
				to = append(to, other.Addr)
			}
		}
		if _, err := s.env.Injector.Do(ctx, Op{Name: OpBar, NetNS: n.NetNS, From: from, To: to}); err != nil && !s.env.net.died(err, n) {
			all = errors.Join(all, fmt.Errorf("bar the network of %s while another starts: %w", n.Name, err))
		}
	}
	return all
}
