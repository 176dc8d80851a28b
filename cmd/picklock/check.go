package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/results"
)

func checkCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check DIR|history.jsonl",
		Short: "Judge a recorded run again",
		Long: `Judge the history of a run directory again, and rewrite its verdict, report and
junit.xml. A history.jsonl on its own is judged without a register's log and
without writing anything.`,
		Example: `  picklock check picklock-results/latest
  picklock check history.jsonl --json`,
		Args: oneArgument("a run directory or a history.jsonl"),
		RunE: func(_ *cobra.Command, args []string) error {
			fi, err := os.Stat(args[0])
			if err != nil {
				return usage(fmt.Errorf("check: %w", err))
			}
			if fi.IsDir() {
				return checkDir(args[0], asJSON)
			}
			events, err := history.ReadFile(args[0])
			if err != nil {
				return err
			}
			v := checker.Check(checker.Input{Events: events})
			return report("", results.Run{Lock: "unknown", Command: []string{"picklock", "check", args[0]}}, v, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the verdict as JSON")
	return c
}

func checkDir(path string, asJSON bool) error {
	l, err := results.Open(path)
	if err != nil {
		return err
	}
	v, err := harness.Judge(l.Dir, l.Run, l.Events)
	if err != nil {
		return err
	}
	return report(l.Dir.Report(), l.Run, v, asJSON)
}

func reportCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "report DIR",
		Short:   "Write a run's report anew from its records",
		Example: `  picklock report picklock-results/latest`,
		Args:    oneArgument("a run directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := results.Open(args[0])
			if err != nil {
				return err
			}
			if l.Verdict == nil {
				if _, err := harness.Judge(l.Dir, l.Run, l.Events); err != nil {
					return err
				}
			} else if err := results.WriteAll(l.Dir, l.Run, *l.Verdict, l.Events, l.Effects); err != nil {
				return err
			}
			fmt.Println(l.Dir.Report())
			return nil
		},
	}
}

func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage(fmt.Errorf("%s: want %s, got %q", cmd.CommandPath(), what, strings.Join(args, " ")))
		}
		return nil
	}
}
