package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
	"github.com/picklock/picklock/workloads"
)

// clientSet is a set of clients on a testbed, with a nemesis of its own. It runs one schedule after
// the other; other sets run theirs beside it, each under a key of its own.
type clientSet struct {
	*run
	bed     *bed
	view    *setCluster
	residue residue

	mu     sync.Mutex
	script *script         // of the run that is under way
	events []history.Event // since it began
}

// observe implements driver.
func (r *clientSet) observe(e history.Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	sc := r.script
	r.mu.Unlock()
	if sc != nil {
		sc.observe(e)
	}
}

// onMessage implements driver.
func (r *clientSet) onMessage(client string, m workloads.Message) {
	r.mu.Lock()
	sc := r.script
	r.mu.Unlock()
	if sc != nil {
		sc.onMessage(client, m)
	}
}

// drive and heal implement driver; a testbed's runs drive by themselves.
func (r *clientSet) drive(context.Context, context.Context) error { return nil }
func (r *clientSet) heal(context.Context) error                   { return nil }

// use is the script of what follows.
func (r *clientSet) use(sc *script) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.script, r.events = sc, nil
}

// newKey is a key that nobody has used: it begins no other run's key, and no other run's key begins it.
func (b *bed) newKey() string {
	return fmt.Sprintf("%s%s%06d", b.mark, b.testbed.options.Keys, b.keyed.Add(1))
}

// rekey begins the next run's key with all clients of the schedule.
func (r *clientSet) rekey(ctx context.Context, s *scenarios.Scenario) error {
	key := r.bed.newKey()
	r.keys = []string{key, workloads.SecondKey(key)}
	sc := newScript(r.run, s, nil)
	r.use(sc)
	r.workers.setKey(key, cmp.Or(s.Timeout, r.workerTimeout()))
	if r.view.forget() { // a client ended while nothing ran
		for _, name := range r.names {
			if err := r.replace(ctx, name); err != nil {
				return err
			}
		}
	}
	if err := r.renew(ctx, sc); err != nil {
		return err
	}
	r.bed.log.begin(r.keys)
	return sc.goTo(ctx, s.Clients, s.Timeout, func(string) string { return key })
}

// execute is one run, from its first move to its verdict.
func (r *clientSet) execute(ctx context.Context, s *scenarios.Scenario) (*RunResult, error) {
	sc := r.script
	defer r.bed.log.drop(r.keys)
	start, wall := r.Runtime.Now()-r.start, startWallClock()
	ectx, stop := r.watched(ctx)
	err := sc.drive(ctx, ectx)
	stop()
	if cause := context.Cause(ectx); cause != nil && !errors.Is(cause, errEnough) {
		err = cause
	}
	if herr := sc.heal(ctx); herr != nil {
		err = errors.Join(err, herr)
	}
	if err != nil {
		return nil, err
	}
	took := time.Duration(r.Runtime.Now() - r.start - start)
	r.residue = residueOf(s, r.names, sc.Servers())
	r.mu.Lock()
	events := r.events
	r.script, r.events = nil, nil
	r.mu.Unlock()

	p := &RunResult{Took: took, Steps: sc.taken(), Counts: sc.runner.Counts(), Run: r.desc}
	p.Events = runEvents(events, r.keys, start)
	if p.Effects, err = r.bed.log.of(ctx, r.keys[0], answered(p.Events)); err != nil {
		return nil, err
	}
	p.Effects = slices.Clone(p.Effects)
	for i := range p.Effects {
		p.Effects[i].Seq, p.Effects[i].Time = int64(i+1), p.Effects[i].Time-start
	}
	p.Run.Scenario, p.Run.Faults, p.Run.Keys = s.Name, s.Faults(), s.Keys()
	p.Run.Lease = max(s.Lease, r.bed.testbed.longestLease(p.Events))
	p.Verdict = checker.CheckContext(ctx, checker.Input{Events: p.Events, Effects: p.Effects, Options: r.asked(p)})
	var discarded *scenarios.DiscardedError
	if errors.As(sc.stepErr, &discarded) {
		p.Cannot, p.Instead = discarded.Act, compose.WithoutTail(discarded.Instead)
		p.Discarded, p.Busy, p.FailedFault, p.Unsupported = compose.WithoutTail(discarded.Why), discarded.Busy(), discarded.TriggeredFault.Fault.Text, discarded.Err != nil && discarded.Move == ""
	}
	if p.Verdict.Stats.Stalls > 0 {
		p.Discarded, p.Busy = "this machine stood still", true
	}
	if by := wall.set(); by != 0 && len(p.Verdict.Anomalies) > 0 {
		r.allowFor(ctx, p, by)
	}
	return p, nil
}

// allowFor judges a run that shows something again, with what the wall clock was set by meanwhile. If nothing is left of that, the run is discarded.
func (r *clientSet) allowFor(ctx context.Context, p *RunResult, by time.Duration) {
	p.Run.WallSet = by
	sure := checker.CheckContext(ctx, checker.Input{Events: p.Events, Effects: p.Effects, Options: r.asked(p)})
	if len(sure.Anomalies) == 0 {
		p.Discarded, p.Busy = setWords(by), true
		return
	}
	p.Verdict = sure
}

// asked is what the checker has to know of a run of this set.
func (r *clientSet) asked(p *RunResult) checker.Options {
	o := p.Run.Asked()
	o.SkipCrossCheck, o.Bound = true, int64(r.bound)
	return o
}

// runEvents are the events of one run, in order, their times from its start.
func runEvents(events []history.Event, keys []string, start int64) []history.Event {
	out := []history.Event{}
	for _, e := range events {
		if e.Time < start || e.Process != history.Nemesis && !slices.Contains(keys, e.Key) {
			continue
		}
		e.Time -= start
		if e.Since != 0 {
			e.Since -= start
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b history.Event) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Index, b.Index))
	})
	for i := range out {
		out[i].Index = int64(i)
	}
	return out
}

// answered counts the operations that the register has certainly carried out or refused.
func answered(events []history.Event) int {
	n := 0
	for _, e := range events {
		touches := e.F == history.Read || e.F == history.Write || e.F == history.Add
		if touches && e.Process != history.Nemesis && e.Type == history.OK {
			n++
		}
	}
	return n
}
