package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/workloads"
)

// act starts a client's acts, and waits for them unless they run in the background.
func (r *Runner) act(ctx context.Context, st Step) (string, error) {
	r.mu.Lock()
	c := r.clients[st.Client]
	if c.busy != nil {
		r.mu.Unlock()
		return "", fmt.Errorf("%s is still busy with %v", st.Client, c.busy.acts)
	}
	ch := &chain{acts: st.Acts, killed: make(chan struct{}), ended: make(chan string, 1)}
	c.busy, c.last = ch, ch
	if verb(st.Acts[0]) == history.Acquire {
		// What the runner knew of an earlier grant must not answer for this one.
		c.asked, c.granted, c.until, c.waiting, c.lost = 0, 0, 0, false, false
	}
	r.mu.Unlock()
	first, err := r.stage.Act(st.Client, st.Acts[0])
	if err != nil {
		return "", err
	}
	over := make(chan error, 1)
	r.following.Go(func() { over <- r.follow(ctx, st.Client, ch, first) })
	if st.Background {
		return "started", nil
	}
	if err := <-over; err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.meantFor(ch)
}

// follow hands the client act after act until one does not succeed.
func (r *Runner) follow(ctx context.Context, client string, ch *chain, answer <-chan workloads.Done) error {
	for i := 0; ; {
		t := time.NewTimer(2 * awaitWithin)
		var d workloads.Done
		select {
		case d = <-answer:
		case why := <-ch.ended:
			d = workloads.Done{Outcome: workloads.Failed, Error: client + ": " + why}
		case <-ch.killed:
			t.Stop()
			return nil
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
			return fmt.Errorf("%s did not answer", client)
		}
		t.Stop()
		if r.answered(client, ch, i, d) {
			return nil
		}
		i++
		var err error
		if answer, err = r.stage.Act(client, ch.acts[i]); err != nil {
			return err
		}
	}
}

// answered takes what came of a chain's act, and says whether it was the last.
func (r *Runner) answered(client string, ch *chain, i int, d workloads.Done) bool {
	last := i+1 == len(ch.acts) || d.Outcome != workloads.Granted && d.Outcome != workloads.Did
	r.mu.Lock()
	defer r.mu.Unlock()
	ch.outcome, ch.act = d, ch.acts[i]
	if last {
		ch.done, r.clients[client].busy = true, nil
	}
	if d.Outcome == workloads.Cannot {
		r.unfit = &Unfit{d.Error}
	}
	r.change()
	return last
}

// meantFor says whether acts that were waited for came to what a script must be
// able to rely on: a grant, an answer from the register. r.mu is held.
func (r *Runner) meantFor(ch *chain) (string, error) {
	d := ch.outcome
	text := fmt.Sprintf("%s %s", ch.act, d.Outcome)
	if d.Error != "" {
		text += ": " + d.Error
	}
	switch {
	case d.Outcome == workloads.Granted, d.Outcome == workloads.Did, d.Outcome == workloads.Refused:
		return string(d.Outcome), nil
	case ch.act == history.Release: // of what is lost, whatever the service says of it
		return text, nil
	}
	return "", errors.New(text)
}

// slack is how much longer than it was meant to a wait may last before the scenario's
// other times mean nothing any more.
func (s *Scenario) slack() time.Duration { return max(s.TTL/4, 250*time.Millisecond) }

// verb is an act without its limit. The parser has seen that it has one.
func verb(act string) string {
	name, _, _ := workloads.ParseAct(act)
	return name
}

// await waits for an event.
func (r *Runner) await(ctx context.Context, a *Await) (string, error) {
	limit, began := awaitWithin, r.stage.Now()
	switch {
	case a.Or > 0:
		limit = a.Or
	case a.Within > 0:
		limit = a.Within
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var err error
	if a.asksServers() {
		err = r.awaitServers(bounded, a)
	} else {
		err = r.awaitState(bounded, a)
	}
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case bounded.Err() != nil && a.Or > 0 && time.Duration(r.stage.Now()-began) > a.Or+r.scenario.slack():
		return "", fmt.Errorf("this machine is too busy: a wait of %v took %v", a.Or, time.Duration(r.stage.Now()-began).Round(time.Millisecond))
	case a.Within > 0:
		return "", a.unfit()
	case bounded.Err() != nil && a.Or > 0:
		return fmt.Sprintf("not within %v", a.Or), nil
	case bounded.Err() != nil:
		return "", fmt.Errorf("%s did not come within %v", a, limit)
	}
	return "", err
}

