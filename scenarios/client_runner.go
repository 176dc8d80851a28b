package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/workloads"
)

// execute is one client's way through its program.
func (p *ProgramRunner) execute(ctx context.Context, client string) error {
	c := &clientRunner{ProgramRunner: p, client: client, count: map[string]int{}}
	for _, m := range p.scenario.Programs[client] {
		c.count[m.Do]++
		if err := c.move(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// clientRunner is where a client is in its program.
type clientRunner struct {
	*ProgramRunner
	client string
	count  map[string]int // moves begun or passed over, by word
	held   bool           // it believes to hold the lock
	over   bool           // and has seen that its lease is over: it changes nothing any more
	kills  int            // of its process that it knows of
}

func (c *clientRunner) at(where Where, m Move) Trigger {
	return Trigger{At: where, Client: c.client, Do: m.Do, Nth: c.count[m.Do]}
}

func (c *clientRunner) move(ctx context.Context, m Move) error {
	if c.pointless(m) {
		return nil
	}
	if err := c.reach(ctx, c.at(Before, m)); err != nil {
		return err
	}
	if dead, err := c.died(ctx); dead || err != nil {
		return err
	}
	if m.Do != Work && m.Do != Wait {
		return c.act(ctx, m)
	}
	if err := c.reach(ctx, c.at(During, m)); err != nil {
		return err
	}
	if m.Do == Work {
		span := m.Span.Of(c.scenario.TTL)
		end := c.stage.Now() + int64(span)
		t := time.NewTimer(span)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		c.lasted(c.client, m.Do, end)
	} else if err := c.wait(ctx, m); err != nil {
		return err
	}
	return c.reach(ctx, c.at(After, m))
}

// wait is a client's own waiting; what does not come does not keep it for ever.
func (c *clientRunner) wait(ctx context.Context, m Move) error {
	limit := 3 * c.scenario.TTL
	if m.Await.Or > 0 {
		limit = m.Await.Or
	}
	h, err := c.hear(ctx, m.Await)
	if err != nil {
		return err
	}
	end := c.stage.Now() + int64(limit)
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = c.awaitSince(bounded, m.Await, nil)
	if ctx.Err() != nil || err == nil || m.Await.Or == 0 {
		return ctx.Err()
	}
	if _, err := c.settle(ctx, m.Await, h); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &DiscardedError{Why: err.Error(), Err: err, late: errors.Is(err, ErrBusy)}
	}
	c.lasted(c.client, m.Do, end)
	return nil
}

// pointless says that a move makes no sense any more.
func (c *clientRunner) pointless(m Move) bool {
	switch m.Do {
	case history.Acquire:
		return c.held && !c.over && !c.lostIt()
	case Wait:
		return false
	case history.Release:
		return !c.held
	case Work:
		return !c.held || c.over
	}
	return !c.held || c.over || c.lostIt()
}

// lostIt says that the client's library has reported the loss of the grant.
func (c *clientRunner) lostIt() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clients[c.client].lost && !c.IgnoreLost
}

func (c *clientRunner) act(ctx context.Context, m Move) error {
	text := m.Do
	if (m.Span != Span{}) {
		text += " within " + m.Span.Of(c.scenario.TTL).String()
	}
	ch, gates, err := c.begin(ctx, m, text)
	if err != nil {
		return err
	}
	began := c.stage.Now()
	over := make(chan error, 1)
	first, err := c.stage.Act(c.client, text)
	if err != nil {
		if dead, derr := c.died(ctx); dead {
			return derr
		}
		return err
	}
	c.following.Go(func() { over <- c.follow(ctx, Step{Client: c.client}, ch, first) })
	if err := c.reach(ctx, c.at(During, m)); err != nil {
		return err
	}
	// An act that is over without so many messages leaves a gate that never shuts.
	during, done := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	for _, g := range gates {
		waiting.Go(func() { g(during) })
	}
	err = <-over
	done()
	waiting.Wait()
	if err != nil {
		return err
	}
	c.mu.Lock()
	d, dead := ch.outcome, !ch.done
	c.mu.Unlock()
	c.report(m, began, d, dead)
	if m.Do != history.Acquire && (m.Span == Span{}) && !dead && !c.disturbed() {
		c.lasted(c.client, m.Do, began)
	}
	if dead {
		c.held, c.over = false, false
		_, err := c.died(ctx)
		return err
	}
	switch {
	case m.Do == history.Acquire:
		c.held, c.over = d.Outcome == workloads.Granted, false
	case m.Do == history.Release:
		c.held = false
	case d.Outcome == workloads.Expired, d.Outcome == workloads.NotHeld:
		c.over = true
	}
	return c.reach(ctx, c.at(After, m))
}

func (c *clientRunner) report(m Move, began int64, d workloads.Done, dead bool) {
	if c.tell == nil {
		return
	}
	text := string(d.Outcome)
	if dead {
		text = "killed"
	} else if d.Error != "" {
		text += ": " + d.Error
	}
	c.tell(Taken{Text: c.client + ": " + m.String(), At: began, Took: time.Duration(c.stage.Now() - began), Outcome: text})
}

// begin prepares an act: what its messages are to meet is in place before it sends any.
func (c *clientRunner) begin(ctx context.Context, m Move, text string) (*chain, []func(context.Context), error) {
	var gates []func(context.Context)
	for _, where := range []Where{Sent, Answered} {
		a := c.at(where, m)
		for _, st := range c.triggered {
			if a.N = st.When.N; st.When != a {
				continue
			}
			gate, err := c.gate(ctx, st)
			if err != nil {
				over, cancel := context.WithCancel(ctx)
				cancel()
				for _, g := range gates {
					g(over) // what is shut is opened
				}
				return nil, nil, err
			}
			gates = append(gates, gate)
		}
	}
	ch := &chain{acts: []string{text}, killed: make(chan struct{}), ended: make(chan string, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.clients[c.client]
	s.busy, s.last = ch, ch
	if m.Do == history.Acquire {
		s.asked, s.granted, s.until, s.waiting, s.lost, s.refusals = 0, 0, 0, false, false, nil
	}
	return ch, gates, nil
}

// gate lets so many messages of an act pass, and no more before the fault has taken effect. What
// it returns waits for that, once the act has begun.
func (c *clientRunner) gate(ctx context.Context, st *faultState) (func(context.Context), error) {
	servers := c.stage.Servers()
	if len(servers) == 0 {
		return nil, &DiscardedError{*st.TriggeredFault, "there are no servers whose messages could be counted", nil, false}
	}
	g, err := c.stage.Gate(ctx, GateRequest{Client: c.client, To: servers, Answered: st.When.At == Answered, N: st.When.N})
	if err != nil {
		return nil, &DiscardedError{*st.TriggeredFault, err.Error(), err, false}
	}
	return func(during context.Context) {
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openWithin)
			defer cancel()
			if err := g.Open(ctx); err != nil && st.outcome == nil {
				st.outcome = fmt.Errorf("let go what waits since %s: %w", st.When, err)
			}
		}()
		select {
		case <-g.Shut():
			c.injectTriggered(ctx, st, c.stage.Now())
		case <-during.Done():
		}
	}, nil
}

// died says that the client was killed since it was last asked, once it runs again: it
// knows of no grant any more, and goes on with its program.
func (c *clientRunner) died(ctx context.Context) (bool, error) {
	for waited := false; ; waited = true {
		c.mu.Lock()
		dead, changed, kills := c.isDead(), c.changed, c.clients[c.client].kills
		c.mu.Unlock()
		if !dead {
			died := waited || kills != c.kills
			if died {
				c.held, c.over, c.kills = false, false, kills
			}
			return died, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return true, ctx.Err()
		}
	}
}

// isDead says that a kill of the client is still on. c.mu is held.
func (c *clientRunner) isDead() bool {
	for _, st := range c.triggered {
		if st.Fault.Word == killWord.name && slices.Contains(st.Fault.Nodes, c.client) && st.on {
			return true
		}
	}
	return false
}
