package packetfault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picklock/picklock/internal/proc"
)

// Queues are the open packet queues, one a network namespace. A change of one takes the kernel some 10 ms, and keeps no other
// waiting.
type Queues struct {
	mu     sync.Mutex       // never held while a slot's is asked for
	slots  map[uint64]*slot // by the namespace's number
	gates  map[uint64]*gate // by their numbers
	proved atomic.Bool      // this machine can hold messages
}

// slot is the place of one namespace's queue.
type slot struct {
	mu      sync.Mutex
	queue   *packetQueue // nil before it is open
	dropped bool         // it is no longer among the slots
}

// NewQueues has no open queue yet.
func NewQueues() *Queues { return &Queues{slots: map[uint64]*slot{}, gates: map[uint64]*gate{}} }

// find returns the slot of a namespace, locked; nil if there is none.
func (qs *Queues) find(number uint64) *slot {
	qs.mu.Lock()
	s := qs.slots[number]
	qs.mu.Unlock()
	if s == nil {
		return nil
	}
	s.mu.Lock()
	if s.dropped {
		s.mu.Unlock()
		return nil
	}
	return s
}

// at is the open queue of a namespace, nil if there is none.
func (qs *Queues) at(number uint64) *packetQueue {
	s := qs.find(number)
	if s == nil {
		return nil
	}
	defer s.mu.Unlock()
	return s.queue
}

// lock returns the slot of a namespace, locked. It makes one if there is none.
func (qs *Queues) lock(number uint64) *slot {
	for {
		qs.mu.Lock()
		s := qs.slots[number]
		if s == nil {
			s = &slot{}
			qs.slots[number] = s
		}
		qs.mu.Unlock()
		s.mu.Lock()
		if !s.dropped {
			return s
		}
		s.mu.Unlock()
	}
}

// drop forgets a slot, which is locked.
func (qs *Queues) drop(number uint64, s *slot) {
	s.dropped = true
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.slots[number] == s {
		delete(qs.slots, number)
	}
}

// Do carries out one operation on the packets that leave the network namespace at path.
func (qs *Queues) Do(ctx context.Context, netns string, o Request) (Report, error) {
	to, err := parseAddrs(o.To)
	if err != nil {
		return Report{}, err
	}
	switch o.Op {
	case Try:
		return Report{}, qs.try(ctx)
	case Shut, Passed, Open:
		return qs.gate(ctx, o)
	}
	number, err := proc.NetNSNumber(netns)
	if err != nil {
		return Report{}, fmt.Errorf("find network namespace: %w", err)
	}
	ns, err := os.Open(netns)
	if err != nil {
		return Report{}, fmt.Errorf("open network namespace: %w", err)
	}
	defer ns.Close()
	switch o.Op {
	case List, Carried, Ping, Break:
		return qs.apart(ctx, ns, number, to, o)
	case Hold, Shaped, Mute, Gate:
		return Report{}, qs.begin(netns, number, to, o)
	}
	d := qs.at(number)
	if d == nil {
		if o.Op == Count || o.Op == Discard || o.Op == Lose || o.Op == Unmute || o.Op == Deliver && o.N == 0 {
			return Report{}, nil
		}
		return Report{}, fmt.Errorf("%s messages to %v: nothing is held here", o.Op, o.To)
	}
	r, err := d.do(ctx, to, o)
	if err != nil {
		return r, err
	}
	return r, qs.leave(number, d)
}

// begin sets the fault of the packets to addresses, and opens a queue if there is none.
func (qs *Queues) begin(netns string, number uint64, to []netip.Addr, o Request) error {
	var g *gate
	if o.Op == Gate {
		g = qs.gateOf(o)
	}
	d, err := qs.setFault(netns, number, to, o, g)
	if err != nil {
		return err
	}
	return errors.Join(d.install(), qs.leave(number, d))
}

