package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// ScenarioOptions says which scenario to run and on what.
type ScenarioOptions struct {
	Scenario *scenarios.Scenario
	Lock     string
	Fencing  string
	Register string // what the protected resource is made of; "": our own server
	Cluster  string // overrides the scenario's and the lock's own
	Seed     uint64 // of a run without a script
	// Forbid are anomalies that must not appear, whatever else does; none: what the scenario
	// itself expects.
	Forbid []string
	// Host's Extra are the lock's own options; those of the scenario hold besides.
	Host
	Step func(scenarios.Taken) // may be nil; called with every step taken
}

// ScenarioOutcome is a scenario that was run, and whether what was expected
// came of it.
type ScenarioOutcome struct {
	Outcome
	Result results.Cell
	misses bool // nothing is wrong but that something was not found
}

// ScenarioCommand is the command line that runs the scenario again.
func (o ScenarioOptions) ScenarioCommand() []string {
	if o.Again != nil {
		return o.Again
	}
	c := []string{"picklock", "scenario", "run", o.Scenario.Argument(), "--lock", o.Lock, "--fencing", o.Fencing}
	c = append(c, optionFlags(o.Extra)...)
	c = append(c, abilityFlags(o.Abilities)...)
	if o.Register != "" && o.Register != register.Builtin {
		c = append(c, "--register", o.Register)
	}
	c = append(c, compose.Flags(o.Cluster)...)
	if len(o.Forbid) > 0 {
		c = append(c, "--forbid", strings.Join(o.Forbid, ","))
	}
	return append(c, runtimeFlags(o.Runtime)...)
}

// Expected is what must come of it; known says that the file has it. Of a lock that the
// file does not name it is that it holds.
func (o ScenarioOptions) Expected() (want *scenarios.Expectation, known bool, err error) {
	if len(o.Forbid) > 0 {
		want, err = scenarios.Forbidding(o.Forbid)
		return want, true, err
	}
	lock := catalogued(o.Locks, o.Lock)
	if want = o.Scenario.Expected(lock, o.Fencing); want == nil || !o.Scenario.AppliesTo(lock) {
		return &scenarios.Expectation{}, false, nil
	}
	return want, true, nil
}

// catalogued is what the catalogue calls a lock.
func catalogued(t *clients.Table, lock string) string {
	if info, err := t.Lookup(lock); err == nil && info.Library != nil {
		return scenarios.LibraryPrefix + lock
	}
	return lock
}

// mostRuns is how often a scenario is run until this machine is not too busy for it.
const mostRuns = 5

// RunScenario runs a scenario and judges what came of it. A run that shows nothing because this
// machine was too busy for it is discarded, counted, and run again. Errors are as for Run.
func RunScenario(ctx context.Context, o ScenarioOptions) (*ScenarioOutcome, error) {
	for n := 0; ; n++ {
		out, stepErr, err := o.runOnce(ctx)
		if err != nil {
			return nil, err
		}
		out.Result.Discarded = n
		if ctx.Err() != nil || !out.tooBusy(o.Scenario, stepErr) || out.givesUp(n+1) {
			return out, out.Dir.WriteCell(out.Result, o.Scenario.Text)
		}
		if err := out.Dir.Discard(); err != nil {
			return nil, fmt.Errorf("discard a run that this machine was too busy for: %w", err)
		}
	}
}

// tooBusy says that this machine may be why the run shows nothing: a step came too late, or the
// machine stood still. After a standstill a client's own time-outs may have ended what the steps wait
// for, and leases have ended that were to be on while the next step was taken.
func (out *ScenarioOutcome) tooBusy(s *scenarios.Scenario, stepErr error) bool {
	if out.differsByWallClock() {
		return true
	}
	if out.Result.Met == checker.Unknown {
		return errors.Is(stepErr, scenarios.ErrBusy) || out.Verdict.Stats.Stalls > 0
	}
	return s.Run == nil && out.Verdict.Stats.Stalls > 0 && (len(out.Result.Broken) == 0 || out.misses)
}

// differsByWallClock says that the run shows what was not expected, and that this machine's wall clock, which was set, may be why.
func (out *ScenarioOutcome) differsByWallClock() bool {
	r := out.Result
	return out.wallSet != 0 && (r.Met == checker.False || r.Met == checker.Unknown && len(r.Broken) > 0)
}

// givesUp says whether no more runs are made after so many, for all of which this machine was too busy, and makes of
// what the last of them shows no result.
func (out *ScenarioOutcome) givesUp(runs int) bool {
	if runs < mostRuns {
		return false
	}
	r := &out.Result
	switch {
	case out.differsByWallClock():
		r.Met, r.Why = checker.Unknown, fmt.Sprintf("of %d runs none shows anything: in the last one %s", runs, setWords(out.wallSet))
	case r.Met != checker.Unknown:
		r.Met, r.Why = checker.Unknown, fmt.Sprintf("this machine was too busy for all of %d runs: in the last one it stood still for a quarter of the lease or longer, and that run does not show what its steps lead to; run it again while less else runs", runs)
	}
	return true
}

