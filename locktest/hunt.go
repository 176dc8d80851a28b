package locktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/picklock/picklock/hunt"
	huntreport "github.com/picklock/picklock/hunt/report"
	"github.com/picklock/picklock/hunt/testbeds"
	"github.com/picklock/picklock/internal/suggest"
	"github.com/picklock/picklock/scenarios"
)

// HuntOptions says what the lock runs on and how it is searched for ways to break it.
type HuntOptions struct {
	// Cluster, Servers, Builtin, Confirms and Extra: as in Options.
	Cluster  string
	Servers  []string
	Builtin  func(ctx context.Context, name string, args []string) error
	Confirms bool
	Extra    map[string]string

	// Fencing, as in Options. Without any, a holder that goes on after its lease always
	// breaks the register: see IgnoreHazards.
	Fencing string
	// TTL is the lease that clients ask for; 0: 250 ms, or longer where this machine is too
	// busy for that. A service that counts in seconds wants 1 s at least.
	TTL time.Duration

	// Faults are the kinds of fault that may be injected, as in picklock hunt --faults; nil: all.
	Faults []string
	// Depth is how many faults the schedules have of which all are run, 1 or 2; 0: 2.
	// Faults of "none" leave all of them out.
	Depth int
	// Find are the anomalies that are looked for (docs/reference/anomalies.md); nil: all that break
	// what is required of a lock.
	Find []string
	// IgnoreHazards leaves out what follows from a lease alone: a write that comes too late,
	// which only fencing can refuse.
	IgnoreHazards bool
	// Limit is how long is searched; 0: two minutes, or a third of what the test's deadline
	// (go test -timeout) leaves. What is found is then made small and measured, and what
	// helps is tried, within five minutes and that deadline.
	Limit time.Duration
	// Seed is that of what is drawn; 0: a new one.
	Seed uint64

	// Out is the folder below which the results go, in "hunt"; "": a new one in the
	// system's temporary folder, which is removed if the test passes.
	Out string

	finish time.Duration // how long all that follows the search may take
}

const (
	huntName = "hunt" // the folder of the results
	// replays is how often each counterexample is run alone in the end.
	replays = 20
	// longestSearch and longestFinish are how long a hunt and all that follows it take where
	// there is time for it.
	longestSearch = 2 * time.Minute
	longestFinish = 5 * time.Minute
	// aside is what is left of the test's time for starting and ending the servers.
	aside = 40 * time.Second
)

// Hunt searches for the least that it takes to break a lock, as picklock hunt does
// (docs/guides/hunt.md). The test fails with each counterexample that is found: what broke and why, and
// the paths of a scenario that runs it again and of the report. It fails as well if too
// much could not be run as it was meant, for then nothing is proved.
//
// A hunt that finds nothing reports its coverage (go test -v); that is no proof that
// there is nothing.
//
// A lock that was opened anew acquires and releases a key of its own ("warm...") before the next schedule, so that its
// connections are open in all of them alike.
func Hunt(t *testing.T, open Open, o HuntOptions) {
	t.Helper()
	call := nth(t)
	if Child() {
		child(t.Name(), call, open, o.Builtin)
		return // this call is not the one that the process was started for
	}
	if err := o.check(t); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	out := filepath.Join(folder(t, o.Out), huntName)
	r, err := o.search(t, o.order(t.Name(), call), open, out)
	if err != nil {
		t.Fatalf("locktest: hunt: %v", err)
	}
	report := filepath.Join(out, huntreport.PageFile)
	for _, w := range r.Counterexamples {
		t.Errorf("%s\nscenario: %s\nreport: %s", huntreport.Sentence(w), filepath.Join(out, huntreport.CounterexamplesFolder, w.Name+".yaml"), report)
	}
	for _, fault := range r.Infeasible {
		t.Logf("left out: %s", fault)
	}
	switch why := r.Unproved(); {
	case len(r.Counterexamples) > 0:
	case why != "":
		t.Errorf("nothing is proved: %s\nreport: %s", why, report)
	default:
		t.Log(r.Summary())
	}
}

