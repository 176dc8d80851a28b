package hunt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picklock/picklock/scenarios"
)

// The ways to choose what is run next.
const (
	Guided     = "guided"     // the space first, then mutation by feedback
	Exhaustive = "exhaustive" // the space alone
	Random     = "random"     // schedules of the same language drawn at random
)

// Strategies lists them.
func Strategies() []string { return []string{Guided, Exhaustive, Random} }

// Options says what to search and for how long.
type Options struct {
	Target   Target
	Strategy string        // "" for Guided
	Depth    int           // of the space; -1 for none of it
	Limit    int           // of faults in a schedule beyond the space; 0: as many as are worth it, -1: none
	Part     Part          // of the space; the zero one for all of it
	Time     time.Duration // for the search
	Find     []string      // anomalies; nil: all of required properties
	// IgnoreHazards leaves out lease hazards (verdict.Hazard).
	IgnoreHazards  bool
	FailFast       bool // end with the first counterexample that repeats
	Seed           uint64
	Known          []Ran       // of an earlier search that goes on here
	Found          []Find      // by that search: they stand, whatever comes now
	FoundElsewhere []Signature // found elsewhere: they are neither confirmed nor reported again
	CorpusSync     CorpusSync  // what other searches gain meanwhile; may be nil
	// Infeasible is what an earlier part of the same hunt learned (Portion.Infeasible): triggers that never
	// come, and faults that cannot be done, are not tried again.
	Infeasible map[string]string
	Progress   func(Progress)                       // may be nil; called often
	Record     func(Ran)                            // may be nil; called with every run
	Tell       func(counterexample *Counterexample) // may be nil; called with each counterexample as it is found
}

// Ran is one run as a search that goes on later has to know it.
type Ran struct {
	Schedule  string   `json:"schedule"`
	Point     string   `json:"point,omitempty"` // its place in the space; "": it is none of it
	Depth     int      `json:"depth"`
	Guided    bool     `json:"guided,omitempty"`
	Discarded string   `json:"discarded,omitempty"`
	Busy      bool     `json:"busy,omitempty"` // it is discarded because this machine was too busy: it is run again
	Broke     []string `json:"broke,omitempty"`
	Granted   bool     `json:"granted,omitempty"` // a client got the lock
	Decided   []string `json:"decided,omitempty"` // properties
	// Took is how long the run lasted, Setup what was mended or started for it, in ns.
	Took  time.Duration `json:"took"`
	Setup time.Duration `json:"setup"`
}

// Search looks for ways to break a lock.
type Search struct {
	o       Options
	mu      sync.Mutex
	began   time.Time
	result  Result
	lease   time.Duration // the longest that the lock was seen to grant
	points  func() (point, bool)
	stop    func()
	retry   []retry
	waiting []point // that were put off (see Chooser), in their order
	mutator *mutator
	corpus  *corpus
	played  map[string]bool

	pending         map[string]bool  // signatures that are being confirmed
	passedOver      map[string]point // schedules that showed one of them meanwhile
	counterexamples []*Counterexample
	owed            map[string]bool        // what an earlier search saw, was not confirmed, and has to be seen again
	before          int                    // runs of an earlier search
	infeasible      map[string]string      // triggers of a workload that never come, faults and acts that cannot be done
	failureCounts   map[string]int         // how often that was seen
	confirmed       map[string]bool        // faults that took effect
	unable          []string               // faults that other searches' clusters can never do, and why
	skipped         map[string]int         // schedules of the space that were passed over since a fault could not be done
	breaking        map[string][]Signature // what a fault broke by itself, by workload
	spaced          map[int]bool           // depths of which a portion said how far it came
	reached         []placed               // schedules of the space that the search has come to
	judged          int                    // schedules that were judged
	showed          map[string]int         // of these, how many showed what, by what their signatures have alike
	fates           map[string]fate        // what became of those of the space that were run, by their id
	depth           int                    // of the latest of them
	rates           map[string]*Rate       // of triggers in a workload: how often each came
	missed          map[string]string      // why it last did not
	passed          map[string]int         // how many messages of an act came, of those that were a trigger
	exhausted       bool
	failures        int // one after the other
	runners         int
	lastSample      time.Time
}

