package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/workloads"
)

// execute is one client's way through its program.
func (r *Runner) execute(ctx context.Context, client string) error {
	c := &clientRunner{Runner: r, client: client, count: map[string]int{}}
	for _, m := range r.scenario.Programs[client] {
		c.count[m.Do]++
		if err := c.move(ctx, m); err != nil {
			return err
		}
		c.behind(m)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over[client] = true
	c.change()
	return nil
}

// behind notes which points of a move never came: it was passed over, or the client was killed.
func (c *clientRunner) behind(m Move) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, where := range []Where{Before, During, After} {
		if at := c.at(where, m); c.points[at] == 0 {
			c.points[at], c.refusal[at] = passedOver, c.refusedWords()
		}
	}
	c.change()
}

// longestError is how much of a client's error is repeated, in bytes.
const longestError = 200

// refusedWords say what came of the client's last request, and why; "" if it was granted. c.mu is held.
func (c *clientRunner) refusedWords() string {
	said := string(c.refused)
	if why := c.clients[c.client].why; said != "" && why != "" {
		said += ": " + strings.ToValidUTF8(why[:min(len(why), longestError)], "")
	}
	return said
}

// clientRunner is where a client is in its program.
type clientRunner struct {
	*Runner
	client  string
	count   map[string]int    // moves begun or passed over, by word
	entries int               // how often it believes to hold the lock: more than once only a reentrant one
	shared  bool              // it shares the lock
	second  bool              // it is that of the second key
	former  bool              // it has released the lock since it last asked for it
	other   bool              // it believes to hold the other key, too
	expired bool              // and has seen that its lease is over: it changes nothing any more
	kills   int               // of its process that it knows of
	refused workloads.Outcome // of its last request, "" if that was granted
	planned time.Duration     // what its works and its waits that end at a time were to last since it was last answered to an acquire
}

func (c *clientRunner) at(where Where, m Move) Trigger {
	return Trigger{At: where, Client: c.client, Do: m.Do, Nth: c.count[m.Do]}
}

func (c *clientRunner) move(ctx context.Context, m Move) error {
	if _, err := c.died(ctx); err != nil { // while it waited or thought
		return err
	}
	if c.pointless(m) {
		return nil
	}
	if err := c.reach(ctx, c.at(Before, m)); err != nil {
		return err
	}
	if dead, err := c.died(ctx); dead || err != nil {
		return err
	}
	switch m.Do {
	case Work:
		return c.work(ctx, m)
	case Wait:
		if err := c.reach(ctx, c.at(During, m)); err != nil {
			return err
		}
		if err := c.wait(ctx, m); err != nil {
			return err
		}
		return c.reach(ctx, c.at(After, m))
	}
	return c.act(ctx, m)
}

// work lets the time of the client's work pass. Its messages are its library's own, as renewals are.
func (c *clientRunner) work(ctx context.Context, m Move) error {
	gates, err := c.gates(ctx, m)
	if err != nil {
		return err
	}
	shut := meet(ctx, gates)
	defer shut()
	if err := c.reach(ctx, c.at(During, m)); err != nil {
		return err
	}
	span := m.Span.Of(c.scenario.TTL)
	c.planned += span
	end := c.stage.Now() + int64(span)
	t := time.NewTimer(span)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	c.lasted(c.client, m.Do, end)
	shut()
	return c.reach(ctx, c.at(After, m))
}

// wait is a client's own waiting, for what must come if its words do not say otherwise.
func (c *clientRunner) wait(ctx context.Context, m Move) error {
	began := c.stage.Now()
	c.planned += m.Await.Or.Of(c.scenario.TTL)
	outcome, err := c.awaitFor(ctx, m.Await)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = c.outlived(m.Await, began)
	}
	if err != nil {
		outcome = err.Error()
	}
	if c.tell != nil {
		c.tell(Taken{Text: c.client + ": " + m.String(), At: began, Took: time.Duration(c.stage.Now() - began), Outcome: outcome})
	}
	if err != nil {
		return &DiscardedError{Move: c.client + ": " + m.String(), Why: err.Error(), Err: err, late: errors.Is(err, ErrBusy)}
	}
	return nil
}

// pointless says that a move makes no sense any more.
func (c *clientRunner) pointless(m Move) bool {
	held := c.entries > 0
	switch m.Do {
	case history.Acquire:
		if m.Other {
			return !c.holds() || c.other
		}
		if c.other && !held && m.Second != c.second {
			return true // it has that one
		}
		return c.holds() && (!c.Reentrant || m.Shared || m.Second != c.second)
	case Wait:
		return false
	case history.Release:
		if m.Other {
			return !c.other
		}
		return held == m.Again || m.Again && !c.former
	case Work:
		return !held || c.expired
	case history.Write, history.Add, workloads.Downgrade:
		return !c.holds() || c.shared || c.Several
	}
	return !c.holds()
}

// holds says that the client holds the lock, as far as it knows.
func (c *clientRunner) holds() bool { return c.entries > 0 && !c.expired && !c.lostIt() }

// lostIt says that the client's library has reported the loss of the grant.
func (c *clientRunner) lostIt() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clients[c.client].lost && !c.IgnoreLost && !c.scenario.IgnoreLost
}

