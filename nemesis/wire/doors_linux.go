package wire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/picklock/picklock/internal/proc"
)

// Doors are the doors at which something is done.
type Doors struct {
	mu    sync.Mutex
	open  map[uint64]*door // by the namespace's number
	gates map[uint64]*gate // by their numbers
}

// NewDoors are none yet.
func NewDoors() *Doors { return &Doors{open: map[uint64]*door{}, gates: map[uint64]*gate{}} }

// Order does one thing at the door of the network namespace at path.
func (ds *Doors) Order(ctx context.Context, netns string, o Order) (Report, error) {
	to, err := parseAddrs(o.To)
	if err != nil {
		return Report{}, err
	}
	switch o.Do {
	case Try:
		return Report{}, ds.try(ctx)
	case Shut, Passed, Open:
		return ds.gate(ctx, o)
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
	switch o.Do {
	case List, Ping, Break:
		return ds.apart(ctx, ns, number, to, o)
	case Hold, Shaped, Mute, Gate:
		return Report{}, ds.begin(netns, number, to, o)
	}
	ds.mu.Lock()
	d := ds.open[number]
	ds.mu.Unlock()
	if d == nil {
		if o.Do == Count || o.Do == Discard || o.Do == Unmute || o.Do == Deliver && o.N == 0 {
			return Report{}, nil
		}
		return Report{}, fmt.Errorf("%s messages to %v: nothing is held here", o.Do, o.To)
	}
	r, err := d.do(ctx, to, o)
	if err != nil {
		return r, err
	}
	return r, ds.leave(number, d)
}

// begin sets ways to addresses, for which it may have to open the door.
func (ds *Doors) begin(netns string, number uint64, to []netip.Addr, o Order) error {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d := ds.open[number]
	if d == nil {
		ns, err := os.Open(netns)
		if err != nil {
			return fmt.Errorf("open network namespace: %w", err)
		}
		if d, err = open(ns); err != nil {
			return errors.Join(err, ns.Close())
		}
		ds.open[number] = d
	}
	var g *gate
	if o.Do == Gate {
		if g = ds.gates[o.Gate]; g == nil {
			g = newGate(o.N)
			ds.gates[o.Gate] = g
		}
	}
	err := d.set(to, func(a netip.Addr, l *lane) {
		switch o.Do {
		case Hold:
			l.holding = true
		case Gate:
			l.posts = append(l.posts, post{g, o.Counts})
		case Shaped:
			l.setShape(o.Shape, time.Now())
		case Mute:
			for _, f := range o.Flows {
				if f.To == a.String() {
					l.mute(flow{f.FromPort, f.ToPort})
				}
			}
		}
	})
	if d.idle() {
		delete(ds.open, number)
		return errors.Join(err, d.close())
	}
	return err
}

// gate does what concerns a gate at all of its doors.
func (ds *Doors) gate(ctx context.Context, o Order) (Report, error) {
	ds.mu.Lock()
	g := ds.gates[o.Gate]
	doors := maps.Clone(ds.open)
	ds.mu.Unlock()
	if g == nil {
		return Report{}, fmt.Errorf("%s: there is no gate %d", o.Do, o.Gate)
	}
	switch o.Do {
	case Shut:
		if err := g.await(ctx); err != nil {
			return Report{Messages: g.count()}, err
		}
	case Open:
		g.unlock()
		var all error
		for _, d := range doors {
			all = errors.Join(all, d.set(d.posted(g), func(_ netip.Addr, l *lane) {
				d.wake(l.release(time.Now()))
				l.leave(g)
			}))
		}
		for number, d := range doors {
			all = errors.Join(all, ds.leave(number, d))
		}
		ds.mu.Lock()
		delete(ds.gates, o.Gate)
		ds.mu.Unlock()
		return Report{Messages: g.count()}, all
	}
	return Report{Messages: g.count()}, nil
}

// posted lists the addresses whose ways have a part in the gate.
func (d *door) posted(g *gate) (out []netip.Addr) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for a, l := range d.ways {
		if slices.ContainsFunc(l.posts, func(p post) bool { return p.gate == g }) {
			out = append(out, a)
		}
	}
	return out
}