// mostFaults is how many faults a schedule beyond the space has at most.
func (o Options) mostFaults() int { return max(0, cmp.Or(o.Limit, mostFaults)) }

// New prepares a search.
func New(o Options) *Search {
	if o.Strategy == "" {
		o.Strategy = Guided
	}
	h := &Search{
		o: o, mutator: newMutator(o.Target, o.mostFaults(), o.Seed), corpus: newCorpus(), played: map[string]bool{}, pending: map[string]bool{}, passedOver: map[string]point{},
		infeasible: map[string]string{}, failureCounts: map[string]int{}, breaking: map[string][]Signature{}, confirmed: map[string]bool{}, skipped: map[string]int{},
		fates: map[string]fate{}, rates: map[string]*Rate{}, missed: map[string]string{}, passed: map[string]int{}, showed: map[string]int{},
	}
	h.result = Result{Lock: o.Target.Lock, Fencing: o.Target.Fencing, TTL: int64(o.Target.TTL), Strategy: o.Strategy, Seed: o.Seed, Find: o.Find, IgnoreHazards: o.IgnoreHazards, FaultRuns: map[string]int{}, Counterexamples: []*Counterexample{}, Curve: []Sample{}}
	for d := range o.Depth + 1 {
		h.result.Depths = append(h.result.Depths, Depth{Faults: d})
	}
	maps.Copy(h.infeasible, o.Infeasible)
	h.goOn()
	h.points, h.stop = iter.Pull(portionOf(o.Target, o.Depth, o.Part))
	return h
}

// fateOfRun is what became of a schedule that was run.
func fateOfRun(discarded string, broke bool) fate {
	f := fate{broke: broke}
	if discarded != "" {
		f.what, f.why = WasDiscarded, discarded
	}
	return f
}

// ErrUnusable marks what no run can get around: a server that is not installed, options
// that cannot work.
var ErrUnusable = errors.New("nothing can be run")

// errNoRunners: every runner failed again and again.
var errNoRunners = errors.New("no schedule can be run")

