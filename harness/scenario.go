package harness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
	"github.com/picklock/picklock/workloads"
)

// ScenarioOptions says which scenario to play and on what.
type ScenarioOptions struct {
	Scenario *scenarios.Scenario
	Lock     string
	Fencing  string
	Register string            // what the protected resource is made of; "": our own server
	Cluster  string            // overrides the scenario's and the lock's own
	Extra    map[string]string // the lock's own options; those of the scenario hold besides
	// Abilities are what the user says that the lock can do (clients.Options).
	Abilities map[string]string
	Seed      uint64   // of a run without a script
	Again     []string // the command that plays it again; nil: picklock's own
	Out       string

	Locks    *clients.Table    // where Lock is found
	Backends register.Backends // where Register is found

	Runtime  Runtime
	Self     string
	Log      *slog.Logger
	Observer Observer               // may be nil
	Step     func(scenarios.Played) // may be nil: told of every step taken
	// Interrupt cuts the run short; see Options.
	Interrupt <-chan struct{}
}

// ScenarioOutcome is a scenario that was played, and whether what was expected
// came of it.
type ScenarioOutcome struct {
	Outcome
	Result results.Cell
}

// ScenarioCommand is the command line that plays the scenario again.
func (o ScenarioOptions) ScenarioCommand() []string {
	if o.Again != nil {
		return o.Again
	}
	c := []string{"picklock", "scenario", "run", o.Scenario.Name, "--lock", o.Lock, "--fencing", o.Fencing}
	c = append(c, optionFlags(o.Extra)...)
	c = append(c, abilityFlags(o.Abilities)...)
	if o.Register != "" && o.Register != register.Builtin {
		c = append(c, "--register", o.Register)
	}
	if o.Cluster != "" {
		c = append(c, "--cluster", o.Cluster)
	}
	if _, err := scenarios.Lookup(o.Scenario.Name); err != nil {
		c = append(c, "--file", o.Scenario.File)
	}
	return append(c, runtimeFlags(o.Runtime)...)
}

