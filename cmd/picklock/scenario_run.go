package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// scenarioFlags are the settings of scenario run as the user gave them.
type scenarioFlags struct {
	matrix harness.MatrixOptions
	locks  lockList

	options, abilities []string
	all, asJSON        bool

	// Of one scenario on one lock.
	seed     uint64
	register string
	forbid   []string
	load     bool

	// Of a matrix.
	shard               string
	expect, writeExpect string
	pace                time.Duration
}

// The flags that only one of the two forms takes.
var (
	singleFlags = []string{"seed", "register", "forbid", "load"}
	matrixFlags = []string{"jobs", "pace", "expect", "write-expect", "shard"}
)

func scenarioRunCommand() *cobra.Command {
	f := scenarioFlags{matrix: harness.MatrixOptions{Table: lockTable}}
	c := &cobra.Command{
		Use: "run [NAME | FILE.yaml ...]", Short: "Run scenarios and compare the results with what is expected",
		Long: `Run scenarios and compare the results with what is expected.

One scenario on one lock, with one fencing mode, prints moves and faults as they happen. With --count
it runs so many times, and the command prints how often the result was as expected. With
--forbid it is a regression test: the only expectation is that those anomalies do not appear.

Several scenarios, locks or fencing modes are a matrix, and --all runs the whole catalogue. Cells
with the same servers run one after the other on them. After a fault on a server, the next cell
gets new servers. The command writes matrix.html, matrix.svg, matrix.md, matrix.json
and junit.xml. If it was interrupted, the same command with the same --out keeps the finished
cells and runs the others.

Exit codes: 0 all as expected, 1 something was not, 2 a run proved too little, 254 unusable
arguments, 255 picklock itself failed.`,
		Example: `  picklock scenario run pause-holder --lock redis
  picklock scenario run pause-holder --lock etcd --fencing read-write
  picklock scenario run counterexample-1-stale-write.yaml --count 100 --load
  picklock scenario run counterexample-1-granted-early.yaml --forbid granted-early
  picklock scenario run --all
  picklock scenario run pause-holder delayed-write --lock redis,etcd --out m
  picklock scenario run --all --lock redis --write-expect picklock.yaml
  picklock scenario run --all --lock redis --expect picklock.yaml
  picklock scenario run --all --shard 1/3 --out shard-1    # then: picklock merge shard-*`,
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("seed") {
				f.seed = rand.Uint64N(1 << 32)
			}
			return f.run(cmd, args)
		},
	}
	fl := c.Flags()
	m := &f.matrix
	fl.BoolVar(&f.all, "all", false, "run the whole catalogue")
	fl.Var(&f.locks, "lock", "run on these locks, separated by commas, or on exec:COMMAND; may be repeated (default: for one scenario the first lock that it names, in a matrix all of them)")
	lockOptionFlag(fl, &f.options)
	abilityFlag(fl, &f.abilities)
	fl.StringSliceVar(&m.Fencing, "fencing", nil, fencingHelp+listed(fencingValues())+" (default: for one scenario none, in a matrix those that each scenario names)")
	fl.StringVar(&f.register, "register", register.Builtin, "for one scenario: "+registerHelp+listed(registerValues()))
	fl.StringVar(&m.Cluster, "cluster", "", "run on this cluster: a name or a Compose file (default: the scenario's, or the lock's own)")
	endpointFlags(c, &m.Cluster)
	fl.Uint64Var(&f.seed, "seed", 0, "for one scenario: seed of a scenario with autonomous clients (default: a new one)")
	fl.StringVar(&m.Out, "out", "", "write the results to this folder (default: a new one below ./picklock-results)")
	fl.StringVar(&m.Runtime, "runtime", "local", "run the nodes with: local, docker")
	fl.StringVar(&m.ClientImage, "client-image", "", "with --runtime docker: run the clients of an exec lock in this image")
	fl.StringSliceVar(&f.forbid, "forbid", nil, "for one scenario: expect only that these anomalies do not appear")
	fl.IntVar(&m.Runs, "count", 1, "run the scenario, or each cell of the matrix, this often")
	fl.BoolVar(&f.load, "load", false, "for one scenario, with --count: run it as often again with all processors busy")
	fl.IntVarP(&m.Jobs, "jobs", "j", 0, "for a matrix: run this many cells at a time (default: twice as many as there are CPUs; with --runtime docker as many as the engine's machine has)")
	fl.DurationVar(&f.pace, "pace", 0, "for a matrix: also measure how fast each lock is, in runs of this length, such as 5s")
	fl.StringVar(&f.expect, "expect", "", "for a matrix: compare with this file instead of the scenarios' own expectations")
	fl.StringVar(&f.writeExpect, "write-expect", "", "for a matrix: write its results to this file, for --expect")
	fl.StringVar(&f.shard, "shard", "", "for a matrix: "+shardHelp)
	fl.BoolVar(&f.asJSON, "json", false, "print the result as JSON")
	return c
}

