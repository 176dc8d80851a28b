package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/hunt/testbeds"
	"github.com/picklock/picklock/internal/scratch"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// maxRuns bounds --count.
const maxRuns = 10000

// tally is what came of many runs of one scenario.
type tally struct {
	hunt.Rate                // of runs that came to what is expected
	Low       float64        `json:"low"` // where the true rate lies, at 95 %
	High      float64        `json:"high"`
	Found     map[string]int `json:"found"` // runs that proved it, by anomaly
	// Causes are the same runs by anomaly and cause, of what no other anomaly led to.
	Causes map[string]int `json:"causes"`
	// Reasons are the discarded runs, by why they are.
	Reasons map[string]int `json:"reasons,omitempty"`
	// Unmet explains what the first run showed that did not come to what is expected; "" if that was nothing.
	Unmet  string `json:"unmet,omitempty"`
	missed int    // discarded runs in which a fault's trigger never came
}

func newTally() *tally {
	t := &tally{Found: map[string]int{}, Causes: map[string]int{}, Reasons: map[string]int{}}
	t.Low, t.High = t.Interval()
	return t
}

// drop counts a run that proves nothing.
func (t *tally) drop(d discard) {
	t.Discarded++
	t.Reasons[d.why]++
	if d.missed {
		t.missed++
	}
}

func (t *tally) take(met bool, v checker.Verdict) {
	t.Runs++
	if met {
		t.Hits++
	} else if t.Unmet == "" {
		t.Unmet = results.Sentence(v)
	}
	var names []string
	for _, a := range v.Anomalies {
		if v.Properties[a.Property].Required && !slices.Contains(names, a.Name) {
			names = append(names, a.Name)
			t.Found[a.Name]++
		}
	}
	var causes []string
	for _, g := range v.Groups() {
		name := hunt.Signature{Anomaly: g.Name, Cause: g.Cause}.Name()
		if g.Required && !slices.Contains(causes, name) {
			causes = append(causes, name)
			t.Causes[name]++
		}
	}
	t.Low, t.High = t.Interval()
}

// replays is a scenario that was run many times.
type replays struct {
	Scenario string `json:"scenario"`
	Lock     string `json:"lock"`
	Fencing  string `json:"fencing"`
	Expected string `json:"expected"`
	Alone    *tally `json:"alone"`
	Loaded   *tally `json:"loaded,omitempty"`
}

// runMany runs a scenario many times and says how often it came to what is expected.
func runMany(ctx context.Context, o harness.ScenarioOptions, runtimeName, clientImage string, times int, load, asJSON bool) error {
	want, _, err := o.Expected()
	if err != nil {
		return usage(err)
	}
	out := replays{Scenario: o.Scenario.Name, Lock: o.Lock, Fencing: o.Fencing, Expected: want.String()}
	run, end, err := replayRunner(ctx, o, runtimeName, clientImage, want)
	if err != nil {
		return huntError(err)
	}
	out.Alone, err = many(ctx, times, run)
	if err == nil && load {
		stop := loadMachine()
		out.Loaded, err = many(ctx, times, run)
		stop()
	}
	if err = errors.Join(err, end()); err != nil {
		return huntError(err)
	}
	if asJSON {
		err = printJSON(out)
	} else {
		err = out.print(os.Stdout)
	}
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	all := []*tally{out.Alone, out.Loaded}
	for _, t := range all {
		if t != nil && t.Hits < t.Runs {
			return &exitError{exitInvalid, nil}
		}
	}
	for _, t := range all {
		if t != nil && t.Runs < times {
			return &exitError{exitUnknown, nil}
		}
	}
	return nil
}

// oneRun is one run: what it showed, whether that is what is expected, why it counts for nothing.
type oneRun func(ctx context.Context) (v checker.Verdict, met bool, dropped discard, err error)

// many runs so many times, without those that do not count, of which there may be as many.
func many(ctx context.Context, times int, run oneRun) (*tally, error) {
	t := newTally()
	for t.Runs < times && t.Discarded <= times && ctx.Err() == nil {
		v, met, dropped, err := run(ctx)
		if err != nil && ctx.Err() == nil {
			return t, err
		}
		switch {
		case ctx.Err() != nil: // what was run until then counts
		case dropped != discard{}:
			t.drop(dropped)
		default:
			t.take(met, v)
		}
	}
	return t, nil
}

// runner runs the scenario: a schedule on a testbed that stays up, any other in runs of
// their own.
func replayRunner(ctx context.Context, o harness.ScenarioOptions, runtimeName, clientImage string, want *scenarios.Expectation) (oneRun, func() error, error) {
	s := o.Scenario
	if s.Programs == nil {
		n := 0
		return func(ctx context.Context) (v checker.Verdict, met bool, dropped discard, err error) {
			x := o
			if n++; o.Out != "" {
				x.Out = filepath.Join(o.Out, fmt.Sprint(n))
			}
			r, err := harness.RunScenario(ctx, x)
			if err != nil {
				return v, false, dropped, err
			}
			switch {
			case r.Result.LeftOut != "":
				dropped.why = "left out: " + r.Result.LeftOut
			case r.Result.Met == checker.Unknown:
				dropped.why = cmp.Or(r.Result.Why, undecided)
			}
			return r.Verdict, r.Result.Met == checker.True, dropped, nil
		}, func() error { return nil }, nil
	}
	p, _, end, err := oneTestbed(ctx, testbedFor{ScenarioOptions: o, runtime: runtimeName, clientImage: clientImage, faults: s.Faults()})
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) (v checker.Verdict, met bool, dropped discard, err error) {
		x, err := p.Run(ctx, s)
		if err != nil {
			return v, false, dropped, err
		}
		judged, why := want.Judge(x.Verdict, x.Counts)
		dropped = discardOf(x)
		if judged == checker.Unknown && dropped.why == "" && !want.Misses(x.Verdict) { // all went as planned: what does not show then is a miss
			dropped.why = cmp.Or(why, undecided)
		}
		return x.Verdict, judged == checker.True, dropped, nil
	}, end, nil
}

