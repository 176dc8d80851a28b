package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/hunt"
	huntreport "github.com/picklock/picklock/hunt/report"
	"github.com/picklock/picklock/internal/suggest"
	"github.com/picklock/picklock/scenarios"
)

// shrinkFlags are what the command line says of a schedule that is to be made smaller.
type shrinkFlags struct {
	harness.ScenarioOptions
	options         []string
	find            []string
	runtime, out    string
	budget, replays int
	ttl             time.Duration
	asJSON          bool
	given           func(flag string) bool
}

// shrinkCommand makes a schedule as small as it goes.
func shrinkCommand() *cobra.Command {
	o := shrinkFlags{ScenarioOptions: harness.ScenarioOptions{Host: harness.Host{Locks: lockTable, Backends: backends}}}
	c := &cobra.Command{
		Use: "shrink FILE|RUNDIR", Short: "Reduce a failing scenario or run to the smallest that fails",
		Long: `Run a scenario whose clients carry out programs, and remove whatever the failure does not
need: faults, clients, steps, and uneven durations. What remains is printed, or written to
--out.

If the argument is the directory of a failed run, picklock first builds such a scenario
from its record: the clients that took part in a violation, what they did since the lock
was last free, and the faults of that time, each with a client's step as its trigger. If
that does not reproduce the failure, less exact scenarios follow, in the order that
docs/guides/hunt.md gives.

Exit codes: 0 it was shrunk, 1 the scenario does not fail, 2 no scenario built from the
run reproduced the failure, or the shrunk one failed in none of its last runs, 254
unusable arguments, 255 picklock itself failed.`,
		Example: `  picklock shrink mine.yaml --lock redis --out small.yaml
  picklock shrink picklock-results/latest --out small.yaml
  picklock shrink picklock-results/latest --find granted-early`,
		Args: oneArgument("a scenario's file, or the directory of a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.given = cmd.Flags().Changed
			if err := o.check(); err != nil {
				return usage(err)
			}
			var err error
			if o.Self, err = os.Executable(); err != nil {
				return fmt.Errorf("find the own program: %w", err)
			}
			if at, err := os.Stat(args[0]); err == nil && at.IsDir() {
				return o.ofRun(cmd.Context(), args[0])
			}
			return o.ofFile(cmd.Context(), args[0])
		},
	}
	f := c.Flags()
	f.StringVar(&o.Lock, "lock", "", "run it on this lock (default: the first that the scenario names, or the run's)")
	lockOptionFlag(f, &o.options)
	f.StringVar(&o.Fencing, "fencing", "none", fencingHelp+listed(fencingValues())+"; of a run the default is the run's")
	f.StringVar(&o.Cluster, "cluster", "", "run it on this cluster: a name or a Compose file (default: the scenario's, the run's, or the lock's own)")
	endpointFlagsTold(c, &o.Cluster)
	f.StringVar(&o.runtime, "runtime", "local", "run the nodes with: local, docker")
	f.StringSliceVar(&o.find, "find", nil, "keep one of these anomalies (default: the deepest that breaks a required property)")
	f.DurationVar(&o.ttl, "ttl", 0, "of a run: use this lease in what is built from it (default: the run's, or 500ms if that is shorter and the lock keeps it)")
	f.IntVar(&o.budget, "max-runs", 500, "shrink with at most this many runs")
	f.IntVar(&o.replays, "replays", 20, "replay what remains this often, to measure its rate; 0: not at all")
	f.StringVar(&o.out, "out", "", "write what remains to this file (default: print it)")
	f.BoolVar(&o.asJSON, "json", false, "print the result as JSON")
	return c
}

func (o *shrinkFlags) check() (err error) {
	if err = oneLock(o.Lock); err != nil {
		return err
	}
	if _, err = register.ParseFencingMode(o.Fencing); err != nil {
		return err
	}
	if o.Extra, err = clients.ParseOptions(o.options); err != nil {
		return err
	}
	for _, a := range o.find {
		if !slices.Contains(scenarios.Anomalies, a) {
			return fmt.Errorf("--find: %w", suggest.Unknown("anomaly", a, scenarios.Anomalies))
		}
	}
	switch {
	case o.budget < 1:
		return fmt.Errorf("--max-runs %d: want at least 1", o.budget)
	case o.replays < 0 || o.replays > maxRuns:
		return fmt.Errorf("--replays %d: want 0 to %d", o.replays, maxRuns)
	case o.ttl < 0:
		return fmt.Errorf("--ttl %v is negative", o.ttl)
	}
	return nil
}