func (f *scenarioFlags) run(cmd *cobra.Command, args []string) error {
	m := &f.matrix
	if err := f.scenarios(args); err != nil {
		return usage(err)
	}
	if err := f.names(cmd.Context()); err != nil {
		return usage(err)
	}
	changed := func(names []string) string {
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				return name
			}
		}
		return ""
	}
	if f.all || len(m.Scenarios) > 1 || len(m.Locks) > 1 || len(m.Fencing) > 1 || changed(matrixFlags) != "" {
		if name := changed(singleFlags); name != "" {
			return usage(fmt.Errorf("--%s is for one scenario on one lock with one fencing mode, and this is a matrix", name))
		}
		announceExternal(cmd, m.Cluster)
		if err := buildLocks(cmd.Context(), m.Locks...); err != nil {
			return err
		}
		for _, s := range m.Scenarios {
			if err := buildCluster(cmd.Context(), cmp.Or(m.Cluster, s.Cluster), m.Runtime); err != nil {
				return err
			}
			for _, lock := range m.Locks {
				if err := buildServers(cmd.Context(), lock, cmp.Or(m.Cluster, s.Cluster), m.Runtime); err != nil {
					return err
				}
			}
		}
		return f.runMatrix(cmd.Context())
	}
	return f.runSingle(cmd.Context())
}

// scenarios loads what the arguments name.
func (f *scenarioFlags) scenarios(args []string) error {
	m := &f.matrix
	switch {
	case f.all && len(args) > 0:
		return fmt.Errorf("--all runs the whole catalogue: leave out %s, or --all", strings.Join(args, " "))
	case f.all:
		var err error
		m.Scenarios, err = scenarios.All()
		return err
	case len(args) == 0:
		return errors.New("say which scenario, or --all: a name (see picklock list scenarios), or a file of your own")
	}
	for _, arg := range args {
		s, err := findScenario(arg)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(m.Scenarios, func(other *scenarios.Scenario) bool { return other.Name == s.Name }) {
			return fmt.Errorf("scenario %s twice: give each its own name", s.Name)
		}
		m.Scenarios = append(m.Scenarios, s)
	}
	return nil
}

// names looks up the names that both forms take.
func (f *scenarioFlags) names(ctx context.Context) (err error) {
	m := &f.matrix
	for _, lock := range f.locks {
		info, err := lockTable.Lookup(lock)
		if err != nil {
			return err
		}
		m.Locks = append(m.Locks, info.Name) // the scenarios know no aliases
	}
	for _, d := range m.Fencing {
		if _, err := register.ParseFencingMode(d); err != nil {
			return err
		}
	}
	if m.Runs < 1 || m.Runs > maxRuns {
		return fmt.Errorf("--count %d: want 1 to %d", m.Runs, maxRuns)
	}
	if err := knownRuntime(m.Runtime, m.ClientImage); err != nil {
		return err
	}
	if m.Cluster != "" && m.Cluster != "none" {
		if _, err := compose.Load(ctx, m.Cluster); err != nil {
			return fmt.Errorf("--cluster: %w", err)
		}
	}
	if m.Extra, err = clients.ParseOptions(f.options); err != nil {
		return err
	}
	m.Abilities, err = clients.ParseAbilities(f.abilities)
	return err
}