// check fills in what is left out.
func (o *HuntOptions) check(t *testing.T) error {
	run := Options{Cluster: o.Cluster, Servers: o.Servers, Builtin: o.Builtin, Fencing: o.Fencing, Seed: o.Seed}
	if err := run.check(); err != nil {
		return err
	}
	if err := run.checkBuiltin(t.Context()); err != nil {
		return err
	}
	o.Fencing, o.Seed = run.Fencing, run.Seed
	if err := testbeds.CheckFaults(o.Faults); err != nil {
		return err
	}
	for _, a := range o.Find {
		if !slices.Contains(scenarios.Anomalies, a) {
			return suggest.Unknown("anomaly", a, scenarios.Anomalies)
		}
	}
	if o.Depth == 0 {
		o.Depth = 2
	}
	if o.Depth < 0 || o.Depth > 2 {
		return fmt.Errorf("depth %d: want 1 or 2", o.Depth)
	}
	left := o.Limit + longestSearch + longestFinish
	if deadline, bounded := t.Deadline(); bounded {
		left = time.Until(deadline) - aside
	}
	if o.Limit == 0 {
		o.Limit = min(longestSearch, left/3)
	}
	if o.Limit < time.Second || o.Limit >= left {
		return fmt.Errorf("a hunt of %v: want 1s at least (Limit), and less than the %v that the test's deadline leaves (go test -timeout)", o.Limit.Round(time.Millisecond), max(0, left).Round(time.Second))
	}
	o.finish = min(longestFinish, left-o.Limit)
	return nil
}

// order is what has to be known to run a schedule.
func (o *HuntOptions) order(test string, call int) order {
	return order{Test: test, Call: call, Fencing: o.Fencing, Cluster: o.Cluster, Servers: o.Servers, Confirms: o.Confirms}
}

// search hunts, and writes the results to a folder.
func (o *HuntOptions) search(t *testing.T, x order, open Open, out string) (_ *hunt.Result, err error) {
	ctx := t.Context()
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the test binary: %w", err)
	}
	files, err := os.MkdirTemp("", "picklock-locktest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(files)
	lo := testbeds.Options{Extra: o.Extra, Runtime: "local", AsCarried: true}
	if lo.Self, err = writeProgram(files, self, x); err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	if len(o.Servers) > 0 {
		lo.Keys = fmt.Sprintf("hunt-%x-%x", time.Now().UnixNano(), os.Getpid())
	}
	s := &lo.Settings
	s.Lock, s.Cluster, s.Fencing, s.TTL, s.Faults = x.lockName(), o.Cluster, o.Fencing, o.TTL, o.Faults
	if s.Cluster == "" {
		s.Cluster = "none"
	}
	info := x.info(open)
	target, err := lo.Target(ctx, info)
	if err == nil {
		err = target.CheckKinds()
	}
	if err != nil {
		return nil, err
	}
	// What an earlier test left there is not to be mixed with this one's.
	if _, err := os.Stat(filepath.Join(out, huntreport.RunsFile)); err == nil {
		if err := os.RemoveAll(out); err != nil {
			return nil, fmt.Errorf("clear the folder of an earlier hunt: %w", err)
		}
	}
	dir, err := huntreport.Open(out, "", target.Lock)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	lo.Dir = dir.Testbeds()
	say := func(text string) { t.Log(text) }
	// Why nothing can be run is reported by the testbeds that failed.
	broken := func(err error) error {
		dir.Keep()
		if _, none := os.Stat(came(lo.Self)); none != nil {
			return fmt.Errorf("%s (%w)", x.missed(), err)
		}
		return fmt.Errorf("%w%s", err, crash(filepath.Join(out, huntreport.TestbedsFolder, "*", "*")))
	}
	pool, runners, target, err := lo.Start(ctx, info, target, testbeds.Jobs(target), say)
	if err != nil {
		return nil, broken(err)
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	search := hunt.New(hunt.Options{
		Target: target, Depth: o.Depth, Time: o.Limit, Find: o.Find, IgnoreHazards: o.IgnoreHazards, Seed: o.Seed, Record: dir.Record,
		Tell: func(w *hunt.Counterexample) {
			t.Logf("found after %.1f s: %s (%d of %d runs)", w.FirstSecond, w.Signature, w.Search.Hits, w.Search.Runs)
		},
	})
	r, err := search.Run(ctx, runners)
	if err != nil {
		return nil, broken(err)
	}
	f := pool.Mitigations(info)
	f.Replays, f.Time, f.Tell = replays, o.finish, say
	if err := search.Finish(ctx, runners, f); err != nil {
		return nil, err
	}
	r.Command, r.Replay, r.Starts, r.Versions = x.again(), o.again(), pool.Starts(), pool.Versions()
	return r, dir.Write(r)
}

// again is how a counterexample is run again: as a scenario that fails with what breaks.
func (o *HuntOptions) again() string {
	on := fmt.Sprintf("Cluster: %q", o.Cluster)
	if len(o.Servers) > 0 {
		on = fmt.Sprintf("Servers: %#v", o.Servers)
	}
	return fmt.Sprintf("locktest.Run(t, open, locktest.Options{%s, Fencing: %q, Scenarios: []string{%q}, Expect: map[string][]string{%q: {}}})", on, o.Fencing, hunt.CounterexampleFile, hunt.CounterexampleName)
}
