package main

import (
	"os"

	"github.com/spf13/cobra"
)

func scenarioCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "scenario",
		Short: "Reproduce a published lock failure step by step",
		Long: `A scenario is a named experiment: what each client does, which fault is injected between which
two steps, and what must follow on which lock. The catalogue holds the failures that have been
published (picklock list scenarios). docs/reference/scenarios.md explains how to write your own.`,
		Example: `  picklock list scenarios
  picklock scenario show pause-holder
  picklock scenario run pause-holder --lock redis
  picklock scenario run mine.yaml --lock etcd --fencing read-write
  picklock scenario run --all`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(scenarioShowCommand(), scenarioRunCommand())
	return c
}

func scenarioShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME|FILE.yaml", Short: "Print a scenario's file", Args: oneArgument("a scenario's name, or its file"), ValidArgsFunction: completeScenario,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := findScenario(args[0])
			if err != nil {
				return usage(err)
			}
			_, err = os.Stdout.Write(s.Text)
			return err
		},
	}
}
