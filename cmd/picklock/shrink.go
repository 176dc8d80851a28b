package main

import (
	"context"
	"errors"
	"fmt"
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
		Use: "shrink FILE|RUNDIR", Short: "Make what breaks a lock as small as it goes",
		Long: `Play a scenario whose clients carry out programs, and take away of it whatever is not
needed to break the lock in the same way: faults, clients, steps, and odd times. What
remains is printed, or written to --out.

Of the directory of a run that broke the lock, such a scenario is built first: the clients
that took part in a violation, what they did since the lock was last free, and the faults
that were on, each tied to what a client did then. Where that does not come again it is
built less exactly, in the order that docs/guides/hunt.md gives.

Exit codes: 0 it was made as small as it goes, 1 it breaks nothing, 2 nothing that was
built from the run's record came again, or what remains came in none of its last plays,
254 unusable arguments, 255 picklock itself failed.`,
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
	f.StringVar(&o.Lock, "lock", "", "the lock to play it on (default: the first that the scenario names, or the run's)")
	lockOptionFlag(f, &o.options)
	f.StringVar(&o.Fencing, "fencing", "none", fencingHelp+listed(fencingValues())+"; of a run the default is the run's")
	f.StringVar(&o.Cluster, "cluster", "", "cluster to run it on: a name or a Compose file (default: the scenario's, the run's, or the lock's own)")
	endpointFlagsTold(c, &o.Cluster)
	f.StringVar(&o.runtime, "runtime", "local", "where the nodes run: local, docker")
	f.StringSliceVar(&o.find, "find", nil, "keep one of these anomalies (default: the deepest that breaks a required property)")
	f.DurationVar(&o.ttl, "ttl", 0, "of a run: the lease of what is built from it (default: the run's, or 500ms where that is shorter and the lock keeps to it)")
	f.IntVar(&o.budget, "max-runs", 500, "how many plays it may take to make it smaller")
	f.IntVar(&o.replays, "replays", 20, "how often what remains is played in the end, to tell its rate; 0: not at all")
	f.StringVar(&o.out, "out", "", "file of what remains (default: it is printed)")
	f.BoolVar(&o.asJSON, "json", false, "print the result as JSON")
	return c
}

func (o *shrinkFlags) check() (err error) {
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
	if o.Scenario, err = scenarios.Load(path); err != nil {
		return usage(err)
	}
	if o.Scenario.Programs == nil {
		return usage(fmt.Errorf("%s has no clients with programs: only such a scenario can be made smaller (docs/reference/scenarios.md)", path))
	}
	if o.given("ttl") {
		return usage(errors.New("--ttl goes with the directory of a run: a scenario says its own"))
	}
	if o.Lock == "" {
		o.Lock = o.Scenario.Locks[0]
	}
	p, target, end, err := oneLane(ctx, laneFor{ScenarioOptions: o.ScenarioOptions, runtime: o.runtime, faults: o.Scenario.Faults()})
	if err != nil {
		return huntError(err)
	}
	small, err := hunt.Shrink(ctx, target, p, o.Scenario, o.how())
	if holds := errors.Is(err, hunt.ErrHolds); holds {
		fmt.Fprintln(os.Stderr, "picklock:", err)
		return errors.Join(&exitError{exitInvalid, nil}, end())
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
	fmt.Fprintf(os.Stderr, "%s: %d faults and %d steps, of %d and %d, after %d plays\n", s.Signature, s.Faults[1], s.Steps[1], s.Faults[0], s.Steps[0], s.Plays)
	if r := s.Rate; r.Plays > 0 {
		low, high := r.Interval()
		fmt.Fprintf(os.Stderr, "it comes in %d of %d plays (%.1f to %.1f %%), %d void\n", r.Hits, r.Plays, 100*low, 100*high, r.Void)
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
	if s.Rate.Plays > 0 && s.Rate.Hits == 0 {
		fmt.Fprintln(os.Stderr, "picklock: it did not come again: what it was shrunk from was chance")
		return &exitError{exitUnknown, nil}
	}
	return nil
}
