package harness

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
	"github.com/picklock/picklock/workloads"
)

// script drives clients through a scenario's programs.
type script struct {
	*run
	scenario  *scenarios.Scenario
	runner    *scenarios.Runner
	inspector *inspector // nil where nothing looks at what servers have for the lock
	alone     bool       // it is the only one of its clients, which have just been started
	stepErr   error      // why the run proves nothing of its scenario
	grants    grantFacts

	mu      sync.Mutex
	steps   []results.StepTaken
	nextID  int64
	waiting map[int64]chan workloads.Done
}

// grantFacts is what the grants of a run say of the lock that gave them.
type grantFacts struct {
	n             int
	lease, tokens bool // some had
}

func newScript(r *run, s *scenarios.Scenario, tell func(scenarios.Taken)) *script {
	sc := &script{run: r, scenario: s, waiting: map[int64]chan workloads.Done{}}
	taken := func(st scenarios.Taken) {
		sc.mu.Lock()
		sc.steps = append(sc.steps, results.StepTaken(st))
		sc.mu.Unlock()
		if tell != nil {
			tell(st)
		}
	}
	sc.runner = scenarios.NewRunner(s, sc, taken)
	// Were it the same in each run, what needs one client to ask before another would come each time here, and half the
	// time elsewhere.
	sc.runner.Order = slices.Clone(s.Clients)
	rand.Shuffle(len(s.Clients), func(i, j int) {
		sc.runner.Order[i], sc.runner.Order[j] = sc.runner.Order[j], sc.runner.Order[i]
	})
	sc.runner.IgnoreLost, sc.runner.Patience = r.IgnoreLost || s.IgnoreLost, r.bound+2*r.TTL
	return sc
}

func (sc *script) observe(e history.Event) {
	if e.F == history.Acquire && e.Type == history.OK {
		sc.mu.Lock()
		sc.grants.n++
		sc.grants.lease, sc.grants.tokens = sc.grants.lease || e.Lease > 0, sc.grants.tokens || e.Token != 0
		sc.mu.Unlock()
	}
	sc.runner.Observe(e)
}

// onMessage takes what the workers say besides their events.
func (sc *script) onMessage(name string, m workloads.Message) {
	switch {
	case m.Waiting:
		sc.runner.Waiting(name)
	case m.Woken:
		sc.runner.Woken(name)
	case m.Error != "":
		sc.runner.Ended(name, m.Error)
	case m.Done != nil:
		sc.mu.Lock()
		defer sc.mu.Unlock()
		if c := sc.waiting[m.Done.ID]; c != nil {
			c <- *m.Done // has room for the one answer
			delete(sc.waiting, m.Done.ID)
		}
	}
}

// drive runs the scenario. What did not come as it was meant is no failure of the harness: the
// history up to there is judged all the same.
func (sc *script) drive(ctx, enough context.Context) (err error) {
	sc.Observer.Phase("run", time.Time{})
	if sc.lock.Inspect != nil && sc.scenario.Looks() {
		if sc.inspector, err = startInspector(enough, sc.cluster, sc.Lock); err != nil {
			return err
		}
	}
	// A program says once it is open what it is.
	sc.runner.Reentrant, sc.runner.Several = sc.lock.Kind == clients.Reentrant, sc.lock.Permits(sc.Extra) > 1
	if sc.alone && sc.connectsLate() {
		if err := sc.goTo(enough, sc.scenario.Clients, 0, func(string) string { return sc.keys[0] }); err != nil {
			return err
		}
	}
	err = sc.runner.Run(enough)
	var discarded *scenarios.DiscardedError
	if errors.As(err, &discarded) {
		sc.stepErr, err = err, nil
	}
	return err
}

func (sc *script) heal(ctx context.Context) error {
	err := sc.runner.Heal(ctx)
	if sc.inspector != nil {
		err = errors.Join(err, sc.inspector.stop())
	}
	return err
}

// taken lists the moves and faults that were carried out.
func (sc *script) taken() []results.StepTaken {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	return sc.steps
}
