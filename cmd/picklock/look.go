package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/harness"
)

// lookCommand is what runs on the node that asks the servers for a script.
func lookCommand() *cobra.Command {
	var lock string
	c := &cobra.Command{
		Use: "look", Short: "Count what servers have for a lock, asked on standard input", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return harness.ServeInspections(cmd.Context(), lockTable, lock, os.Stdin, os.Stdout)
		},
	}
	c.Flags().StringVar(&lock, "lock", "", "the lock")
	return c
}
