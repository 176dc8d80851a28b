package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/nemesis/disk"
)

// diskCommand serves the disks of a run's servers, in a process that outlives them.
func diskCommand() *cobra.Command {
	return &cobra.Command{
		Use: "disk", Short: "Serve disks that know what was synced, over standard input and output", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return disk.Serve(cmd.Context(), os.Stdin, os.Stdout)
		},
	}
}
