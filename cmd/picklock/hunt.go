package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/hunt"
	huntreport "github.com/picklock/picklock/hunt/report"
	"github.com/picklock/picklock/hunt/testbeds"
	"github.com/picklock/picklock/internal/proc"
	"github.com/picklock/picklock/internal/shard"
	"github.com/picklock/picklock/internal/suggest"
	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/scenarios"
)

// huntFlags are what the command line says of a hunt.
type huntFlags struct {
	testbeds.Options
	options, abilities, find []string
	limit, finish            time.Duration
	depth, jobs, replays     int
	seed                     uint64
	strategy, resume, out    string
	shard                    string
	part                     shard.Shard
	asJSON, first, beyond    bool
	given                    func(flag string) bool
}

func huntCommand() *cobra.Command {
	var f huntFlags
	c := &cobra.Command{
		Use: "hunt", Short: "Search for the smallest counterexamples of a lock",
		Long: `Search the schedules of a lock for counterexamples. A schedule is what the clients do,
which faults are injected, and at which step. First come schedules without a fault, then
those with one and a few pairs of faults, then the other pairs. Meanwhile the hunt varies
the schedules that came closest to a failure, until --duration is over. Each failure is
repeated until it is certain, shrunk, and written as a scenario that picklock scenario run
replays.

A hunt that finds nothing prints its coverage. That is no proof of safety.

Exit codes: 0 no counterexample, 1 a counterexample, 2 too little ran as planned, 254
unusable arguments, 255 picklock itself failed.`,
		Example: `  picklock hunt --lock redis
  picklock hunt --lock etcd --fencing read-write --duration 5m
  picklock hunt --lock exec:./mylock --cluster redis --find granted-early`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("seed") {
				f.seed = rand.Uint64N(1 << 32)
			}
			f.given = cmd.Flags().Changed
			return f.run(cmd.Context())
		},
	}
	s := &f.Settings
	fl := c.Flags()
	fl.StringVar(&s.Lock, "lock", "redis", "lock to test: a name (see picklock list locks), or exec:PROGRAM")
	lockOptionFlag(fl, &f.options)
	abilityFlag(fl, &f.abilities)
	fl.StringVar(&s.Cluster, "cluster", "", "run it on this cluster: a name or NAME@VERSION, or a Compose file (default: the lock's own)")
	endpointFlagsTold(c, &s.Cluster)
	fl.StringVar(&s.Fencing, "fencing", "none", fencingHelp+listed(fencingValues()))
	fl.DurationVar(&s.TTL, "ttl", 0, "lease (default: the shortest that the lock keeps, at least 250ms; of a library in Java at least 1s)")
	faultsFlag(fl, &s.Faults, nemesis.All)
	fl.BoolVar(&s.IgnoreLost, "ignore-lost", false, "let clients go on if their library reports that the lock is lost")
	fl.DurationVar(&f.limit, "duration", 90*time.Second, "search for this long; shrinking and replaying come after it")
	fl.DurationVar(&f.finish, "finish", 75*time.Second, "shrink and replay for at most this long; 0s: leave counterexamples as they were found")
	fl.IntVar(&f.depth, "max-faults", 2, "inject at most this many faults in a schedule: 0, 1 or 2 (default: 2, and more in guided schedules)")
	fl.Lookup("max-faults").DefValue = "0" // the text says it
	fl.StringSliceVar(&f.find, "find", nil, "search for these anomalies only (default: all that break a required property)")
	fl.BoolVar(&f.beyond, "ignore-hazards", false, "ignore lease hazards: stale writes that any lease or session allows, and only fencing can refuse")
	fl.IntVar(&f.jobs, "jobs", 0, "run this many schedules side by side (default: as many as the processors carry)")
	fl.IntVar(&f.replays, "replays", 20, "replay each counterexample this often, with the machine to itself")
	fl.StringVar(&f.strategy, "strategy", hunt.Guided, "search in this way: "+strings.Join(hunt.Strategies(), ", "))
	fl.BoolVar(&f.first, "fail-fast", false, "stop at the first counterexample that repeats")
	fl.Uint64Var(&f.seed, "seed", 0, "seed of the random choices (default: a new one)")
	fl.StringVar(&f.resume, "resume", "", "resume the hunt in this folder with its own flags (--duration, --finish, --jobs and --replays may change)")
	fl.StringVar(&f.shard, "shard", "", shardHelp)
	fl.StringVar(&f.out, "out", "", "write the results to this folder (default: a new one below ./picklock-results)")
	fl.StringVar(&f.Runtime, "runtime", "local", "run the nodes with: local, docker")
	fl.StringVar(&f.ClientImage, "client-image", "", "with --runtime docker: run the clients of an exec lock in this image")
	fl.BoolVar(&f.asJSON, "json", false, "print the result as JSON")
	before := c.PreRunE
	c.PreRunE = func(cmd *cobra.Command, args []string) error {
		if f.resume != "" && f.out == "" {
			if err := takeUp(cmd, f.resume); err != nil {
				return err
			}
		}
		return before(cmd, args)
	}
	return c
}

