package main

import (
	"github.com/spf13/cobra"
)

// fleetCommand groups the commands of campaigns: hunts, matrices and runs on many machines.
func fleetCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "fleet", Short: "Run hunts, matrices and runs on many machines", Args: noArguments,
		Long: `Run a campaign: the hunts, matrices and runs that a file lists. One coordinator puts
work items on a queue, any number of workers take them off it, and the coordinator writes
the results. Without a queue of its own, a campaign runs on this machine alone.`,
		Example: `  picklock fleet run nightly.yaml                                 # on this machine
  picklock fleet run nightly.yaml --serve 0.0.0.0:4222            # the coordinator
  picklock fleet worker --queue nats://coordinator.example:4222   # on each other machine
  picklock fleet status --queue nats://coordinator.example:4222`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(fleetRunCommand(), fleetWorkerCommand(), fleetStatusCommand(), fleetTokenCommand())
	return c
}
