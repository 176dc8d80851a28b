package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/results"
)

func diffCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "diff RUN RUN",
		Short: "Compare two recorded runs",
		Long: `Compare two run directories: the settings that differ, each property's verdict, the
anomalies by kind and cause, the faults that took effect, and how fast the lock was. Did
the new version of a lock change anything?

Exit codes: 0 the verdicts are the same, each property's too; 1 they differ;
254 unusable arguments, 255 picklock itself failed.`,
		Example: `  picklock diff before after
  picklock diff picklock-results/20260102-150405-redis-pause-holder picklock-results/latest --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return wrongArguments(cmd, "two run directories", args)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := results.DiffRuns(args[0], args[1])
			if errors.Is(err, results.ErrNoRun) {
				return usage(err)
			}
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(d)
			} else {
				err = d.Text(os.Stdout)
			}
			if err != nil {
				return fmt.Errorf("print the difference: %w", err)
			}
			if !d.Same {
				return &exitError{exitInvalid, nil}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
