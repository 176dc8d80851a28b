package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
	"github.com/picklock/picklock/workloads"
)

// Testbed runs one schedule after the other on servers, a register and clients that stay up
// between the runs: most of what a short run takes is to start and to end them. Every
// run gets a key of its own, so that it finds its lock free and its register empty.
// A client that a fault affected opens its lock anew before the next run; servers are started anew where
// a fault's residue cannot be repaired. Runs follow one another; other testbeds may run beside this one.
type Testbed struct {
	options TestbedOptions
	plan    *plan
	dir     string

	at     *testbedRun // nil: nothing runs
	opened int
}

// LaneOptions says what a testbed's runs have in common.
type TestbedOptions struct {
	Options
	Clients []string // the names that schedules may use
	Faults  []string // the kinds that schedules may use: some have to be prepared for
	Bound   time.Duration
	Keys    string // how the names of its keys begin; "": of no matter
}

// testbedRun is what runs on a testbed.
type testbedRun struct {
	*run
	log     *effectLog
	runs    int
	residue residue

	mu     sync.Mutex
	script *script         // of the run that is under way
	events []history.Event // since it began
}

// Ran is what came of one run.
type RunResult struct {
	Verdict checker.Verdict
	Events  []history.Event // in their order, their times from the run's start
	Effects []history.Effect
	Steps   []results.StepTaken
	// Discarded is why the run proves nothing of its schedule; "" if it does. What it found
	// stands all the same.
	Discarded string
	// FailedFault is the fault that did not take effect as planned; Unsupported says that it cannot
	// be done here.
	FailedFault string
	Unsupported bool
	// Busy: it is discarded because this machine was too busy.
	Busy  bool
	Took  time.Duration // of the run itself
	Setup time.Duration // what was started anew for it
	Run   results.Run
}

// NewTestbed makes a testbed that keeps its servers' logs and data below dir. Nothing runs
// before the first run.
func NewTestbed(o TestbedOptions, dir string) (*Testbed, error) {
	opts := o.Options
	opts.Clients, opts.Faults = len(o.Clients), nil
	p, err := opts.plan()
	if err != nil {
		return nil, err
	}
	if p.lock.Unlocked != nil {
		return nil, fmt.Errorf("%w: %s is no lock: its clients take none", ErrUsage, p.lock.Name)
	}
	if p.backend.OpenAdmin != nil {
		return nil, fmt.Errorf("%w: the register %s cannot be used here: every schedule needs an empty one, which picklock's own register is", ErrUsage, p.Register)
	}
	if o.Bound > 0 {
		p.bound = o.Bound
	}
	o.Keys = cmp.Or(o.Keys, "h")
	p.names, p.scripted, p.disks = o.Clients, true, p.needsDisks(o.Faults...)
	return &Testbed{options: o, plan: p, dir: dir}, nil
}

// Starts is how often servers and clients were started all together.
func (l *Testbed) Starts() int { return l.opened }

// Close ends what runs on the testbed.
func (l *Testbed) Close(context.Context) error { return l.end(false) }

// end ends what runs on the testbed. What its nodes said is kept where something failed: it
// may say why.
func (l *Testbed) end(failed bool) error {
	if l.at == nil {
		return nil
	}
	r := l.at
	l.at = nil
	r.stalls.stop()
	var err error
	if r.cluster != nil {
		err = errors.Join(r.cleanExternal(), r.cluster.Close())
	}
	if r.rec != nil {
		err = errors.Join(err, r.rec.finish())
	}
	if failed {
		return err
	}
	return errors.Join(err, r.dir.Discard())
}

// Run runs a schedule and judges it. An error is a failure of picklock: of the schedule
// nothing is known. The testbed can be used again all the same.
func (l *Testbed) Run(ctx context.Context, s *scenarios.Scenario) (*RunResult, error) {
	began := time.Now()
	if err := l.ready(ctx, s); err != nil {
		return nil, errors.Join(err, l.end(true))
	}
	setup := time.Since(began)
	p, err := l.at.execute(ctx, s)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("run %s: %w", s.Name, err), l.end(true))
	}
	p.Setup = setup
	return p, nil
}

