package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/scenarios"
)

// shrinkCommand makes a schedule as small as it goes.
func shrinkCommand() *cobra.Command {
	o := harness.ScenarioOptions{Host: harness.Host{Locks: lockTable, Backends: backends}}
	var out, runtime string
	var options []string
	var budget int
	var asJSON bool
	c := &cobra.Command{
		Use: "shrink FILE", Short: "Make a schedule that breaks a lock as small as it goes",
		Long: `Play a scenario whose clients carry out programs, and take away of it whatever is not
needed to break the lock in the same way: faults, clients, steps, and odd times. What
remains is printed, or written to --out.

Exit codes: 0 it was made as small as it goes, 1 it breaks nothing, 254 unusable
arguments, 255 picklock itself failed.`,
		Example: `  picklock shrink mine.yaml --lock redis --out small.yaml`,
		Args:    oneArgument("a scenario's file"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			ctx := cmd.Context()
			if o.Scenario, err = scenarios.Load(args[0]); err != nil {
				return usage(err)
			}
			if o.Scenario.Programs == nil {
				return usage(fmt.Errorf("%s has no clients with programs: only such a scenario can be made smaller (docs/scenarios.md)", args[0]))
			}
			if o.Lock == "" {
				o.Lock = o.Scenario.Locks[0]
			}
			if _, err := register.ParseDiscipline(o.Fencing); err != nil {
				return usage(err)
			}
			if o.Extra, err = clients.ParseOptions(options); err != nil {
				return usage(err)
			}
			if budget < 1 {
				return usage(fmt.Errorf("--plays %d: want at least 1", budget))
			}
			if o.Self, err = os.Executable(); err != nil {
				return fmt.Errorf("find the own program: %w", err)
			}
			p, target, end, err := oneLane(ctx, o, runtime, "")
			if err != nil {
				return huntError(err)
			}
			small, err := hunt.Shrink(ctx, target, p, o.Scenario, budget)
			if holds := errors.Is(err, hunt.ErrHolds); holds {
				fmt.Fprintln(os.Stderr, "picklock:", err)
				return errors.Join(&exitError{exitInvalid, nil}, end())
			}
			if err = errors.Join(err, end()); err != nil {
				return huntError(err)
			}
			fmt.Fprintf(os.Stderr, "%s: %d faults and %d steps, of %d and %d, after %d plays\n", small.Signature, small.Faults[1], small.Steps[1], small.Faults[0], small.Steps[0], small.Plays)
			if out != "" {
				if err := os.WriteFile(out, []byte(small.Schedule), 0o644); err != nil {
					return fmt.Errorf("write the scenario: %w", err)
				}
			}
			switch {
			case asJSON:
				return printJSON(small)
			case out == "":
				_, err = os.Stdout.WriteString(small.Schedule)
			}
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&o.Lock, "lock", "", "the lock to play it on (default: the first that the scenario names)")
	lockOptionFlag(f, &options)
	f.StringVar(&o.Fencing, "fencing", "none", fencingHelp+listed(fencingValues()))
	f.StringVar(&o.Cluster, "cluster", "", "cluster to run it on: a name or a Compose file (default: the scenario's, or the lock's own)")
	f.StringVar(&runtime, "runtime", "local", "where the nodes run: local, docker")
	f.IntVar(&budget, "plays", 500, "how many plays it may take")
	f.StringVar(&out, "out", "", "file of what remains (default: it is printed)")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	return c
}