// gateOf finds a gate, or makes it.
func (qs *Queues) gateOf(o Request) *gate {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	g := qs.gates[o.Gate]
	if g == nil {
		g = newGate(o.N)
		qs.gates[o.Gate] = g
	}
	return g
}

// setFault opens a namespace's queue if it is not, and sets the fault in it: from then on nobody closes it.
func (qs *Queues) setFault(netns string, number uint64, to []netip.Addr, o Request, g *gate) (*packetQueue, error) {
	s := qs.lock(number)
	defer s.mu.Unlock()
	if s.queue == nil {
		ns, err := os.Open(netns)
		if err != nil {
			qs.drop(number, s)
			return nil, fmt.Errorf("open network namespace: %w", err)
		}
		if s.queue, err = open(ns); err != nil {
			s.queue = nil
			qs.drop(number, s)
			return nil, errors.Join(err, ns.Close())
		}
	}
	s.queue.change(to, func(a netip.Addr, l *destQueue) {
		switch o.Op {
		case Hold:
			l.holding = true
		case Gate:
			l.members = append(l.members, gateMember{g, o.Counts})
		case Shaped:
			l.setShape(o.Shape, time.Now())
		case Mute:
			for _, f := range o.Flows {
				if f.To == a.String() {
					l.mute(flow{f.FromPort, f.ToPort}, o.By)
				}
			}
		}
	})
	return s.queue, nil
}

// gate carries out an operation on a gate in all of its queues.
func (qs *Queues) gate(ctx context.Context, o Request) (Report, error) {
	qs.mu.Lock()
	g := qs.gates[o.Gate]
	qs.mu.Unlock()
	if g == nil {
		return Report{}, fmt.Errorf("%s: there is no gate %d", o.Op, o.Gate)
	}
	switch o.Op {
	case Shut:
		if err := g.await(ctx); err != nil {
			return Report{Messages: g.count()}, err
		}
	case Open:
		g.unlock()
		var all error
		for number, d := range qs.all() {
			some := d.memberAddrs(g)
			if len(some) == 0 {
				continue
			}
			all = errors.Join(all, d.set(some, func(_ netip.Addr, l *destQueue) {
				d.wake(l.release(time.Now()))
				l.leave(g)
			}), qs.leave(number, d))
		}
		qs.mu.Lock()
		delete(qs.gates, o.Gate)
		qs.mu.Unlock()
		return Report{Messages: g.count()}, all
	}
	return Report{Messages: g.count()}, nil
}

// memberAddrs lists the addresses whose queues have a part in the gate.
func (d *packetQueue) memberAddrs(g *gate) (out []netip.Addr) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for a, l := range d.dests {
		if slices.ContainsFunc(l.members, func(p gateMember) bool { return p.gate == g }) {
			out = append(out, a)
		}
	}
	return out
}

// all are the open queues, by their namespaces' numbers.
func (qs *Queues) all() map[uint64]*packetQueue {
	qs.mu.Lock()
	numbers := slices.Collect(maps.Keys(qs.slots))
	qs.mu.Unlock()
	out := map[uint64]*packetQueue{}
	for _, number := range numbers {
		if d := qs.at(number); d != nil {
			out[number] = d
		}
	}
	return out
}

// leave closes a queue without faults.
func (qs *Queues) leave(number uint64, d *packetQueue) error {
	s := qs.find(number)
	if s == nil {
		return nil
	}
	defer s.mu.Unlock()
	if s.queue != d || !d.idle() {
		return nil
	}
	defer qs.drop(number, s) // not before: the namespace has one queue at a time
	return d.close()
}

