package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// Testbed runs schedules on servers, a register and clients that stay up between the runs: most of
// what a short run takes is to start and to end them. Every run gets a key of its own, so that it
// finds its lock free and its register empty, and a set of clients of its own. Runs that do nothing
// to the servers go side by side, as many as there may be sets; any other run has the testbed to
// itself. A client that a fault affected opens its lock anew before the next run; servers are started
// anew where a fault's residue cannot be repaired. Other testbeds may run beside this one.
type Testbed struct {
	options TestbedOptions
	plan    *plan
	dir     string

	mu      sync.Mutex
	at      *bed // nil: nothing runs
	opened  int
	sets    int // how many sets of clients there may be
	running int
	only    bool          // one run has the testbed to itself
	wanting int           // how many runs wait to have it to themselves
	leased  time.Duration // the longest lease that a run has shown
	changed chan struct{} // closed and replaced when a run has ended
}

// TestbedOptions says what a testbed's runs have in common.
type TestbedOptions struct {
	Options
	Clients []string // the names that schedules may use
	Faults  []string // the kinds that schedules may use: some have to be prepared for
	Bound   time.Duration
	Keys    string // how the names of its keys begin; "": of no matter
	// Sets is how many sets of clients there may be on its servers; 0: one.
	Sets int
}

// RunResult is what came of one run.
type RunResult struct {
	Verdict checker.Verdict
	Events  []history.Event // in their order, their times from the run's start
	Effects []history.Effect
	Steps   []results.StepTaken
	Counts  map[string]int // what the schedule counted, by name
	// Discarded is why the run proves nothing of its schedule; "" if it does. What it found
	// stands all the same.
	Discarded string
	// Instead is what came instead of a fault's trigger, if that is why and the run tells.
	Instead string
	// FailedFault is the fault that did not take effect as planned; Unsupported says that it cannot
	// be done here.
	FailedFault string
	Unsupported bool
	// Cannot is the act that the lock cannot do; "" if that is not why it is discarded.
	Cannot string
	// Busy: it is discarded because this machine was too busy.
	Busy  bool
	Took  time.Duration // of the run itself
	Setup time.Duration // what was started anew for it
	Run   results.Run
}

// NewTestbed makes a testbed that keeps its servers' logs and data below dir. Nothing runs
// before the first run.
func NewTestbed(o TestbedOptions, dir string) (*Testbed, error) {
	o.Keys = cmp.Or(o.Keys, "h")
	l := &Testbed{options: o, dir: dir, sets: max(o.Sets, 1), changed: make(chan struct{})}
	p, err := l.planWith(o.TTL)
	if err != nil {
		return nil, err
	}
	if p.lock.Unlocked != nil {
		return nil, fmt.Errorf("%w: %s is no lock: its clients take none", ErrUsage, p.lock.Name)
	}
	if p.backend.OpenAdmin != nil {
		return nil, fmt.Errorf("%w: the register %s cannot be used here: every schedule needs an empty one, which picklock's own register is", ErrUsage, p.Register)
	}
	l.plan = p
	return l, nil
}

// planWith is the plan of runs with this lease.
func (l *Testbed) planWith(ttl time.Duration) (*plan, error) {
	o := l.options
	opts := o.Options
	opts.Clients, opts.Faults, opts.TTL = len(o.Clients), nil, ttl
	p, err := opts.plan()
	if err != nil {
		return nil, err
	}
	if o.Bound > 0 {
		p.bound = o.Bound
	}
	p.names, p.scripted, p.disks = o.Clients, true, p.needsDisks(o.Faults...)
	return p, p.checkClients()
}

// Starts is how often servers and clients were started all together.
func (l *Testbed) Starts() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened
}

// mostSets is how many sets of clients there may be.
func (l *Testbed) mostSets() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sets
}

// Close ends what runs on the testbed. No run may be under way.
func (l *Testbed) Close(context.Context) error {
	l.mu.Lock()
	b := l.at
	l.at = nil
	l.mu.Unlock()
	return b.end()
}

// Run runs a schedule and judges it. An error is a failure of picklock: of the schedule
// nothing is known. The testbed can be used again all the same. Run may be called from several
// goroutines.
func (l *Testbed) Run(ctx context.Context, s *scenarios.Scenario) (*RunResult, error) {
	alone := !OnlyClients(s, l.options.Clients)
	if err := l.enter(ctx, alone); err != nil {
		return nil, err
	}
	began := time.Now()
	set, err := l.take(ctx, s, alone)
	if err != nil {
		return nil, errors.Join(err, l.leave(ctx, nil, s, alone, err))
	}
	setup := time.Since(began)
	p, err := set.execute(ctx, s)
	if err != nil {
		err = fmt.Errorf("run %s: %w", s.Name, err)
	}
	if err = errors.Join(err, l.leave(ctx, set, s, alone, err)); err != nil {
		return nil, err
	}
	p.Setup = setup
	return p, nil
}

// longestLease is the longest lease of these events and of all runs before.
func (l *Testbed) longestLease(events []history.Event) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		l.leased = max(l.leased, time.Duration(e.Lease))
	}
	return l.leased
}

// take opens what is not up yet, and gives the run a set of clients with a new key.
func (l *Testbed) take(ctx context.Context, s *scenarios.Scenario, alone bool) (*clientSet, error) {
	b, err := l.ready(ctx)
	if err != nil {
		return nil, err
	}
	if !alone {
		l.shared()
	}
	set, err := b.take(ctx, cmp.Or(s.TTL, l.options.TTL))
	if err != nil {
		return nil, err
	}
	if err := set.rekey(ctx, s); err != nil {
		return nil, errors.Join(err, b.drop(ctx, set))
	}
	return set, nil
}

// ready sees to it that the servers are up and whole. Unless they are, the caller has the testbed to
// itself.
func (l *Testbed) ready(ctx context.Context) (*bed, error) {
	l.mu.Lock()
	b := l.at
	l.mu.Unlock()
	if b != nil && !b.fit(ctx) {
		l.mu.Lock()
		l.at = nil
		l.mu.Unlock()
		if err := b.end(); err != nil {
			return nil, fmt.Errorf("end what ran before: %w", err)
		}
		b = nil
	}
	if b != nil {
		return b, nil
	}
	l.mu.Lock()
	l.opened++
	n := l.opened
	l.mu.Unlock()
	b, err := l.openShared(ctx, fmt.Sprint(n))
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = b
	return b, nil
}
