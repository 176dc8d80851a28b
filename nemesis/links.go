package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis/packetfault"
)

// order does something to the packets of one link at its sender.
func (nw *network) order(ctx context.Context, x directedLink, o packetfault.Request) (packetfault.Report, error) {
	from, to, err := nw.ends(x)
	if err != nil {
		return packetfault.Report{}, err
	}
	o.To, o.Port = []string{to.Addr}, to.Port
	if o.Port == 0 {
		o.Port = 9 // discard: a refusal is an answer too
	}
	r, err := nw.env.packets(ctx, from.NetNS, o)
	if err != nil && nw.died(err, from) {
		return packetfault.Report{}, errDown
	}
	if err != nil {
		return packetfault.Report{}, fmt.Errorf("%s to %s: %w", x.from, x.to, err)
	}
	return r, nil
}

// ends finds a link's nodes; the error is errDown if the sender has no network.
func (nw *network) ends(x directedLink) (from, to compose.Node, err error) {
	from, ok1 := nw.env.node(x.from)
	to, ok2 := nw.env.node(x.to)
	switch {
	case !ok1 || !ok2:
		return from, to, fmt.Errorf("%s or %s is gone", x.from, x.to)
	case down(from):
		return from, to, errDown
	}
	return from, to, nil
}

// orderAll does something to many links, at each sender in one go and at all senders at the
// same time.
func (nw *network) orderAll(ctx context.Context, some []directedLink, o packetfault.Request) (sum packetfault.Report, err error) {
	to := map[string][]string{} // by sender
	var senders []compose.Node
	for _, x := range some {
		from, node, err := nw.ends(x)
		if errors.Is(err, errDown) {
			continue // its network went with it: renew does it later
		}
		if err != nil {
			return sum, err
		}
		if to[x.from] == nil {
			senders = append(senders, from)
		}
		to[x.from] = append(to[x.from], node.Addr)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, from := range senders {
		all.Go(func() {
			o := o
			o.To = to[from.Name]
			r, oerr := nw.env.packets(ctx, from.NetNS, o)
			mu.Lock()
			defer mu.Unlock()
			if oerr != nil && !nw.died(oerr, from) {
				err = errors.Join(err, fmt.Errorf("packets of %s: %w", from.Name, oerr))
			}
			sum.Messages, sum.GivenUp = sum.Messages+r.Messages, sum.GivenUp+r.GivenUp
		})
	}
	all.Wait()
	return sum, err
}

// seen probes each link with packets, one after the other, until one's fate is as it should be:
// is returns nil. Links whose sender is down are left out; that all are is an error.
func (nw *network) seen(ctx context.Context, some []directedLink, is func(packetfault.Fate) error) error {
	type outcome struct {
		shown bool
		err   error
	}
	outcomes := make(chan outcome, len(some))
	for _, x := range some {
		go func() {
			for {
				r, err := nw.order(ctx, x, packetfault.Request{Op: packetfault.Probe})
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

// packetCounts says what became of packets.
type packetCounts struct{ lost, down, passed int }

// all is the number of packets.
func (c packetCounts) all() int { return c.lost + c.down + c.passed }

// counts is what became of the packets on these links since the first of the shapes that are on them.
func (nw *network) counts(ctx context.Context, some []directedLink) (c packetCounts) {
	for _, x := range some {
		if r, err := nw.order(ctx, x, packetfault.Request{Op: packetfault.Count}); err == nil {
			c.lost, c.down, c.passed = c.lost+r.Lost, c.down+r.Down, c.passed+r.Passed
		}
	}
	return c
}

// lookEvery is how often several nodes are polled for what only one of them may know.
const lookEvery = 2 * time.Millisecond

// await returns when n messages wait on these links together.
func (nw *network) await(ctx context.Context, some []directedLink, n int) error {
	for {
		have := 0
		for _, x := range some {
			o := packetfault.Request{Op: packetfault.Count}
			if len(some) == 1 {
				o = packetfault.Request{Op: packetfault.Await, N: n} // it answers only when they wait
			}
			r, err := nw.order(ctx, x, o)
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

// next lets the next n messages on these links go.
func (nw *network) next(ctx context.Context, some []directedLink, n int) error {
	if len(some) == 1 {
		_, err := nw.order(ctx, some[0], packetfault.Request{Op: packetfault.Deliver, N: n})
		return err
	}
	for range n {
		if err := nw.await(ctx, some, 1); err != nil {
			return err
		}
		for _, x := range some {
			r, err := nw.order(ctx, x, packetfault.Request{Op: packetfault.Count})
			if err != nil || r.Messages == 0 {
				continue
			}
			if _, err := nw.order(ctx, x, packetfault.Request{Op: packetfault.Deliver, N: 1}); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// errDown says that a cut cannot be probed because one of its ends is down.
var errDown = errors.New("partition: an end of every cut is down")

// probe returns nil once it has observed that a packet along the cut was dropped.
func (nw *network) probe(ctx context.Context, x directedLink) error {
	from, ok1 := nw.env.node(x.from)
	to, ok2 := nw.env.node(x.to)
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
	// Another fault that changes the same node's filter resets its counters: one more
	// packet shows whether this cut is still there.
	for {
		dropped, err := nw.tryAlong(ctx, from, to, port.HostPort())
		switch {
		case nw.died(err, from, to):
			return errDown
		case err != nil:
			return fmt.Errorf("probe the link from %s to %s: %w", x.from, x.to, err)
		case dropped:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("partition: no packet from %s to %s was dropped", x.from, x.to)
		}
	}
}

// Of a probe: how often the filter is looked at, and how long an answer on one machine may take that is on its way. A client
// whose move has to wait for the cut loses that much of its lease.
const (
	lookAtFilter = 5 * time.Millisecond
	answerOnWay  = 20 * time.Millisecond
)

var errStillReached = errors.New("it is still reached")

// tryAlong tries to connect, and says whether the filter at the other end has dropped a packet and no answer came. It does
// not wait until the attempt is given up: that takes longer than some leases.
func (nw *network) tryAlong(ctx context.Context, from, to compose.Node, addr string) (dropped bool, err error) {
	trying, stop := context.WithCancel(ctx)
	answer := make(chan error, 1)
	go func() {
		r, err := nw.env.Injector.Do(trying, Op{Name: OpReach, NetNS: from.NetNS, Addr: addr})
		if err == nil && r.Yes {
			err = errStillReached
		}
		answer <- err
	}()
	over := false
	defer func() {
		if stop(); !over {
			<-answer //nolint:errcheck // nobody waits for it any more
		}
	}()
	look := time.NewTicker(lookAtFilter)
	defer look.Stop()
	for {
		select {
		case err := <-answer:
			if over = true; err != nil {
				return false, err
			}
		case <-look.C:
		}
		seen, err := nw.env.Injector.Do(ctx, Op{Name: OpDropped, NetNS: to.NetNS, Scope: nw.env.Scope})
		switch {
		case err != nil, over:
			return err == nil && seen.Dropped[from.Addr] > 0, err
		case seen.Dropped[from.Addr] == 0:
			continue
		}
		select {
		case err := <-answer:
			over = true
			return err == nil, err
		case <-time.After(answerOnWay):
			return true, nil
		}
	}
}

// linkSteps are the steps of a scenario that do word, and what follows the nodes, to exactly these
// links. A step names senders that have the same receivers together.
func linkSteps(word string, some []directedLink, more string) []string {
	between := " to "
	if !slices.ContainsFunc(some, func(x directedLink) bool { return !slices.Contains(some, directedLink{x.to, x.from}) }) {
		between = " from " // both ways
	}
	var senders []string
	receivers := map[string][]string{}
	for _, x := range some {
		if between == " from " && slices.Contains(receivers[x.to], x.from) {
			continue // the way back
		}
		senders, receivers[x.from] = both(senders, []string{x.from}), append(receivers[x.from], x.to)
	}
	var groups []string
	members := map[string][]string{}
	for _, s := range senders {
		to := listed(receivers[s])
		groups, members[to] = both(groups, []string{to}), append(members[to], s)
	}
	var out []string
	for _, to := range groups {
		out = append(out, strings.TrimSpace(word+": "+listed(members[to])+between+to+" "+more))
	}
	return out
}

// linksBetween are the links from some nodes to others, and with both back as well.
func linksBetween(from, to []compose.Node, both bool) ([]directedLink, error) {
	var out []directedLink
	for _, a := range from {
		for _, b := range to {
			if a.Name == b.Name {
				return nil, fmt.Errorf("%s sends nothing to itself over the network", a.Name)
			}
			out = append(out, directedLink{a.Name, b.Name})
			if both {
				out = append(out, directedLink{b.Name, a.Name})
			}
		}
	}
	return out, nil
}

var errNotIsolated = errors.New("this machine cannot hold packets: the nodes share one network (picklock doctor says why)")

// wireable says what this machine lacks to hold, slow or lose packets; nil if nothing.
func wireable(e *Env) error {
	if !e.Isolated {
		return errNotIsolated
	}
	ctx, cancel := context.WithTimeout(context.Background(), verifyWithin)
	defer cancel()
	if _, err := e.packets(ctx, "", packetfault.Request{Op: packetfault.Try}); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