// RunScenario plays a scenario and judges what came of it. Errors are as for Run.
func RunScenario(ctx context.Context, o ScenarioOptions) (*ScenarioOutcome, error) {
	s := o.Scenario
	info, err := o.Locks.Lookup(o.Lock)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if o.Fencing == "" {
		o.Fencing = "none"
	}
	want, expected := s.Expected(o.Lock, o.Fencing), ""
	if want == nil || !s.AppliesTo(o.Lock) {
		want = &scenarios.Expectation{} // of a lock that the file does not name: that it holds
	} else {
		expected = want.String()
	}
	opts := o.runOptions()
	var outcome *Outcome
	var script *script
	var stepErr error
	if s.Run != nil {
		outcome, err = Run(ctx, opts)
	} else {
		outcome, script, stepErr, err = o.play(ctx, opts, info)
	}
	if err != nil {
		return nil, err
	}
	out := &ScenarioOutcome{Outcome: *outcome}
	out.Result = results.Cell{
		Scenario: s.Name, Lock: o.Lock, Fencing: o.Fencing, Runs: 1, Expected: expected, Must: want.Must,
		Found: map[string]int{}, Broken: []string{}, Valid: outcome.Verdict.Valid, Dir: outcome.Dir.Path(), Started: outcome.Run.Started,
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
	if len(r.Broken) == 0 {
		r.Clean = 1
	}
	for _, f := range outcome.Verdict.Stats.Faults {
		r.Landed += f.Landed
	}
	if script != nil {
		r.Counts, r.Steps = script.player.Counts(), script.steps
	}
	judge(r, want, outcome.Verdict, stepErr)
	if words := outcome.Run.CutWords(); words != "" {
		r.CutShort = true // whatever was found, what was asked for was not done
		r.Met, r.Why = checker.Unknown, words
	} else if script != nil {
		if r.LeftOut = unfit(s, o.Lock, stepErr, script.events, r.Met); r.LeftOut != "" {
			r.Met, r.Why = checker.Unknown, ""
		}
	}
	return out, outcome.Dir.WriteCell(*r, s.Text)
}

func (o ScenarioOptions) runOptions() Options {
	s := o.Scenario
	opts := Defaults()
	opts.Lock, opts.Fencing, opts.Cluster, opts.TTL, opts.Extra = o.Lock, o.Fencing, s.Cluster, s.TTL, o.extra()
	opts.Abilities, opts.Locks, opts.Backends = o.Abilities, o.Locks, o.Backends
	opts.Seed, opts.Out, opts.Again, opts.Register = o.Seed, o.Out, o.Again, o.Register
	if o.Cluster != "" {
		opts.Cluster = o.Cluster
	}
	opts.Runtime, opts.Self, opts.Log, opts.Observer, opts.Interrupt = o.Runtime, o.Self, o.Log, o.Observer, o.Interrupt
	if r := s.Run; r != nil {
		opts.Faults, opts.Limit, opts.Hold, opts.IgnoreLost = r.Faults, r.Limit, r.Hold, r.IgnoreLost
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
	opts.Clients = len(s.Clients)
	if info, err := o.Locks.Lookup(o.Lock); err == nil && !s.Touches() && (info.Declares || WorkloadFor(info) != "") {
		opts.Workload = WorkloadFor(info)
	}
	return opts
}

// extra is the scenario's options with the user's put over them.
func (o ScenarioOptions) extra() map[string]string {
	out := map[string]string{}
	maps.Copy(out, o.Scenario.Extra)
	maps.Copy(out, o.Extra)
	return out
}

// A scripted client waits for the lock, and for anything else, for longer than any
// step takes.
const (
	scriptWait    = 60 * time.Second
	scriptTimeout = 15 * time.Second
)

// script is a scenario being played on a run.
type script struct {
	*run
	info   clients.Info
	player *scenarios.Player
	looks  bool    // some step looks at what servers have for the lock
	looker *looker // nil where none does
	events []history.Event

	mu      sync.Mutex
	steps   []results.StepTaken
	nextID  int64
	waiting map[int64]chan workloads.Done
}

// play makes the run and takes the scenario's steps on it.
func (o ScenarioOptions) play(ctx context.Context, opts Options, info clients.Info) (_ *Outcome, _ *script, stepErr, err error) {
	p, err := opts.plan()
	if err != nil {
		return nil, nil, nil, err
	}
	if p.Observer == nil {
		p.Observer = silent{}
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	p.names = o.Scenario.Clients
	if o.Scenario.Bound > 0 {
		p.bound = o.Scenario.Bound
	}
	desc := p.describe(opts)
	desc.Command, desc.Scenario, desc.Faults, desc.Limit, desc.Hold, desc.Reach = o.ScenarioCommand(), o.Scenario.Name, o.Scenario.Faults(), 0, 0, 0
	if desc.Faults == nil {
		desc.Faults = []string{}
	}
	dir, err := p.directory(ctx, desc)
	if err != nil {
		return nil, nil, nil, err
	}
	sc := &script{run: &run{plan: p, dir: dir, start: history.Now()}, info: info, looks: o.Scenario.Looks(), waiting: map[int64]chan workloads.Done{}}
	sc.player = scenarios.NewPlayer(o.Scenario, sc, func(st scenarios.Played) {
		sc.mu.Lock()
		sc.steps = append(sc.steps, results.StepTaken(st))
		sc.mu.Unlock()
		if o.Step != nil {
			o.Step(st)
		}
	})
	sc.script = sc
	events, err := sc.whole(ctx, &desc, &stepErr)
	if err != nil {
		return nil, nil, nil, unfinished(dir, err)
	}
	p.Observer.Phase("check the history", time.Time{})
	sc.events = events
	verdict, err := Judge(dir, desc, events)
	if err != nil {
		return nil, nil, nil, err
	}
	return &Outcome{Dir: dir, Run: desc, Verdict: verdict}, sc, stepErr, nil
}

// whole is run.whole with the scenario's steps for an experiment.
func (sc *script) whole(ctx context.Context, desc *results.Run, stepErr *error) (_ []history.Event, err error) {
	defer func() {
		if sc.cluster != nil {
			err = errors.Join(err, sc.cluster.Close())
		}
	}()
	if err := sc.upUnlessInterrupted(ctx, desc); err != nil {
		return nil, err
	}
	sc.Observer.Phase("play", time.Time{})
	err = sc.perform(ctx, stepErr)
	if sc.looker != nil {
		err = errors.Join(err, sc.looker.stop())
	}
	desc.CutShort = sc.cut
	events, derr := sc.down(ctx)
	if err := errors.Join(err, derr); err != nil {
		return nil, err
	}
	desc.Warnings = sc.workers.warned()
	return events, sc.dir.WriteRun(*desc)
}

// perform takes the steps and heals what they broke. A step that could not be
// taken as it was meant is no failure of the harness: the history up to there is
// judged all the same.
func (sc *script) perform(ctx context.Context, stepErr *error) error {
	pctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case err := <-sc.workers.failed:
			cancel(err)
		case err := <-sc.cluster.Died():
			cancel(err)
		case <-sc.Interrupt:
			sc.interrupted()
			cancel(errInterrupted)
		case <-over:
		}
	})
	err := sc.player.Play(pctx)
	if cause := context.Cause(pctx); cause != nil {
		err = cause
	}
	close(over)
	watcher.Wait()
	if ctx.Err() != nil { // all nodes are ended as they are
		return fmt.Errorf("abandoned: %w", ctx.Err())
	}
	herr := sc.player.Heal(ctx)
	var step *scenarios.StepError
	if errors.As(err, &step) || errors.Is(err, errInterrupted) {
		*stepErr, err = err, nil
	}
	return errors.Join(err, herr)
}