// runOnce runs it once, and says which step could not be taken as it was meant.
func (o ScenarioOptions) runOnce(ctx context.Context) (_ *ScenarioOutcome, stepErr error, _ error) {
	s := o.Scenario
	if info, err := o.Locks.Lookup(o.Lock); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUsage, err)
	} else if info.Kind == clients.Semaphore && s.WaitsForWrite() {
		return nil, nil, fmt.Errorf("%w: scenario %s waits for a write, and lock %s is a semaphore: several hold it at once, so its clients write nothing", ErrUsage, s.Name, o.Lock)
	}
	if o.Fencing == "" {
		o.Fencing = "none"
	}
	want, known, err := o.Expected()
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	expected := ""
	if known {
		expected = want.String()
	}
	opts := o.runOptions()
	outcome, script, err := o.execute(ctx, opts)
	if err != nil {
		return nil, nil, err
	}
	out := &ScenarioOutcome{Outcome: *outcome}
	out.Result = results.Cell{
		Scenario: s.Name, Lock: o.Lock, Fencing: o.Fencing, Runs: 1, Expected: expected, Must: want.Must,
		Found: map[string]int{}, Broken: []string{}, Valid: outcome.Verdict.Valid, Class: outcome.Verdict.Class(), Dir: outcome.Dir.Path(), Started: outcome.Run.Started,
		Seconds: time.Since(outcome.Run.Started).Seconds(), Versions: outcome.Run.Versions,
		Command: o.ScenarioCommand(),
	}
	out.Result.Service = serviceOf(o.Locks, o.Lock, o.Cluster)
	out.Result.Emulator, out.Result.Refused = outcome.Run.Emulator, outcome.Verdict.Stats.Rejected
	r := &out.Result
	for _, a := range outcome.Verdict.Anomalies {
		r.Found[a.Name]++
		if !outcome.Verdict.Properties[a.Property].Required {
			continue
		}
		if !slices.Contains(r.Broken, a.Name) {
			r.Broken = append(r.Broken, a.Name)
		}
	}
	r.Sentence, r.Causes = results.Sentence(outcome.Verdict), results.Causes(outcome.Run, outcome.Verdict)
	slices.Sort(r.Broken)
	switch {
	case len(r.Broken) > 0:
	case outcome.Verdict.Valid == checker.Unknown:
		r.Unproved = 1
	default:
		r.Clean = 1
	}
	for _, f := range outcome.Verdict.Stats.Faults {
		r.Confirmed += f.Confirmed
	}
	if script != nil {
		r.Counts, r.Steps, stepErr = script.runner.Counts(), script.taken(), script.stepErr
	}
	judge(r, want, outcome.Verdict, stepErr)
	out.misses = want.Misses(outcome.Verdict)
	if words := outcome.Run.CutWords(); words != "" {
		r.CutShort = true // whatever was found, what was asked for was not done
		r.Met, r.Why = checker.Unknown, words
	} else if script != nil {
		if r.LeftOut = unfit(s, o.Lock, stepErr, script.grants, r.Met); r.LeftOut != "" {
			r.Met, r.Why = checker.Unknown, ""
		}
	}
	return out, stepErr, nil
}

func (o ScenarioOptions) runOptions() Options {
	s := o.Scenario
	opts := Defaults()
	opts.Host = o.Host
	opts.Extra = o.LockOptions()
	opts.Lock, opts.Fencing, opts.Cluster, opts.TTL, opts.Seed, opts.Register = o.Lock, o.Fencing, s.Cluster, s.TTL, o.Seed, o.Register
	if o.Cluster != "" {
		opts.Cluster = o.Cluster
	}
	if o.Runtime == nil || o.Runtime.Name() == "local" { // elsewhere the folders are others
		opts.Folder = s.FolderOf(o.Lock)
	}
	if r := s.Run; r != nil {
		opts.Faults, opts.Limit, opts.WorkTime, opts.IgnoreLost = r.Faults, r.Limit, r.WorkTime, r.IgnoreLost
		if r.Clients > 0 {
			opts.Clients = r.Clients
		}
		if r.Keys > 0 {
			opts.Keys = r.Keys
		}
		if r.Workload != "" {
			opts.Workload = r.Workload
		}
		return opts
	}
	opts.Clients, opts.IgnoreLost = len(s.Clients), s.IgnoreLost
	info, err := o.Locks.Lookup(o.Lock)
	several := info.Kind == clients.ReadWrite || info.Kind == clients.Semaphore
	if err == nil && (several || !s.Touches() && (info.Declares || WorkloadFor(info) != "")) {
		opts.Workload = WorkloadFor(info)
	}
	return opts
}