// Run searches with all runners until the time is over, the space is run (where nothing
// follows it), or ctx ends.
func (h *Search) Run(ctx context.Context, runners []Runner) (*Result, error) {
	h.runners = len(runners)
	h.began = time.Now()
	h.result.Started = h.began
	defer h.stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(h.o.Time, func() { cancel(errTime) })
	defer timer.Stop()
	var group sync.WaitGroup
	for _, p := range runners {
		group.Go(func() {
			if err := h.work(ctx, p); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	cause := context.Cause(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sample(true)
	h.result.Seconds, h.result.Searched = time.Since(h.began).Seconds(), h.result.Runs-h.before
	h.result.States = len(h.corpus.states)
	h.result.Regret = h.mutator.bandit.regret()
	h.settle()
	h.order()
	h.name()
	h.result.NotSeenAgain = slices.Sorted(maps.Keys(h.owed))
	h.result.Counterexamples = h.counterexamples
	h.result.Infeasible = h.infeasibleFaults()
	switch {
	case cause == nil, errors.Is(cause, errTime), errors.Is(cause, errFound):
		return &h.result, nil
	case errors.Is(cause, context.Canceled):
		h.result.CutShort = true
		return &h.result, nil
	case errors.Is(cause, errUngranted), errors.Is(cause, errNoRunners) && h.result.Runs > 0: // what was found stands
		h.result.Stopped = firstLine(cause.Error())
		return &h.result, nil
	}
	return &h.result, cause
}

// infeasibleFaults are the faults that could not be done here, and why.
func (h *Search) infeasibleFaults() []string {
	out := slices.Concat(h.o.Target.unable(), h.unable)
	for text, why := range h.infeasible {
		if fault, ok := strings.CutPrefix(text, "fault "); ok {
			out = append(out, fault+": "+reason(fault, why))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// firstLine is the first line of a text, as far as it is read at a glance.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	const most = 200
	if r := []rune(line); len(r) > most {
		return string(r[:most]) + "…"
	}
	return line
}

var (
	errTime  = errors.New("the time is over")
	errFound = errors.New("found")
	// errUngranted: there is nothing to search in a lock that nobody gets.
	errUngranted = errors.New("no client was granted the lock in any run")
)

// enoughUngranted is how many runs without any grant end a search, if one of them is confirmed as a lock that is never granted.
const enoughUngranted = 12

// grantsNothing says that there were so many.
func (h *Search) grantsNothing() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.result.Granted == 0 && h.judged >= enoughUngranted && slices.ContainsFunc(h.counterexamples, func(w *Counterexample) bool { return w.Cause == neverGranted && w.Search.Hits > 1 })
}

// work runs with one runner until there is nothing more to run.
func (h *Search) work(ctx context.Context, p Runner) error {
	var before string // what ran last on these servers and clients
	w, waits := p.(Waiter)
	var ready func(*scenarios.Scenario) bool
	if c, ok := p.(Chooser); ok {
		ready = c.Ready
	}
	for ctx.Err() == nil {
		if waits && !w.Wait(ctx) {
			return nil
		}
		next, guided, ok := h.next(ready)
		if !ok {
			if waits {
				w.Yield()
			}
			return nil
		}
		run := p.Run
		if s, ok := p.(Soloist); ok && next.alone {
			run = s.RunAlone
		}
		out, err := run(ctx, next.schedule)
		if err != nil && ctx.Err() == nil {
			if err := h.failed(next, err); err != nil {
				return err
			}
		}
		if err != nil || ctx.Err() != nil {
			continue // what the end of the time cut short counts as not reached
		}
		for _, sig := range h.observe(next, guided, out) {
			h.confirm(ctx, p, next, sig, out, before)
			if h.o.FailFast && h.found() {
				return errFound
			}
		}
		if h.grantsNothing() {
			return errUngranted
		}
		before = described(next.schedule, out)
	}
	return nil
}

func (h *Search) found() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.counterexamples, func(w *Counterexample) bool { return w.Search.Hits > 1 })
}

// Of a run that failed: how often a schedule is run again, and after how many other runs, since
// what failed now may fail at once again.
const (
	retriesOfFailed = 2
	otherRunsFirst  = 10
)

// failuresAtFirst is how many failures one after the other show that nothing can be run.
const failuresAtFirst = 5

// failed takes a run of which nothing is known since picklock failed. Its schedule is run again.
// Too many failures one after the other end the search: a few if no run has succeeded yet. Later, runs side by side can
// fail all at once for one reason, such as a server that a fault has stopped.
func (h *Search) failed(p point, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.result.Failed++
	h.result.FailedWhy = cmp.Or(h.result.FailedWhy, firstLine(err.Error()))
	if errors.Is(err, ErrUnusable) {
		return err
	}
	k := "failed " + key(p.schedule)
	if h.failureCounts[k]++; p.again == nil && h.failureCounts[k] <= retriesOfFailed {
		h.retry = append(h.retry, retry{p, h.result.Runs + otherRunsFirst})
	}
	if p.id != "" {
		h.fates[p.id] = fate{what: WasFailed, why: firstLine(err.Error())}
	}
	most := failuresAtFirst
	if h.result.Runs > 0 {
		most += 2 * h.runners
	}
	if h.failures++; h.failures >= most {
		return fmt.Errorf("%w: the last %d runs failed: %w", errNoRunners, h.failures, err)
	}
	return nil
}
