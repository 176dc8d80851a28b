package main

import (
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
	"github.com/picklock/picklock/hunt/lanes"
	"github.com/picklock/picklock/scenarios"
)

// maxRuns bounds --count.
const maxRuns = 10000

// tally is what came of many plays of one scenario.
type tally struct {
	hunt.Rate                // of plays that came to what is expected
	Low       float64        `json:"low"` // where the true rate lies, at 95 %
	High      float64        `json:"high"`
	Found     map[string]int `json:"found"` // plays that proved it, by anomaly
}

func (t *tally) take(met bool, v checker.Verdict) {
	t.Plays++
	if met {
		t.Hits++
	}
	var names []string
	for _, a := range v.Anomalies {
		if v.Properties[a.Property].Required && !slices.Contains(names, a.Name) {
			names = append(names, a.Name)
			t.Found[a.Name]++
		}
	}
	t.Low, t.High = t.Interval()
}

// replays is a scenario that was played many times.
type replays struct {
	Scenario string `json:"scenario"`
	Lock     string `json:"lock"`
	Fencing  string `json:"fencing"`
	Expected string `json:"expected"`
	Alone    *tally `json:"alone"`
	Loaded   *tally `json:"loaded,omitempty"`
}

// runMany plays a scenario many times and says how often it came to what is expected.
func runMany(ctx context.Context, o harness.ScenarioOptions, runtimeName, clientImage string, times int, load, asJSON bool) error {
	want, _, err := o.Expected()
	if err != nil {
		return usage(err)
	}
	out := replays{Scenario: o.Scenario.Name, Lock: o.Lock, Fencing: o.Fencing, Expected: want.String()}
	play, end, err := player(ctx, o, runtimeName, clientImage, want)
	if err != nil {
		return huntError(err)
	}
	out.Alone, err = many(ctx, times, play)
	if err == nil && load {
		stop := loadMachine()
		out.Loaded, err = many(ctx, times, play)
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
		if t != nil && t.Hits < t.Plays {
			return &exitError{exitInvalid, nil}
		}
	}
	for _, t := range all {
		if t != nil && t.Plays < times {
			return &exitError{exitUnknown, nil}
		}
	}
	return nil
}

// onePlay is one play: what it showed, whether that is what is expected, whether it counts.
type onePlay func(ctx context.Context) (v checker.Verdict, met, counts bool, err error)

// many plays so many times, without those that do not count, of which there may be as many.
func many(ctx context.Context, times int, play onePlay) (*tally, error) {
	t := &tally{Found: map[string]int{}}
	t.Low, t.High = t.Interval()
	for t.Plays < times && t.Void <= times && ctx.Err() == nil {
		v, met, counts, err := play(ctx)
		if err != nil && ctx.Err() == nil {
			return t, err
		}
		switch {
		case ctx.Err() != nil: // what was played until then counts
		case !counts:
			t.Void++
		default:
			t.take(met, v)
		}
	}
	return t, nil
}

// player plays the scenario: a schedule on a lane that stays up, any other in runs of
// their own.
func player(ctx context.Context, o harness.ScenarioOptions, runtimeName, clientImage string, want *scenarios.Expectation) (onePlay, func() error, error) {
	s := o.Scenario
	if s.Programs == nil {
		n := 0
		return func(ctx context.Context) (v checker.Verdict, met, counts bool, err error) {
			x := o
			if n++; o.Out != "" {
				x.Out = filepath.Join(o.Out, fmt.Sprint(n))
			}
			r, err := harness.RunScenario(ctx, x)
			if err != nil {
				return v, false, false, err
			}
			return r.Verdict, r.Result.Met == checker.True, r.Result.Met != checker.Unknown, nil
		}, func() error { return nil }, nil
	}
	p, _, end, err := oneLane(ctx, laneFor{ScenarioOptions: o, runtime: runtimeName, clientImage: clientImage, faults: s.Faults()})
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) (v checker.Verdict, met, counts bool, err error) {
		x, err := p.Play(ctx, s)
		if err != nil {
			return v, false, false, err
		}
		judged, _ := want.Judge(x.Verdict, nil)
		return x.Verdict, judged == checker.True, x.Void == "" && judged != checker.Unknown, nil
	}, end, nil
}

// laneFor says what a lane is opened for.
type laneFor struct {
	harness.ScenarioOptions
	runtime, clientImage string
	faults               []string // kinds that servers have to be prepared for
	ignoreLost           bool
}

// oneLane opens a lane for a scenario's clients.
func oneLane(ctx context.Context, o laneFor) (hunt.Player, hunt.Target, func() error, error) {
	s := o.Scenario
	var target hunt.Target
	info, err := lockTable.Lookup(o.Lock)
	if err != nil {
		return nil, target, nil, usage(err)
	}
	dir, err := os.MkdirTemp("", "picklock-scenario-")
	if err != nil {
		return nil, target, nil, fmt.Errorf("make a folder for the servers' logs: %w", err)
	}
	remove := func() error { return os.RemoveAll(dir) }
	lo := lanes.Options{Extra: o.Extra, Abilities: o.Abilities, Runtime: o.runtime, ClientImage: o.clientImage, Self: o.Self, Dir: dir}
	lo.Settings.Lock, lo.Settings.Fencing, lo.Settings.Cluster, lo.Settings.TTL = o.Lock, o.Fencing, s.Cluster, s.TTL
	if o.Cluster != "" {
		lo.Settings.Cluster = o.Cluster
	}
	if o.runtime == "local" {
		lo.Settings.Folder = s.FolderOf(o.Lock)
	}
	target, err = lo.Target(ctx, info)
	if err != nil {
		return nil, target, nil, errors.Join(err, remove())
	}
	if s.Bound > 0 {
		target.Bound = s.Bound
	}
	for _, c := range s.Clients {
		if !slices.Contains(target.ClientNames(), c) {
			return nil, target, nil, errors.Join(usage(fmt.Errorf("clients are called %s, not %s", strings.Join(target.ClientNames(), ", "), c)), remove())
		}
	}
	lo.Settings.Faults, lo.Settings.IgnoreLost = o.faults, o.ignoreLost
	pool := lanes.NewPool(lo, target)
	players, err := pool.Open(untilAbandoned(ctx), 1)
	if err != nil {
		return nil, target, nil, errors.Join(err, remove())
	}
	return players[0], target, func() error { return errors.Join(pool.Close(), remove()) }, nil
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
		fmt.Fprintf(&b, "%-12s as expected in %d of %d plays (%.1f to %.1f %%), %d void\n", x.how+":", x.t.Hits, x.t.Plays, 100*x.t.Low, 100*x.t.High, x.t.Void)
		for _, name := range sortedNames(x.t.Found) {
			fmt.Fprintf(&b, "%-12s %s in %d\n", "", name, x.t.Found[name])
		}
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
