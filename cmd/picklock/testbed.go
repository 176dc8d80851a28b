package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/harness"
)

// testbedCommand is what runs schedules of a hunt, or cells, one after the other.
func testbedCommand() *cobra.Command {
	var runtime, clientImage string
	c := &cobra.Command{
		Use: "testbed", Short: "Run schedules or cells from standard input", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// First of all: it may run the program again in namespaces of its own.
			found, err := findRuntime(cmd.Context(), runtime, clientImage)
			if err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find the own program: %w", err)
			}
			return harness.ServeTestbed(cmd.Context(), os.Stdin, os.Stdout, harness.Host{Locks: lockTable, Backends: backends, Runtime: found, Self: self})
		},
	}
	c.Flags().StringVar(&runtime, "runtime", "local", "where the nodes run")
	c.Flags().StringVar(&clientImage, "client-image", "", "an image that the clients run in")
	return c
}
