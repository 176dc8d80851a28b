package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/suggest"
	"github.com/picklock/picklock/workloads"
)

// actWord is a step that a client takes: "A: acquire, read", "A: write &". What it begins
// with is the client's name.
var actWord = stepWord{name: "act", read: (*parser).act, after: (*order).act, take: (*Runner).act}

func (p *parser) act(n *yaml.Node, st *Step, rest string) error {
	rest, st.Background = strings.CutSuffix(rest, "&")
	for _, a := range strings.Split(rest, ",") {
		a = strings.TrimSpace(a)
		word, _, err := workloads.ParseAct(a)
		if errors.Is(err, workloads.ErrNoAct) {
			err = fmt.Errorf("unknown step %q%s (a client can %s)", a, suggest.Word(a, workloads.Acts()), strings.Join(workloads.Acts(), ", "))
		}
		if err != nil {
			return p.errorf(n, "%v", err)
		}
		if i := len(st.Acts); i > 0 && (word == history.Acquire || st.Acts[i-1] == history.Release) {
			return p.errorf(n, "%s: %s cannot follow %s in one step: give it a line of its own", st.Client, a, st.Acts[i-1])
		}
		st.Acts = append(st.Acts, a)
	}
	return nil
}

func (o *order) act(n *yaml.Node, st *Step) error {
	c := o.clients[st.Client]
	switch {
	case c.dead:
		return o.p.errorf(n, "%s was killed: start: %s first", st.Client, st.Client)
	case c.busy != 0:
		return o.p.errorf(n, "%s may still be busy with line %d: await: %s done first", st.Client, c.busy, st.Client)
	case o.broken["pause "+st.Client] != 0 && !st.Background:
		return o.p.errorf(n, "%s is paused since line %d and would never answer: resume it first, or start the step without waiting (&)", st.Client, o.broken["pause "+st.Client])
	}
	for _, text := range st.Acts {
		a := verb(text)
		switch {
		case a == history.Acquire:
			c.asked, c.release = st.Line, 0
		case c.asked == 0:
			return o.p.errorf(n, "%s: %s before it was granted the lock: acquire first", st.Client, a)
		case c.release != 0:
			return o.p.errorf(n, "%s: %s after its release in line %d: acquire first", st.Client, a, c.release)
		case a == history.Release:
			c.release = st.Line
		}
	}
	if st.Background {
		c.busy, c.last = st.Line, verb(st.Acts[len(st.Acts)-1])
	}
	return nil
}

// chain is the acts of one step, done one after the other.
type chain struct {
	acts    []string
	done    bool
	outcome workloads.Done
	act     string        // that outcome is of
	killed  chan struct{} // closed when its client was killed
	ended   chan string   // why nothing more comes of its client, which nobody has killed
}

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
		c.asked, c.granted, c.until, c.waiting, c.lost, c.refusals = 0, 0, 0, false, false, nil
	}
	r.mu.Unlock()
	if err := r.arm(ctx, st, 0); err != nil {
		return "", err
	}
	first, err := r.stage.Act(st.Client, st.Acts[0])
	if err != nil {
		return "", err
	}
	over := make(chan error, 1)
	r.following.Go(func() {
		err := r.follow(ctx, st, ch, first)
		if err != nil && st.Background && ctx.Err() == nil {
			r.mu.Lock()
			if r.failed == nil {
				r.failed = &StepError{r.scenario.File, st, err}
			}
			r.change()
			r.mu.Unlock()
		}
		over <- err
	})
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
func (r *Runner) follow(ctx context.Context, st Step, ch *chain, answer <-chan workloads.Done) error {
	client := st.Client
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
		if err := r.actOver(ctx, st, i); err != nil {
			return err
		}
		if r.answered(client, ch, i, d) {
			return nil
		}
		i++
		err := r.arm(ctx, st, i)
		if err != nil {
			return err
		}
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

// verb is an act without its limit. The parser has seen that it has one.
func verb(act string) string {
	name, _, _ := workloads.ParseAct(act)
	return name
}