// Possible says what stands in the way of a cell on this machine: a server that is
// not installed, a fault that it cannot do. nil if nothing does.
func (o ScenarioOptions) Possible(ctx context.Context) error {
	info, err := o.Locks.Lookup(o.Lock)
	if err != nil {
		return err
	}
	if err := info.CheckOptions(o.extra()); err != nil {
		return err
	}
	if err := info.CheckAbilities(o.Abilities); err != nil {
		return err
	}
	discipline, err := register.ParseDiscipline(o.Fencing)
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
		return fmt.Errorf("%s is no lock: the steps of a script have nothing to acquire", o.Lock)
	}
	if o.Scenario.Looks() && info.Look == nil {
		return fmt.Errorf("scenario %s looks for the lock's entry on its servers (await: key on, queued), and nobody knows where %s has it", o.Scenario.Name, o.Lock)
	}
	def, err := definition(ctx, cluster)
	if err != nil {
		return err
	}
	if scenarios.Own(o.Lock) && o.Scenario.NeedsServers() && len(def.Servers()) == 0 {
		return fmt.Errorf("scenario %s does something to the lock's servers, and picklock has started none that it could do it to", o.Scenario.Name)
	}
	if o.Runtime == nil {
		return nil
	}
	if r := o.Scenario.Runtime; r != "" && r != o.Runtime.Name() {
		return fmt.Errorf("scenario %s is played with --runtime %s only", o.Scenario.Name, r)
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
		if err := l.Lab.Able(def); err != nil {
			return err
		}
	}
	env := &nemesis.Env{Hands: o.Runtime.Hands(), Isolated: o.Runtime.Isolated()}
	for _, kind := range o.Scenario.Faults() {
		if o.Scenario.Run != nil {
			break // Run looks for itself
		}
		if err := (nemesis.Deed{Kind: kind}).Possible(env); err != nil {
			return err
		}
	}
	return nil
}