// findScenario is the scenario of the file, or the one of that name in the catalogue.
func findScenario(arg string) (*scenarios.Scenario, error) {
	if ext := filepath.Ext(arg); ext == ".yaml" || ext == ".yml" {
		return scenarios.Load(arg)
	}
	s, err := scenarios.Lookup(arg)
	if err == nil {
		return s, nil
	}
	switch at, stat := os.Stat(arg); {
	case stat != nil:
		return nil, err
	case at.IsDir():
		return nil, fmt.Errorf("%s is a folder: name the scenario's file in it", arg)
	}
	return nil, fmt.Errorf("%s is no scenario of the catalogue, and the name of a scenario's file ends with .yaml or .yml", arg)
}

// runSingle runs one scenario on one lock with one fencing mode.
func (f *scenarioFlags) runSingle(ctx context.Context) (err error) {
	m := &f.matrix
	o := harness.ScenarioOptions{
		Host:     harness.Host{Locks: lockTable, Backends: backends, Extra: m.Extra, Abilities: m.Abilities, Out: m.Out},
		Scenario: m.Scenarios[0], Fencing: "none", Cluster: m.Cluster, Seed: f.seed, Register: f.register, Forbid: f.forbid,
	}
	if o.Lock = o.Scenario.Locks[0]; len(m.Locks) > 0 {
		o.Lock = m.Locks[0]
	}
	if o.Lock == scenarios.Every {
		return usage(fmt.Errorf("%s is for locks of your own: say which, with --lock", o.Scenario.Name))
	}
	if len(m.Fencing) > 0 {
		o.Fencing = m.Fencing[0]
	}
	if _, _, err := o.Expected(); err != nil {
		return usage(fmt.Errorf("--forbid: %w", err))
	}
	if m.Runs > 1 && o.Scenario.Programs != nil { // on a testbed that stays up, which keeps no runs
		switch {
		case o.Register != register.Builtin:
			return usage(fmt.Errorf("--register %s cannot be used with --count: all runs share servers, and each needs an empty register", o.Register))
		case o.Out != "":
			return usage(errors.New("--out cannot be used with --count: the runs of a scenario with programs leave no folders"))
		}
	}
	if f.load && m.Runs == 1 {
		return usage(errors.New("--load needs --count: it says how often the result is as expected under load"))
	}
	if err := errors.Join(buildLocks(ctx, o.Lock), buildServers(ctx, o.Lock, cmp.Or(o.Cluster, o.Scenario.Cluster), m.Runtime)); err != nil {
		return err
	}
	if o.Runtime, err = findRuntime(ctx, m.Runtime, m.ClientImage); err != nil {
		return err
	}
	if err := o.Possible(ctx); err != nil {
		return usage(err)
	}
	if o.Self, err = os.Executable(); err != nil {
		return fmt.Errorf("find the own program: %w", err)
	}
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	if m.Runs > 1 {
		return runMany(ctx, o, m.Runtime, m.ClientImage, m.Runs, f.load, f.asJSON)
	}
	return runOneScenario(ctx, o, f.asJSON)
}

func runOneScenario(ctx context.Context, o harness.ScenarioOptions, asJSON bool) error {
	if !asJSON {
		o.Step = func(s scenarios.Taken) {
			fmt.Fprintf(os.Stderr, "%9.3f s  %-40s %s\n", float64(s.At)/1e9, s.Text, s.Outcome)
		}
	}
	began := time.Now()
	o.Interrupt = ctx.Done()
	outcome, err := harness.RunScenario(untilAbandoned(ctx), o)
	if errors.Is(err, harness.ErrUsage) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	outcome.Result.Seconds = time.Since(began).Seconds()
	if asJSON {
		err = printJSON(struct {
			results.Cell
			Seed   uint64 `json:"seed"`
			Report string `json:"report"`
		}{outcome.Result, outcome.Run.Seed, outcome.Dir.Report()})
	} else {
		err = results.CellSummary(os.Stdout, outcome.Result, outcome.Dir.Report(), colourful(os.Stdout))
	}
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return met(outcome.Result.Met)
}

// met is an expectation's exit code.
func met(v checker.Validity) error {
	switch v {
	case checker.True:
		return nil
	case checker.False:
		return &exitError{exitInvalid, nil}
	}
	return &exitError{exitUnknown, nil}
}