// check says what of the flags cannot work.
func (f *huntFlags) check() (clients.Info, error) {
	if err := oneLock(f.Settings.Lock); err != nil {
		return clients.Info{}, err
	}
	info, err := lockTable.Lookup(f.Settings.Lock)
	if err != nil {
		return info, err
	}
	f.Settings.Lock = info.Name
	if info.Unlocked != nil {
		return info, fmt.Errorf("%s is no lock: there is nothing to test", info.Name)
	}
	if f.Extra, err = clients.ParseOptions(f.options); err != nil {
		return info, err
	}
	if f.Abilities, err = clients.ParseAbilities(f.abilities); err != nil {
		return info, err
	}
	if err := errors.Join(info.CheckOptions(f.Extra), info.CheckAbilities(f.Abilities), knownRuntime(f.Runtime, f.ClientImage)); err != nil {
		return info, err
	}
	if _, err := register.ParseFencingMode(f.Settings.Fencing); err != nil {
		return info, err
	}
	if err := testbeds.CheckFaults(f.Settings.Faults); err != nil {
		return info, fmt.Errorf("--faults: %w", err)
	}
	for _, a := range f.find {
		if !slices.Contains(scenarios.Anomalies, a) {
			return info, fmt.Errorf("--find: %w", suggest.Unknown("anomaly", a, scenarios.Anomalies))
		}
	}
	if f.part, err = shard.Parse(f.shard, os.Getenv); err != nil {
		return info, fmt.Errorf("--%w", err)
	}
	switch {
	case !slices.Contains(hunt.Strategies(), f.strategy):
		return info, fmt.Errorf("--strategy: %w", suggest.Unknown("strategy", f.strategy, hunt.Strategies()))
	case f.depth < 0 || f.depth > 2:
		return info, fmt.Errorf("--max-faults %d: want 0, 1 or 2", f.depth)
	case f.given("ttl") && f.Settings.TTL < max(harness.MinTTL, info.MinTTL):
		return info, fmt.Errorf("--ttl %v: lock %s keeps leases of %v or more", f.Settings.TTL, info.Name, max(harness.MinTTL, info.MinTTL))
	case f.limit < time.Second:
		return info, fmt.Errorf("--duration %v: want at least 1s", f.limit)
	case f.finish < 0:
		return info, fmt.Errorf("--finish %v is negative", f.finish)
	case f.replays < 1 || f.replays > 10000:
		return info, fmt.Errorf("--replays %d: want 1 to 10000", f.replays)
	case f.jobs < 0 || f.jobs > 64:
		return info, fmt.Errorf("--jobs %d: want 1 to 64", f.jobs)
	}
	return info, nil
}