// LockOptions are the scenario's options of the lock, with the user's put over them.
func (o ScenarioOptions) LockOptions() map[string]string {
	out := map[string]string{}
	maps.Copy(out, o.Scenario.Extra)
	maps.Copy(out, o.Extra)
	return out
}

// run makes the run: of clients that take the scenario's steps, or, where it has none,
// of clients that act by themselves; the script is nil then.
func (o ScenarioOptions) execute(ctx context.Context, opts Options) (*Outcome, *script, error) {
	if o.Scenario.Run != nil {
		outcome, err := Run(ctx, opts)
		return outcome, nil, err
	}
	p, err := opts.plan()
	if err != nil {
		return nil, nil, err
	}
	p.names, p.scripted, p.disks = o.Scenario.Clients, true, p.needsDisks(o.Scenario.Faults()...)
	p.leased = o.Scenario.Lease
	if o.Scenario.Bound > 0 {
		p.bound = o.Scenario.Bound
	}
	p.timeout = o.Scenario.Timeout
	desc := p.describe(opts)
	desc.Command, desc.Scenario, desc.Faults, desc.Limit, desc.WorkTime, desc.Reach, desc.Overrun = o.ScenarioCommand(), o.Scenario.Name, o.Scenario.Faults(), 0, 0, 0, 0
	desc.Keys = o.Scenario.Keys()
	if desc.Faults == nil {
		desc.Faults = []string{}
	}
	var sc *script
	r, err := p.run(ctx, desc, func(r *run) driver {
		sc = newScript(r, o.Scenario, o.Step)
		sc.alone = true
		return sc
	})
	if err != nil {
		return nil, nil, err
	}
	outcome, err := r.outcome(ctx)
	return outcome, sc, err
}

// Possible says what stands in the way of a cell on this machine: a server that is
// not installed, a fault that it cannot do. nil if nothing does.
func (o ScenarioOptions) Possible(ctx context.Context) error {
	info, err := o.Locks.Lookup(o.Lock)
	if err != nil {
		return err
	}
	if err := info.CheckOptions(o.LockOptions()); err != nil {
		return err
	}
	if err := info.CheckAbilities(o.Abilities); err != nil {
		return err
	}
	discipline, err := register.ParseFencingMode(o.Fencing)
	if err != nil {
		return err
	}
	if err := fits(info, discipline); err != nil {
		return err
	}
	cluster := o.Cluster
	if cluster == "" {
		cluster = o.Scenario.Cluster
	}
	if cluster == "" {
		cluster = info.Cluster
	}
	if cluster == "" {
		return fmt.Errorf("lock %s has no cluster of its own: name one with --cluster", o.Lock)
	}
	if info.Unlocked != nil && o.Scenario.Run == nil {
		return fmt.Errorf("%s is no lock: the clients of a scenario have nothing to acquire", o.Lock)
	}
	if o.Scenario.Looks() && info.Inspect == nil {
		return fmt.Errorf("scenario %s looks for the lock's entry on its servers (await: key on, queued), and picklock does not know where %s keeps it: await the client instead, as in \"B waiting\"", o.Scenario.Name, o.Lock)
	}
	def, err := definition(ctx, cluster)
	if err != nil {
		return err
	}
	if err := Serves(ctx, o.Locks, info, cluster); err != nil {
		return err
	}
	if scenarios.Own(o.Lock) && o.Scenario.NeedsServers() && len(def.Servers()) == 0 {
		return fmt.Errorf("scenario %s does something to the lock's servers, and picklock has started none that it could do it to", o.Scenario.Name)
	}
	if o.Runtime == nil {
		return nil
	}
	if r := o.Scenario.Runtime; r != "" && r != o.Runtime.Name() {
		return fmt.Errorf("scenario %s is run with --runtime %s only", o.Scenario.Name, r)
	}
	if o.Runtime.Name() == "local" {
		for _, s := range def.Servers() {
			if s.Spec.Local == nil {
				return fmt.Errorf("service %s runs with --runtime docker only", s.Name)
			}
			if err := s.Spec.Local.Missing(); err != nil {
				return err
			}
		}
	}
	if l, ok := o.Runtime.(Local); ok {
		if err := l.Sandbox.Able(def); err != nil {
			return err
		}
	}
	env := &nemesis.Env{Injector: o.Runtime.Injector(), Isolated: o.Runtime.Isolated()}
	for _, kind := range o.Scenario.Needed() {
		if o.Scenario.Run != nil {
			break // Run looks for itself
		}
		if err := (nemesis.FaultRequest{Kind: kind}).Possible(env); err != nil {
			return err
		}
	}
	return nil
}