func (c *clientRunner) act(ctx context.Context, m Move) error {
	act := workloads.Act{Do: m.Do, Mode: m.mode(), Second: m.Second, Span: m.Span.Of(c.scenario.TTL), Cancelled: m.Cancelled}
	enters := m.Do == history.Acquire && c.holds() && !m.Other
	if enters {
		act.Mode, act.Second, act.Cancelled = history.Nested, false, false // it enters what it holds
	}
	ch, gates, err := c.begin(ctx, m, enters || m.Other)
	if err != nil {
		return err
	}
	began := c.stage.Now()
	over := make(chan error, 1)
	first, err := c.stage.Act(c.client, act.String())
	if err != nil {
		if dead, derr := c.died(ctx); dead {
			return derr
		}
		return err
	}
	c.following.Go(func() { over <- c.follow(ctx, ch, first, 2*awaitWithin+m.Span.Of(c.scenario.TTL)) })
	if err := c.reach(ctx, c.at(During, m)); err != nil {
		return err
	}
	shut := meet(ctx, gates)
	err = <-over
	shut()
	if err != nil {
		return err
	}
	c.moveEnded(c.client)
	c.mu.Lock()
	d, dead, unfit := ch.outcome, !ch.done, c.unfit
	c.mu.Unlock()
	c.report(m, began, d, dead)
	if unfit != nil {
		return &DiscardedError{Move: c.client + ": " + m.String(), Act: m.words(), Why: unfit.Error(), Err: unfit}
	}
	if m.Do != history.Acquire && (m.Span == Span{}) && !dead && !c.disturbed() {
		c.lasted(c.client, m.Do, began)
	}
	if dead {
		c.drop()
		_, err := c.died(ctx)
		return err
	}
	switch {
	case m.Other:
		c.other = m.Do == history.Acquire && d.Outcome == workloads.Granted
	case enters:
		if d.Outcome == workloads.Granted {
			c.entries++
		}
	case m.Do == history.Acquire:
		c.entries, c.shared, c.second, c.expired, c.former = 0, m.Shared, m.Second, false, false
		c.planned, c.refused = 0, d.Outcome
		if d.Outcome == workloads.Granted {
			c.entries, c.refused = 1, ""
			c.granted(c.client)
		}
	case m.Do == workloads.Downgrade && d.Outcome == workloads.Granted:
		c.shared = true
	case m.Do == workloads.Downgrade && d.Outcome != workloads.Failed:
		c.entries = 0 // nobody knows what it has
	case m.Again:
	case m.Do == history.Release:
		c.entries--
		c.former = c.entries == 0
		c.expired = c.expired || c.entries > 0 && d.Outcome == workloads.NotHeld
	case d.Outcome == workloads.Expired, d.Outcome == workloads.NotHeld:
		c.expired = true
	}
	return c.reach(ctx, c.at(After, m))
}

// drop is that the client knows of no grant any more: it was killed.
func (c *clientRunner) drop() { c.entries, c.expired, c.former, c.other = 0, false, false, false }

// pending is an act that is under way, and what came of it.
type pending struct {
	move    Move
	done    bool
	outcome workloads.Done
	killed  chan struct{} // closed when its client was killed
	ended   chan string   // why nothing more comes of its client, which nobody has killed
}

// follow waits for what comes of an act.
func (c *clientRunner) follow(ctx context.Context, ch *pending, answer <-chan workloads.Done, within time.Duration) error {
	t := time.NewTimer(within)
	defer t.Stop()
	var d workloads.Done
	select {
	case d = <-answer:
	case why := <-ch.ended:
		d = workloads.Done{Outcome: workloads.Failed, Error: c.client + ": " + why}
	case <-ch.killed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return fmt.Errorf("%s did not answer", c.client)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ch.outcome, ch.done, c.clients[c.client].busy = d, true, nil
	if d.Outcome == workloads.Cannot {
		c.unfit = &Unfit{d.Error}
	}
	c.change()
	return nil
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

// begin prepares an act. An acquire beside what the client holds changes nothing of that.
func (c *clientRunner) begin(ctx context.Context, m Move, beside bool) (*pending, []func(context.Context), error) {
	gates, err := c.gates(ctx, m)
	if err != nil {
		return nil, nil, err
	}
	ch := &pending{move: m, killed: make(chan struct{}), ended: make(chan string, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.clients[c.client]
	s.busy, s.last = ch, ch
	if m.Do == history.Acquire && !beside {
		s.asked, s.granted, s.until, s.waiting, s.lost, s.refusals = 0, 0, 0, false, false, nil
	}
	return ch, gates, nil
}

// died says that the client was killed since it was last asked, once it runs again: it
// knows of no grant any more, and goes on with its program.
func (c *clientRunner) died(ctx context.Context) (bool, error) {
	for waited := false; ; waited = true {
		c.mu.Lock()
		dead, changed, kills := c.isDead(c.client), c.changed, c.clients[c.client].kills
		c.mu.Unlock()
		if !dead {
			died := waited || kills != c.kills
			if died {
				c.drop()
				c.kills = kills
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

// isDead says that a kill of the client is still on. r.mu is held.
func (r *Runner) isDead(client string) bool {
	return slices.ContainsFunc(r.faults, func(st *faultState) bool {
		return st.Fault.Word == killName && slices.Contains(st.Fault.Nodes, client) && st.on
	})
}
