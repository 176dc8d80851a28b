package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/results"
)

func checkDir(path string, on failOn, asJSON bool) error {
	l, err := open(path)
	if err != nil {
		return err
	}
	v, err := harness.Judge(l.Dir, l.Run)
	if err != nil {
		return err
	}
	return report(l.Dir.Report(), l.Run, v, on, asJSON)
}

// open reads a run directory that was named on the command line.
func open(path string) (*results.Loaded, error) {
	l, err := results.Open(path)
	if errors.Is(err, results.ErrNoRun) {
		return nil, usage(err)
	}
	return l, err
}

func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			got := "nothing"
			if len(args) > 0 {
				got = fmt.Sprintf("%d arguments, %q", len(args), strings.Join(args, " "))
			}
			return usage(fmt.Errorf("%s wants %s, and got %s (see %s --help)", strings.TrimPrefix(cmd.CommandPath(), "picklock "), what, got, cmd.CommandPath()))
		}
		return nil
	}
}
