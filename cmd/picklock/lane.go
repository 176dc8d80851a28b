package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/harness"
)

// laneCommand is what plays a hunt's schedules, one after the other.
func laneCommand() *cobra.Command {
	var runtime, clientImage string
	c := &cobra.Command{
		Use: "lane", Short: "Play schedules, told on standard input", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// First of all: it may run the program again in namespaces of its own.
			found, err := findRuntime(cmd.Context(), runtime, clientImage)
			if err != nil {
				return err
			}
			return harness.ServeLane(cmd.Context(), os.Stdin, os.Stdout, lockTable, backends, func(context.Context, *harness.LaneConfig) (harness.Runtime, error) {
				return found, nil
			})
		},
	}
	c.Flags().StringVar(&runtime, "runtime", "local", "where the nodes run")
	c.Flags().StringVar(&clientImage, "client-image", "", "an image that the clients run in")
	return c
}