// Forget forgets the queue of a namespace whose node has ended, by the namespace's number,
// and returns what closes it. What waits there is lost, as is everything that such a node had not
// sent yet; a caller that awaits messages of it learns that the process is gone. As long as the
// queue is open it keeps the namespace.
func (qs *Queues) Forget(number uint64) (end func() error) {
	qs.mu.Lock()
	s := qs.slots[number]
	delete(qs.slots, number)
	qs.mu.Unlock()
	return func() error {
		if s == nil {
			return nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		d, closed := s.queue, s.dropped
		if s.dropped = true; closed || d == nil {
			return nil
		}
		close(d.gone)
		return errors.Join(d.set(d.all(), func(_ netip.Addr, l *destQueue) { l.discard() }), d.close())
	}
}

// Close releases everything.
func (qs *Queues) Close() error {
	qs.mu.Lock()
	for _, g := range qs.gates {
		g.unlock()
	}
	slots := maps.Clone(qs.slots)
	qs.mu.Unlock()
	var all error
	for number, s := range slots {
		s.mu.Lock()
		if d := s.queue; d != nil && !s.dropped {
			all = errors.Join(all, d.set(d.all(), func(_ netip.Addr, l *destQueue) { l.clear() }), d.close())
			qs.drop(number, s)
		}
		s.mu.Unlock()
	}
	return all
}

// all lists the addresses with faults.
func (d *packetQueue) all() []netip.Addr {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.dests))
}

// do carries out an operation that needs an open queue.
func (d *packetQueue) do(ctx context.Context, to []netip.Addr, o Request) (r Report, err error) {
	switch o.Op {
	case Await:
		r.Messages, err = d.await(ctx, to, o.N)
	case Count:
		d.mu.Lock()
		defer d.mu.Unlock()
		r.Messages = d.waiting(to)
		for _, l := range d.destQueues(to) {
			r.Lost, r.Down, r.Passed = r.Lost+l.lost, r.Down+l.down, r.Passed+l.passed
		}
	case Deliver:
		if o.N > 0 {
			return Report{Messages: o.N}, d.next(ctx, to, o.N)
		}
		if r.GivenUp, err = d.givenUp(to); err != nil {
			return r, err
		}
		err = d.set(to, func(_ netip.Addr, l *destQueue) { r.Messages += l.deliver(-1, true); l.holding = false })
	case Discard:
		err = d.set(to, func(_ netip.Addr, l *destQueue) { r.Messages += l.deliver(-1, false); l.holding = false })
	case Lose:
		err = d.set(to, func(_ netip.Addr, l *destQueue) { r.Messages += l.lose(); l.holding = false })
	case Unmute:
		err = d.set(to, func(_ netip.Addr, l *destQueue) { l.unmute(o.By) })
	case Probe:
		if len(to) != 1 {
			return r, errors.New("probe: want one address")
		}
		r.Fate, err = d.probe(ctx, netip.AddrPortFrom(to[0], uint16(o.Port)))
	default:
		err = fmt.Errorf("unknown operation %q", o.Op)
	}
	return r, err
}

// apart carries out an operation that needs no open queue.
func (qs *Queues) apart(ctx context.Context, ns *os.File, number uint64, to []netip.Addr, o Request) (r Report, err error) {
	if o.Op == Ping {
		if len(to) != 1 {
			return r, errors.New("ping: want one address")
		}
		r.Took, err = ping(ctx, ns, netip.AddrPortFrom(to[0], uint16(o.Port)))
		return r, err
	}
	if o.Op == Carried {
		r.Traffic, err = carried(ns, to)
		return r, err
	}
	found, err := connections(ns, to)
	if err != nil {
		return r, err
	}
	for _, c := range found {
		r.Flows = append(r.Flows, c.pair())
	}
	if o.Op == List || len(found) == 0 {
		return r, nil
	}
	r.Broken = len(found)
	if o.Manner == HalfOpen {
		// The kernel would reset the connection at the other end.
		if err := qs.begin(fmt.Sprintf("/proc/self/fd/%d", ns.Fd()), number, remotes(found), Request{Op: Mute, Flows: r.Flows, By: o.By}); err != nil {
			return r, err
		}
	}
	return r, destroy(ns, found)
}

func remotes(some []connection) (out []netip.Addr) {
	for _, c := range some {
		out = append(out, c.remote.Addr())
	}
	return out
}
