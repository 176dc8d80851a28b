package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

func scenarioCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "scenario",
		Short: "Play a published lock failure step by step",
		Long: `A scenario is a named experiment: what each client does, which fault strikes
between which two steps, and what must come of it on which lock. The catalogue
holds the failures that have been published; docs/reference/scenarios.md says how to write
one's own.`,
		Example: `  picklock scenario list
  picklock scenario run pause-holder --lock redis
  picklock scenario run redlock-clock-jump
  picklock scenario run mine.yaml --lock etcd --fencing read-write`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(scenarioList(), scenarioShow(), scenarioRun())
	return c
}

type scenarioLine struct {
	Name    string   `json:"name"`
	About   string   `json:"about"`
	Source  string   `json:"source,omitempty"`
	Locks   []string `json:"locks"`
	Fencing []string `json:"fencing"`
	Faults  []string `json:"faults"`
}

func scenarioList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the catalogue", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			all, err := scenarios.All()
			if err != nil {
				return err
			}
			if asJSON {
				lines := []scenarioLine{}
				for _, s := range all {
					lines = append(lines, scenarioLine{s.Name, s.About, s.Source, s.Locks, s.Fencing, s.Faults()})
				}
				return printJSON(lines)
			}
			return printTable("SCENARIO\tLOCKS\tFAULTS", len(all), func(i int) string {
				s := all[i]
				return fmt.Sprintf("%s\t%s\t%s", s.Name, strings.Join(s.Locks, " "), orNone(s.Faults()))
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func scenarioShow() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "show NAME|FILE.yaml", Short: "Print a scenario's file", Args: oneArgument("a scenario's name, or its file"), ValidArgsFunction: completeScenario,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := findScenario(args[0], file)
			if err != nil {
				return err
			}
			_, err = os.Stdout.Write(s.Text)
			return err
		},
	}
	c.Flags().StringVar(&file, "file", "", "a file of your own instead of the catalogue's")
	return c
}

// findScenario is the scenario of the name, in the file if one is given. What ends as a file of
// a scenario does is the file itself. Without a name it is whichever the file holds.
func findScenario(name, file string) (*scenarios.Scenario, error) {
	if ext := filepath.Ext(name); file == "" && (ext == ".yaml" || ext == ".yml") {
		s, err := scenarios.Load(name)
		return s, usage(err)
	}
	if file == "" {
		s, err := scenarios.Lookup(name)
		return s, usage(err)
	}
	s, err := scenarios.Load(file)
	if err != nil {
		return nil, usage(err)
	}
	if name != "" && s.Name != name {
		return nil, usage(fmt.Errorf("%s holds the scenario %s, not %s", file, s.Name, name))
	}
	return s, nil
}

func scenarioRun() *cobra.Command {
	o := harness.ScenarioOptions{Host: harness.Host{Locks: lockTable, Backends: backends}}
	var file, runtime, clientImage string
	var options, abilities []string
	var asJSON, load bool
	var runs int
	c := &cobra.Command{
		Use: "run NAME|FILE.yaml|--file FILE.yaml", Short: "Play one scenario on one lock and say whether what was expected came of it",
		Long: `Play one scenario on one lock and say whether what was expected came of it.

With --forbid it is a test that one thing does not come back: what the file expects is left
aside, and so is every other anomaly.

Exit codes: 0 the expectation is met, 1 it is not, 2 the run proved too little,
254 unusable arguments, 255 picklock itself failed.`,
		Example: `  picklock scenario run pause-holder --lock redis
  picklock scenario run pause-holder --lock etcd --fencing read-write
  picklock scenario run counterexample-1-stale-write.yaml --count 100 --load
  picklock scenario run counterexample-1-granted-early.yaml --forbid granted-early`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && file != "" {
				return nil
			}
			return oneArgument("a scenario's name (see picklock scenario list), or a file of your own")(cmd, args)
		},
		ValidArgsFunction: completeScenario,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Scenario, err = findScenario(strings.Join(args, ""), file); err != nil {
				return err
			}
			if !cmd.Flags().Changed("seed") {
				o.Seed = rand.Uint64N(1 << 32)
			}
			if o.Lock == "" {
				o.Lock = o.Scenario.Locks[0]
			}
			info, err := lockTable.Lookup(o.Lock)
			if err != nil {
				return usage(err)
			}
			o.Lock = info.Name // the scenarios know no aliases
			if o.Extra, err = clients.ParseOptions(options); err != nil {
				return usage(err)
			}
			if o.Abilities, err = clients.ParseAbilities(abilities); err != nil {
				return usage(err)
			}
			if _, err := register.ParseDiscipline(o.Fencing); err != nil {
				return usage(err)
			}
			if _, _, err := o.Expected(); err != nil {
				return usage(fmt.Errorf("--forbid: %w", err))
			}
			if runs < 1 || runs > maxRuns {
				return usage(fmt.Errorf("--count %d: want 1 to %d", runs, maxRuns))
			}
			if load && runs == 1 {
				return usage(errors.New("--load goes with --count: it says how often it comes under load, too"))
			}
			return runScenario(cmd.Context(), o, runtime, clientImage, runs, load, asJSON)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Lock, "lock", "", "the lock to play it on (default: the first that the scenario names)")
	lockOptionFlag(f, &options)
	abilityFlag(f, &abilities)
	f.StringVar(&o.Fencing, "fencing", "none", fencingHelp+listed(fencingValues()))
	f.StringVar(&o.Register, "register", register.Builtin, registerHelp+listed(registerValues()))
	f.StringVar(&o.Cluster, "cluster", "", "cluster to run it on: a name or a Compose file (default: the scenario's, or the lock's own)")
	endpointFlags(c, &o.Cluster)
	f.StringVar(&file, "file", "", "a file of your own instead of the catalogue's")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of a scenario without a script (default: a new one)")
	f.StringVar(&o.Out, "out", "", "run directory (default: a new one below ./picklock-results)")
	f.StringVar(&runtime, "runtime", "local", "where the nodes run: local, docker")
	f.StringVar(&clientImage, "client-image", "", "with --runtime docker: an image that the clients run in, for an exec lock's program")
	f.StringSliceVar(&o.Forbid, "forbid", nil, "expect only that these anomalies do not appear, whatever else does")
	f.IntVar(&runs, "count", 1, "play it so many times, and say how often it came to what is expected")
	f.BoolVar(&load, "load", false, "with --count: as often again with all processors busy")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	return c
}

func runScenario(ctx context.Context, o harness.ScenarioOptions, runtime, clientImage string, runs int, load, asJSON bool) error {
	var err error
	if o.Runtime, err = findRuntime(ctx, runtime, clientImage); err != nil {
		return err
	}
	if err := o.Possible(ctx); err != nil {
		return usage(err)
	}
	if o.Self, err = os.Executable(); err != nil {
		return fmt.Errorf("find the own program: %w", err)
	}
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	if runs > 1 {
		return runMany(ctx, o, runtime, clientImage, runs, load, asJSON)
	}
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