func (f *huntFlags) run(ctx context.Context) (err error) {
	info, err := f.check()
	if err != nil {
		return usage(err)
	}
	if err := harness.Serves(ctx, lockTable, info, f.Settings.Cluster); err != nil {
		return usage(err)
	}
	target, err := f.Target(ctx, info)
	if err != nil {
		return usage(err)
	}
	if err := target.CheckKinds(); err != nil {
		return usage(fmt.Errorf("--faults: %w", err))
	}
	if f.Self, err = os.Executable(); err != nil {
		return fmt.Errorf("find the own program: %w", err)
	}
	jobs := f.jobs
	if jobs == 0 {
		jobs, f.AsCarried = testbeds.Jobs(target), true
	}
	dir, err := huntreport.Open(f.out, f.resume, target.Lock)
	if err != nil {
		return usage(err)
	}
	defer dir.Close()
	f.Dir = dir.Testbeds()
	if !f.part.Whole() {
		f.Learn = testbeds.Declared
	}
	known, err := dir.Known()
	if err != nil {
		return err
	}
	found, err := dir.Found()
	if err != nil {
		return err
	}
	ui := newHuntProgress(os.Stderr)
	pool, runners, target, err := f.Start(untilAbandoned(ctx), info, target, jobs, func(text string) { ui.say("%s", text) })
	if err != nil {
		if !unusable(err) {
			dir.Keep()
		}
		return huntError(err)
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	if err := dir.Begin(f.command()); err != nil {
		return err
	}
	ui.say("%s", atMost(f.limit, f.finish))
	limit := 0
	if f.given("max-faults") {
		limit = cmp.Or(f.depth, -1)
	}
	search := hunt.New(hunt.Options{
		Target: target, Strategy: f.strategy, Depth: f.depth, Limit: limit, Part: partOf(f.part), Time: f.limit, Find: f.find, IgnoreHazards: f.beyond, FailFast: f.first, Seed: f.seed,
		Known: known, Found: found, Progress: ui.progress, Record: dir.Record, Tell: func(w *hunt.Counterexample) {
			dir.KeepFound(false, hunt.FindOf(w))
			ui.counterexample(w)
		},
	})
	before := f.used()
	ui.used = func() time.Duration { return f.used() - before }
	result, err := search.Run(ctx, runners)
	if err != nil {
		return huntError(err)
	}
	if result.CPU = (f.used() - before).Seconds(); result.CPU > 0 {
		result.Processors = runtime.NumCPU()
	}
	if f.finish == 0 && len(found) > 0 {
		search.Regroup()
	}
	if ctx.Err() == nil && f.finish > 0 {
		o := pool.Mitigations(info)
		o.Replays, o.Time, o.Tell = f.replays, f.finish, func(text string) { ui.say("%s", text) }
		if err := search.Finish(ctx, runners, o); err != nil {
			return err
		}
	}
	dir.KeepFound(true, search.Finds()...)
	result.Command, result.Starts, result.Versions = f.command(), pool.Starts(), pool.Versions()
	if !f.part.Whole() {
		if err := dir.WritePortion(f.part, search.Portion()); err != nil {
			return err
		}
	}
	ui.close()
	return writeHunt(dir, result, f.asJSON)
}

// atMost says how long a hunt takes from now on.
func atMost(search, finish time.Duration) string {
	if finish == 0 {
		return fmt.Sprintf("search for at most %v", search)
	}
	return fmt.Sprintf("search for at most %v, then shrink and replay what is found for at most %v: %v in all", search, finish, search+finish)
}

// used is the processor time of all processes of the hunt; 0 where that is not known: nodes on
// an engine are not processes of picklock.
func (f *huntFlags) used() time.Duration {
	if f.Runtime != "local" {
		return 0
	}
	used, err := proc.CPU(os.Getpid())
	if err != nil {
		return 0
	}
	return used
}

// partOf is the part of the space that a shard runs.
func partOf(s shard.Shard) hunt.Part {
	if s.Whole() {
		return hunt.Part{}
	}
	return hunt.Part{First: s.Index - 1, Step: s.Of}
}

// writeHunt writes and prints what a hunt came to, and says it with the exit code.
func writeHunt(dir *huntreport.Dir, result *hunt.Result, asJSON bool) error {
	err := dir.Write(result)
	if err != nil {
		return err
	}
	if asJSON {
		err = printJSON(result)
	} else {
		err = huntreport.Summary(os.Stdout, result, dir.Path())
	}
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	switch {
	case len(result.Counterexamples) > 0:
		return &exitError{exitInvalid, nil}
	case result.Unproved() != "":
		return &exitError{exitUnknown, nil}
	}
	return nil
}

func huntError(err error) error {
	if unusable(err) {
		return usage(err)
	}
	return err
}

// unusable says that nothing that was asked for can be run.
func unusable(err error) bool {
	return errors.Is(err, harness.ErrUsage) || errors.Is(err, hunt.ErrUnusable)
}

// command is the command line that makes the hunt again.
func (f *huntFlags) command() []string {
	s := f.Settings
	c := []string{"picklock", "hunt", "--lock", s.Lock}
	for _, o := range f.options {
		c = append(c, "--lock-option", o)
	}
	for _, a := range f.abilities {
		c = append(c, "--ability", a)
	}
	c = append(c, compose.Flags(s.Cluster)...)
	if s.Fencing != "none" {
		c = append(c, "--fencing", s.Fencing)
	}
	if !slices.Equal(s.Faults, []string{"all"}) {
		c = append(c, "--faults", strings.Join(s.Faults, ","))
	}
	if len(f.find) > 0 {
		c = append(c, "--find", strings.Join(f.find, ","))
	}
	if f.beyond {
		c = append(c, "--ignore-hazards")
	}
	if f.Runtime != "local" {
		c = append(c, "--runtime", f.Runtime)
	}
	if f.ClientImage != "" {
		c = append(c, "--client-image", f.ClientImage)
	}
	if s.IgnoreLost {
		c = append(c, "--ignore-lost")
	}
	if !f.part.Whole() {
		c = append(c, "--shard", f.part.String())
	}
	if f.strategy != hunt.Guided {
		c = append(c, "--strategy", f.strategy)
	}
	if f.jobs > 0 {
		c = append(c, "--jobs", fmt.Sprint(f.jobs))
	}
	if f.given("finish") {
		c = append(c, "--finish", f.finish.String())
	}
	if f.given("replays") {
		c = append(c, "--replays", fmt.Sprint(f.replays))
	}
	if f.first {
		c = append(c, "--fail-fast")
	}
	if f.given("ttl") { // of a lease that the hunt chose itself it tries others, too
		c = append(c, "--ttl", s.TTL.String())
	}
	if f.given("max-faults") {
		c = append(c, "--max-faults", fmt.Sprint(f.depth))
	}
	return append(c, "--duration", f.limit.String(), "--seed", fmt.Sprint(f.seed))
}