// testbedFor says what a testbed is opened for.
type testbedFor struct {
	harness.ScenarioOptions
	runtime, clientImage string
	faults               []string // kinds that servers have to be prepared for
	ignoreLost           bool
}

// options are those of the testbed, whose servers log into dir.
func (o testbedFor) options(dir string) testbeds.Options {
	s := o.Scenario
	lo := testbeds.Options{Extra: o.LockOptions(), Abilities: o.Abilities, Runtime: o.runtime, ClientImage: o.clientImage, Self: o.Self, Dir: dir}
	lo.Settings.Lock, lo.Settings.Fencing, lo.Settings.Cluster, lo.Settings.TTL = o.Lock, o.Fencing, s.Cluster, s.TTL
	if o.Cluster != "" {
		lo.Settings.Cluster = o.Cluster
	}
	if o.runtime == "local" {
		lo.Settings.Folder = s.FolderOf(o.Lock)
	}
	return lo
}

// oneTestbed opens a testbed for a scenario's clients.
func oneTestbed(ctx context.Context, o testbedFor) (hunt.Runner, hunt.Target, func() error, error) {
	s := o.Scenario
	var target hunt.Target
	info, err := lockTable.Lookup(o.Lock)
	if err != nil {
		return nil, target, nil, usage(err)
	}
	if err := errors.Join(buildLock(ctx, info), buildServers(ctx, o.Lock, cmp.Or(o.Cluster, s.Cluster), o.runtime)); err != nil {
		return nil, target, nil, err
	}
	dir, err := scratch.Make()
	if err != nil {
		return nil, target, nil, fmt.Errorf("make a folder for the servers' logs: %w", err)
	}
	lo := o.options(dir.Path)
	if err = harness.Serves(ctx, lockTable, info, lo.Settings.Cluster); err == nil {
		target, err = lo.Target(ctx, info)
	}
	if err != nil {
		return nil, target, nil, errors.Join(err, dir.Remove())
	}
	if s.Bound > 0 {
		target.Bound = s.Bound
	}
	for _, c := range s.Clients {
		if !slices.Contains(target.AllClientNames(), c) {
			return nil, target, nil, errors.Join(usage(fmt.Errorf("clients are called %s, not %s", strings.Join(target.AllClientNames(), ", "), c)), dir.Remove())
		}
	}
	lo.Settings.Faults, lo.Settings.IgnoreLost = o.faults, o.ignoreLost || s.IgnoreLost
	pool := testbeds.NewPool(lo, target)
	runners, err := pool.Open(untilAbandoned(ctx), 1)
	if err != nil {
		return nil, target, nil, errors.Join(err, dir.Remove())
	}
	return runners[0], target, func() error { return errors.Join(pool.Close(), dir.Remove()) }, nil
}

// loadMachine keeps every processor busy until it is stopped.
func loadMachine() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	for range 2 * runtime.NumCPU() {
		loops.Go(func() {
			for ctx.Err() == nil {
			}
		})
	}
	return func() { cancel(); loops.Wait() }
}

func (r *replays) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s with --fencing %s, expected: %s\n", r.Scenario, r.Lock, r.Fencing, r.Expected)
	for _, x := range []struct {
		how string
		t   *tally
	}{{"alone", r.Alone}, {"under load", r.Loaded}} {
		if x.t == nil {
			continue
		}
		if x.t.Runs == 0 {
			fmt.Fprintf(&b, "%-12s no run showed whether it is as expected: %d discarded\n", x.how+":", x.t.Discarded)
		} else {
			fmt.Fprintf(&b, "%-12s as expected in %d of %d runs (%.1f to %.1f %%), %d discarded\n", x.how+":", x.t.Hits, x.t.Runs, 100*x.t.Low, 100*x.t.High, x.t.Discarded)
		}
		for _, name := range sortedNames(x.t.Found) {
			fmt.Fprintf(&b, "%-12s %s in %d\n", "", name, x.t.Found[name])
		}
		if x.t.Unmet != "" {
			fmt.Fprintf(&b, "%-12s one of them: %s\n", "", x.t.Unmet)
		}
		for _, line := range append(x.t.discards(), x.t.pointless(r.Lock)) {
			if line != "" {
				fmt.Fprintf(&b, "%-12s %s\n", "", line)
			}
		}
	}
	if r.Alone.Hits < r.Alone.Runs {
		b.WriteString("a run without --count has a report\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func sortedNames(m map[string]int) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
