package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/internal/gctune"
	"github.com/picklock/picklock/workloads"
)

// workerCommand runs on a client's node.
func workerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "worker", Short: "Run one client, with commands from standard input", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := slog.New(slog.NewTextHandler(os.Stderr, nil))
			if err := gctune.Own(); err != nil {
				return fmt.Errorf("set the garbage collector: %w", err)
			}
			return workloads.Worker(cmd.Context(), workloads.Tables{Locks: lockTable, Backends: backends}, os.Stdin, os.Stdout, log)
		},
	}
}

// registerCommand runs on the register's node.
func registerCommand() *cobra.Command {
	var listen, fencing, lock, backend, at, external string
	var keys []string
	var start int64
	var o clients.Options
	var extra []string
	c := &cobra.Command{
		Use: "register", Short: "Run the fenced register until standard input ends", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Extra, err = clients.ParseOptions(extra); err != nil {
				return usage(err)
			}
			if external != "" {
				if err := json.Unmarshal([]byte(external), &o.External); err != nil {
					return usage(fmt.Errorf("read how the lock's servers are reached: %w", err))
				}
			}
			if backend != "" {
				return keepRegister(cmd.Context(), backend, at, fencing, keys, start)
			}
			return serveRegister(cmd.Context(), listen, fencing, start, lock, o)
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address to listen on")
	c.Flags().StringVar(&fencing, "fencing", "none", "fencing mode")
	c.Flags().StringVar(&backend, "backend", "", "keep the log of a resource that picklock did not start: what it is made of")
	c.Flags().StringVar(&at, "at", "", "its address")
	c.Flags().StringSliceVar(&keys, "keys", nil, "its keys")
	c.Flags().Int64Var(&start, "start", 0, "the run's start on the monotonic clock, in ns")
	c.Flags().StringVar(&lock, "lock", "", "for a fencing mode that asks the lock service: the lock")
	c.Flags().StringSliceVar(&o.Servers, "servers", nil, "the lock's servers")
	c.Flags().StringVar(&external, "external", "", "how servers that picklock did not start are reached, in JSON")
	c.Flags().DurationVar(&o.TTL, "ttl", time.Second, "the lock's lease")
	lockOptionFlag(c.Flags(), &extra)
	return c
}

// keepRegister makes a resource ready and writes its log when standard input ends.
func keepRegister(ctx context.Context, backend, at, fencing string, keys []string, start int64) error {
	b, err := backends.Lookup(backend)
	if err != nil {
		return usage(err)
	}
	d, err := register.ParseFencingMode(fencing)
	if err != nil {
		return usage(err)
	}
	if b.OpenAdmin == nil {
		return usage(fmt.Errorf("register %s keeps its log itself", backend))
	}
	stop := make(chan struct{})
	go func() {
		// As for serveRegister.
		_, _ = io.Copy(io.Discard, bufio.NewReader(os.Stdin))
		close(stop)
	}()
	return register.RecordLog(ctx, b, at, d, keys, start, func() { fmt.Println(harness.RegisterReady) }, stop, os.Stdout)
}

func serveRegister(ctx context.Context, listen, fencing string, start int64, lock string, o clients.Options) error {
	discipline, err := register.ParseFencingMode(fencing)
	if err != nil {
		return usage(err)
	}
	var ask func(context.Context) (register.Sequencer, error)
	if discipline.Asks() {
		info, err := lockTable.Lookup(lock)
		if err != nil {
			return usage(err)
		}
		if info.Sequencer == nil {
			return usage(fmt.Errorf("lock %s cannot be asked whether a grant is in force", lock))
		}
		o.Client, o.Log = "register", slog.New(slog.NewTextHandler(os.Stderr, nil))
		ask = func(ctx context.Context) (register.Sequencer, error) { return info.Sequencer(ctx, o) }
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
	return register.ServeAsking(ctx, ln, register.NewStore(discipline, start), os.Stdout, ask)
}
