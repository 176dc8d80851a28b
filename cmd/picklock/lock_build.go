package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose"
)

func lockBuildCommand() *cobra.Command {
	var all bool
	var cluster string
	c := &cobra.Command{
		Use: "build NAME[@VERSION]...", Short: "Build the clients of libraries' locks",
		Long: `Build the client of a library's lock with the tools of its language, in the user's cache
directory (~/.cache/picklock, or below XDG_CACHE_HOME). The other commands do it by themselves at
the first use. Without a version it is the tested one (picklock list locks); with one, any that the
library has published. What is built already is left as it is.

--cluster NAME@VERSION builds the servers of a cluster in another version, likewise.`,
		Example: `  picklock lock build redisson
  picklock lock build redisson@3.50.0 redis-py
  picklock lock build --all
  picklock lock build --cluster etcd@3.5.21
  picklock lock build --cluster zookeeper@3.9.3`,
		RunE: func(cmd *cobra.Command, names []string) error {
			switch {
			case all && len(names) > 0:
				return usage(fmt.Errorf("--all builds them all: leave out %s, or --all", strings.Join(names, " ")))
			case !all && len(names) == 0 && cluster == "":
				return wrongArguments(cmd, "the names of libraries' locks, or --all", names)
			}
			var locks []clients.Info
			for _, name := range names {
				i, err := lockTable.Lookup(name)
				if err == nil && i.Library == nil {
					err = fmt.Errorf("lock %s needs no client to be built", name)
				}
				if err != nil {
					return usage(err)
				}
				locks = append(locks, i)
			}
			if all {
				locks = lockTable.All()
			}
			var failed []error
			if cluster != "" {
				if def, err := compose.Load(cmd.Context(), cluster); err != nil {
					return usage(err)
				} else if !def.Builds() {
					return usage(fmt.Errorf("--cluster %s: there is nothing to build: want a cluster's name and a version, as etcd@3.5.21", cluster))
				}
				failed = append(failed, buildCluster(cmd.Context(), cluster, "local"))
			}
			for _, i := range locks {
				if err := buildLock(cmd.Context(), i); err != nil {
					failed = append(failed, err)
				}
			}
			return errors.Join(failed...)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "build them all")
	c.Flags().StringVar(&cluster, "cluster", "", "build the servers of this cluster, NAME or NAME@VERSION")
	return c
}

// buildLock makes what clients need to use a lock, if anything, and says on standard error what is done. It
// comes before anything that takes this process out of the machine's network.
func buildLock(ctx context.Context, i clients.Info) error { return i.Build(ctx, sayStep) }

func sayStep(text string) { fmt.Fprintln(os.Stderr, "picklock:", text) }

// buildCluster makes the servers of a cluster, likewise, if they are neither built in nor this machine's.
func buildCluster(ctx context.Context, cluster, runtime string) error {
	if _, _, versioned := compose.Version(cluster); versioned {
		if _, err := compose.Load(ctx, cluster); err != nil {
			return usage(err)
		}
	}
	return compose.Build(ctx, cluster, runtime, sayStep)
}

// buildServers is buildCluster for the cluster that a lock runs on; "" is the lock's own.
func buildServers(ctx context.Context, lock, cluster, runtime string) error {
	if cluster == "" {
		info, err := lockTable.Lookup(lock)
		if err != nil {
			return err
		}
		cluster = info.Cluster
	}
	return buildCluster(ctx, cluster, runtime)
}

// buildLocks is buildLock for locks by their names, which have been looked up.
func buildLocks(ctx context.Context, names ...string) error {
	for _, name := range names {
		i, err := lockTable.Lookup(name)
		if err == nil {
			err = buildLock(ctx, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