func (o *shrinkFlags) how() hunt.ShrinkOptions {
	return hunt.ShrinkOptions{Find: o.find, Budget: o.budget, Replays: o.replays}
}

// ofFile shrinks a scenario.
func (o *shrinkFlags) ofFile(ctx context.Context, path string) (err error) {
	o.Scenario, err = scenarios.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		hint := ""
		if _, known := scenarios.Lookup(path); known == nil {
			hint = fmt.Sprintf(" (of the catalogue's scenario: picklock scenario show %s > %s.yaml)", path, path)
		}
		return usage(fmt.Errorf("%s is neither a file nor a folder: name a scenario's file, or the directory of a run%s", path, hint))
	}
	if err != nil {
		return usage(err)
	}
	if o.Scenario.Programs == nil {
		return usage(fmt.Errorf("%s has no clients with programs: only such a scenario can be shrunk (docs/reference/scenarios.md)", path))
	}
	if o.given("ttl") {
		return usage(errors.New("--ttl is for the directory of a run: a scenario has its own"))
	}
	return o.of(ctx, o.Scenario)
}

// of shrinks a scenario whose clients carry out programs.
func (o *shrinkFlags) of(ctx context.Context, s *scenarios.Scenario) error {
	if o.Scenario = s; o.Lock == "" {
		o.Lock = s.Locks[0]
	}
	p, target, end, err := oneTestbed(ctx, testbedFor{ScenarioOptions: o.ScenarioOptions, runtime: o.runtime, faults: o.Scenario.Faults()})
	if err != nil {
		return huntError(err)
	}
	small, err := hunt.Shrink(ctx, target, p, o.Scenario, o.how())
	if holds := errors.Is(err, hunt.ErrHolds); holds {
		fmt.Fprintln(os.Stderr, "picklock:", err)
		return errors.Join(&exitError{exitInvalid, nil}, end())
	}
	if errors.Is(err, hunt.ErrUntried) {
		fmt.Fprintln(os.Stderr, "picklock:", err)
		return errors.Join(&exitError{exitUnknown, nil}, end())
	}
	if err = errors.Join(err, end()); err != nil {
		return huntError(err)
	}
	return o.print(shrunk{Shrunk: small})
}

// shrunk is what --json prints.
type shrunk struct {
	*hunt.Shrunk
	Built *built `json:"built,omitempty"`
}

// print tells what remains.
func (o *shrinkFlags) print(s shrunk) error {
	fmt.Fprintf(os.Stderr, "%s: %d faults and %d steps, of %d and %d, after %d runs\n", s.Signature, s.Faults[1], s.Steps[1], s.Faults[0], s.Steps[0], s.Runs)
	if s.Larger != "" {
		fmt.Fprintf(os.Stderr, "it may not be minimal: %s (see --max-runs)\n", s.Larger)
	}
	if r := s.Rate; r.Runs > 0 {
		low, high := r.Interval()
		fmt.Fprintf(os.Stderr, "reproduced in %d of %d runs (%.1f to %.1f %%), %d discarded\n", r.Hits, r.Runs, 100*low, 100*high, r.Discarded)
	}
	for _, cause := range huntreport.Causes(s.Shrunk) {
		fmt.Fprintf(os.Stderr, "cause: %s\n", cause)
	}
	if o.out != "" {
		text, err := scenarios.WrittenTo(filepath.Dir(o.out), []byte(s.Schedule))
		if err == nil {
			err = os.WriteFile(o.out, text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("write the scenario: %w", err)
		}
	}
	var err error
	switch {
	case o.asJSON:
		err = printJSON(s)
	case o.out == "":
		_, err = os.Stdout.WriteString(s.Schedule)
	}
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	if s.Rate.Runs > 0 && s.Rate.Hits == 0 {
		fmt.Fprintln(os.Stderr, "picklock: it did not come again: what it was shrunk from was chance")
		return &exitError{exitUnknown, nil}
	}
	return nil
}
