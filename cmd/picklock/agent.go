package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/nemesis"
)

// agentCommand is what runs in the agent container.
func agentCommand() *cobra.Command {
	var run string
	c := &cobra.Command{
		Use: "agent", Short: "Inject faults for another picklock, over standard input and output", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return nemesis.ServeAgent(cmd.Context(), os.Stdin, os.Stdout)
		},
	}
	c.Flags().StringVar(&run, "run", "", "the run's id, for people who look at the process list")
	return c
}