// ready sees to it that everything is up and whole, and gives the clients a new key.
func (l *Testbed) ready(ctx context.Context, s *scenarios.Scenario) error {
	if l.at != nil && (l.at.residue.stays || l.at.whole(ctx) != nil) {
		if err := l.end(false); err != nil {
			return fmt.Errorf("end what ran before: %w", err)
		}
	}
	if l.at == nil {
		if err := l.open(ctx); err != nil {
			return err
		}
	}
	return l.at.rekey(ctx, s, l.options.Keys)
}

func (l *Testbed) open(ctx context.Context) error {
	l.opened++
	p := *l.plan
	p.Out = filepath.Join(l.dir, fmt.Sprint(l.opened))
	r := &testbedRun{log: newEffectLog()}
	var err error
	if r.run, err = p.run(ctx, p.describe(p.Options), func(*run) driver { return r }); err != nil {
		return err
	}
	r.registerLog = r.log
	if err := r.setup(ctx); err != nil {
		if r.cluster != nil {
			err = errors.Join(err, r.cleanExternal(), r.cluster.Close())
		}
		r.stalls.stop()
		return err
	}
	r.rec.forget()
	l.at = r
	return nil
}

// observe implements driver.
func (r *testbedRun) observe(e history.Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	sc := r.script
	r.mu.Unlock()
	if sc != nil {
		sc.observe(e)
	}
}

// onMessage implements driver.
func (r *testbedRun) onMessage(client string, m workloads.Message) {
	r.mu.Lock()
	sc := r.script
	r.mu.Unlock()
	if sc != nil {
		sc.onMessage(client, m)
	}
}

// drive and heal implement driver; a testbed's runs drive by themselves.
func (r *testbedRun) drive(context.Context, context.Context) error { return nil }
func (r *testbedRun) heal(context.Context) error                   { return nil }

// rekey begins the next run's key with all clients of the schedule.
func (r *testbedRun) rekey(ctx context.Context, s *scenarios.Scenario, prefix string) error {
	r.runs++
	key := fmt.Sprintf("%s%s%d", r.mark, prefix, r.runs)
	r.keys = []string{key}
	sc := newScript(r.run, s, nil)
	r.mu.Lock()
	r.script, r.events = sc, nil
	r.mu.Unlock()
	r.workers.setKey(key, cmp.Or(s.Timeout, r.workerTimeout()))
	if err := r.renew(ctx, sc); err != nil {
		return err
	}
	within := time.After(openWithin)
	for _, name := range s.Clients {
		done, err := sc.tell(name, workloads.Command{Do: workloads.CommandKey, Key: key, Timeout: s.Timeout})
		if err != nil {
			return err
		}
		select {
		case <-done:
		case <-within:
			return fmt.Errorf("%s did not go on to another key within %v", name, openWithin)
		case err := <-r.workers.failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// execute is one run, from its first move to its verdict.
func (r *testbedRun) execute(ctx context.Context, s *scenarios.Scenario) (*RunResult, error) {
	sc := r.script
	start := r.Runtime.Now() - r.start
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

	p := &RunResult{Took: took, Steps: sc.taken(), Run: r.desc}
	p.Events = runEvents(events, r.keys[0], start)
	if p.Effects, err = r.log.of(ctx, r.keys[0], answered(p.Events)); err != nil {
		return nil, err
	}
	for i := range p.Effects {
		p.Effects[i].Seq, p.Effects[i].Time = int64(i+1), p.Effects[i].Time-start
	}
	p.Run.Scenario, p.Run.Faults = s.Name, s.Faults()
	asked := p.Run.Asked()
	asked.SkipCrossCheck, asked.Bound = true, int64(r.bound)
	p.Verdict = checker.CheckContext(ctx, checker.Input{Events: p.Events, Effects: p.Effects, Options: asked})
	var discarded *scenarios.DiscardedError
	if errors.As(sc.stepErr, &discarded) {
		p.Discarded, p.Busy, p.FailedFault, p.Unsupported = compose.WithoutTail(discarded.Why), discarded.Busy(), discarded.TriggeredFault.Fault.Text, discarded.Err != nil && discarded.Move == ""
	}
	if p.Verdict.Stats.Stalls > 0 {
		p.Discarded, p.Busy = "this machine stood still", true
	}
	return p, nil
}

// runEvents are the events of one run, in order, their times from its start.
func runEvents(events []history.Event, key string, start int64) []history.Event {
	out := []history.Event{}
	for _, e := range events {
		if e.Time < start || e.Process != history.Nemesis && e.Key != key {
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