// leave closes a door at which nothing is done any more.
func (ds *Doors) leave(number uint64, d *door) error {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if !d.idle() || ds.open[number] != d {
		return nil
	}
	delete(ds.open, number)
	return d.close()
}

// Forget forgets the door of a namespace whose node has ended, by the namespace's number,
// and returns what closes it. What waits there is lost, as all is that such a node had not
// sent yet; whoever awaits messages of it learns that the process is gone. As long as the
// door is open it keeps the namespace.
func (ds *Doors) Forget(number uint64) (end func() error) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d := ds.open[number]
	delete(ds.open, number)
	return func() error {
		if d == nil {
			return nil
		}
		close(d.gone)
		return errors.Join(d.set(d.all(), func(_ netip.Addr, l *lane) { l.discard() }), d.close())
	}
}

// Close lets everything go.
func (ds *Doors) Close() error {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	var all error
	for _, g := range ds.gates {
		g.unlock()
	}
	for number, d := range ds.open {
		all = errors.Join(all, d.set(d.all(), func(_ netip.Addr, l *lane) { l.clear() }), d.close())
		delete(ds.open, number)
	}
	return all
}

// all lists the addresses to which something is done.
func (d *door) all() []netip.Addr {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.ways))
}

// do does what needs an open door.
func (d *door) do(ctx context.Context, to []netip.Addr, o Order) (r Report, err error) {
	switch o.Do {
	case Await:
		r.Messages, err = d.await(ctx, to, o.N)
	case Count:
		d.mu.Lock()
		defer d.mu.Unlock()
		r.Messages = d.waiting(to)
		for _, l := range d.lanes(to) {
			r.Lost, r.Passed = r.Lost+l.lost, r.Passed+l.passed
		}
	case Deliver:
		if o.N > 0 {
			return Report{Messages: o.N}, d.next(ctx, to, o.N)
		}
		if r.GivenUp, err = d.givenUp(to); err != nil {
			return r, err
		}
		err = d.set(to, func(_ netip.Addr, l *lane) { r.Messages += l.deliver(-1, true); l.holding = false })
	case Discard:
		err = d.set(to, func(_ netip.Addr, l *lane) { r.Messages += l.deliver(-1, false); l.holding = false })
	case Unmute:
		err = d.set(to, func(_ netip.Addr, l *lane) { clear(l.muted) })
	case Probe:
		if len(to) != 1 {
			return r, errors.New("probe: want one address")
		}
		r.Fate, err = d.probe(ctx, netip.AddrPortFrom(to[0], uint16(o.Port)))
	default:
		err = fmt.Errorf("unknown order %q", o.Do)
	}
	return r, err
}

// apart does what needs no open door.
func (ds *Doors) apart(ctx context.Context, ns *os.File, number uint64, to []netip.Addr, o Order) (r Report, err error) {
	if o.Do == Ping {
		if len(to) != 1 {
			return r, errors.New("ping: want one address")
		}
		r.Took, err = ping(ctx, ns, netip.AddrPortFrom(to[0], uint16(o.Port)))
		return r, err
	}
	found, err := connections(ns, to)
	if err != nil {
		return r, err
	}
	for _, c := range found {
		r.Flows = append(r.Flows, c.pair())
	}
	if o.Do == List || len(found) == 0 {
		return r, nil
	}
	r.Broken = len(found)
	if o.Manner == HalfOpen {
		// The kernel would tell the other end.
		if err := ds.begin(fmt.Sprintf("/proc/self/fd/%d", ns.Fd()), number, remotes(found), Order{Do: Mute, Flows: r.Flows}); err != nil {
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