// awaitState waits for what the clients' events tell.
func (r *Runner) awaitState(ctx context.Context, a *Await) error {
	for {
		r.mu.Lock()
		at, err := r.when(a)
		changed, now := r.changed, r.stage.Now()
		r.mu.Unlock()
		if err != nil || at != 0 && at <= now {
			return err
		}
		var instant <-chan time.Time
		if at != 0 {
			t := time.NewTimer(time.Duration(at - now))
			defer t.Stop()
			instant = t.C
		}
		select {
		case <-changed:
		case <-instant:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// when is the time at which the awaited comes or came: 0 if nothing says yet, past
// if it is there. r.mu is held.
func (r *Runner) when(a *Await) (int64, error) {
	there := func(yes bool) (int64, error) {
		if yes {
			return 1, nil
		}
		return 0, nil
	}
	c := r.clients[a.Client]
	switch a.What {
	case "quiet":
		return r.latest + int64(a.For), nil
	case "granted":
		if c.granted == 0 && c.last != nil && c.last.done && a.Or == 0 {
			return 0, fmt.Errorf("%s was not granted: %s %s", a.Client, c.last.outcome.Outcome, c.last.outcome.Error)
		}
		// The grant is the client's when its acquire has ended, not before.
		return there(c.granted != 0 && c.last != nil && c.last.act != "")
	case "waiting":
		return there(c.waiting || c.granted != 0)
	case "done":
		return there(c.last != nil && c.last.done)
	case "lost":
		return there(c.lost)
	case "failed":
		return there(c.last != nil && c.last.done && slices.Contains([]workloads.Outcome{workloads.Failed, workloads.Open, workloads.NotHeld}, c.last.outcome.Outcome))
	case "refused":
		return there(c.last != nil && c.last.done && c.last.outcome.Outcome == workloads.Refused)
	case "after":
		from := map[string]int64{"asked": c.asked, "granted": c.granted, "lease over": c.until}[a.Since]
		if from == 0 {
			return 0, nil
		}
		return from + int64(a.For), nil
	case "lease":
		if c.granted != 0 && c.until == 0 && a.Or == 0 {
			return 0, fmt.Errorf("%s's grant promises no lease: await what follows from its end", a.Client)
		}
		return c.until, nil
	}
	return 0, fmt.Errorf("nobody knows how to await %q", a.What)
}

// asksServers says that no client can tell.
func (a *Await) asksServers() bool {
	return a.Servers != nil || a.What == "queued" || a.What == "fewer"
}

// lookEvery is how often a server is asked for what it tells nobody by itself.
const lookEvery = 5 * time.Millisecond

// awaitServers waits for what only the servers know.
func (r *Runner) awaitServers(ctx context.Context, a *Await) error {
	servers := r.resolve(a.Servers)
	if len(a.Servers) == 0 {
		servers = r.stage.Servers()
	}
	left := slices.Clone(servers)
	var last error
	for {
		rest := left[:0]
		for _, s := range left {
			yes, err := r.seen(ctx, a, s)
			if err != nil {
				last = err
			}
			if err == nil && yes && len(a.Servers) == 0 {
				return nil // what one server knows is so
			}
			if err != nil || !yes {
				rest = append(rest, s)
			}
		}
		left = rest
		if len(left) == 0 {
			return nil
		}
		t := time.NewTimer(lookEvery)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			if last != nil && a.Or == 0 {
				return fmt.Errorf("%w: %w", ctx.Err(), last)
			}
			return ctx.Err()
		}
	}
}

func (r *Runner) seen(ctx context.Context, a *Await, server string) (bool, error) {
	if a.What == "request" {
		n, err := r.stage.Unread(ctx, server)
		return n >= a.N, err
	}
	n, err := r.stage.Look(ctx, server)
	switch a.What {
	case "gone":
		return n == 0, err
	case "queued":
		return n >= a.N, err
	case "fewer":
		return n <= a.N, err
	}
	return n > 0, err
}
