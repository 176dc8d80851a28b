package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/workloads"
)

// workerCommand is what runs on a client's node.
func workerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "worker", Short: "Run one client, told what to do on standard input", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := slog.New(slog.NewTextHandler(os.Stderr, nil))
			return workloads.Worker(cmd.Context(), os.Stdin, os.Stdout, log)
		},
	}
}

// registerCommand is what runs on the register's node.
func registerCommand() *cobra.Command {
	var listen, fencing string
	var start int64
	c := &cobra.Command{
		Use: "register", Short: "Run the fenced register until standard input ends", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveRegister(cmd.Context(), listen, fencing, start)
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address to listen on")
	c.Flags().StringVar(&fencing, "fencing", "none", "the discipline")
	c.Flags().Int64Var(&start, "start", 0, "the run's start on the monotonic clock, in ns")
	return c
}

func serveRegister(ctx context.Context, listen, fencing string, start int64) error {
	discipline, err := register.ParseDiscipline(fencing)
	if err != nil {
		return usage(err)
	}
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("start the register: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		// The harness closes our input to stop us; reading ends with the process.
		_, _ = io.Copy(io.Discard, bufio.NewReader(os.Stdin))
		cancel()
	}()
	fmt.Println(harness.RegisterReady)
	return register.Serve(ctx, ln, register.NewStore(discipline, start), os.Stdout)
}
