package main

import (
	"github.com/spf13/cobra"

	"github.com/picklock/picklock/compose/builtin"
)

// serverCommand runs a lock service that is built into the program, so that a
// demonstration needs nothing installed.
func serverCommand() *cobra.Command {
	server := &cobra.Command{Use: "server", Short: "Run a built-in lock service", Hidden: true}
	for _, name := range builtin.Names() {
		server.AddCommand(&cobra.Command{
			Use:                name + " [its own flags]",
			Short:              "Run " + name,
			DisableFlagParsing: true,
			RunE:               func(cmd *cobra.Command, args []string) error { return builtin.Run(cmd.Context(), name, args) },
		})
	}
	return server
}
