package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/kubernetes"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/compose/forward"
	"github.com/picklock/picklock/harness"
)

// fromKubeconfig stands for the server of the user's kubeconfig.
const fromKubeconfig = "kubeconfig"

// endpointFlags adds what names servers that run already, in place of a cluster, to a
// command that has --cluster.
func endpointFlags(c *cobra.Command, cluster *string) {
	f := c.Flags()
	f.Func("endpoint", "use servers that run already, at HOST:PORT[,..], in place of --cluster; picklock injects no faults into them (see docs/guides/endpoint.md)", func(list string) error {
		if f.Changed("cluster") {
			return errors.New("either servers that run already or --cluster")
		}
		if list == fromKubeconfig {
			var err error
			if list, err = kubernetes.Server(); err != nil {
				return err
			}
		}
		*cluster = compose.EndpointPrefix + list
		return nil
	})
	// Programs that are started for the run must know it, too.
	f.BoolFunc("i-own-this-service", "with --endpoint: confirm that you may test servers that are not on this machine's loopback", func(text string) error {
		if text != "true" {
			return os.Unsetenv(compose.OwnVariable)
		}
		return os.Setenv(compose.OwnVariable, "yes")
	})
	f.Func("clean-as", "with servers that run already: the service of an exec: lock, redis, etcd, zookeeper or consul, from which names are removed of which a part begins with the run's mark", func(name string) error {
		if _, err := lockTable.ForForeignKeys(name); err != nil {
			return err
		}
		return os.Setenv(compose.CleanVariable, name)
	})
	before := c.PreRunE
	c.PreRunE = func(cmd *cobra.Command, args []string) error {
		if f.Changed("endpoint") && !strings.HasPrefix(*cluster, compose.EndpointPrefix) {
			return usage(errors.New("either --endpoint or --cluster: servers run already, or they are started"))
		}
		for _, name := range []string{"clean-as", "i-own-this-service"} {
			if f.Changed(name) && started(cmd, *cluster) {
				return usage(fmt.Errorf("--%s is for servers that run already: name them with --endpoint", name))
			}
		}
		for _, name := range []string{"lock", "locks"} {
			if l := f.Lookup(name); l != nil {
				if err := fetchLogins(cmd.Context(), l.Value.String(), *cluster); err != nil {
					return err
				}
			}
		}
		if before != nil {
			return before(cmd, args)
		}
		return nil
	}
}

// started says that picklock starts the servers of a cluster itself. A scenario may name one of its own.
func started(cmd *cobra.Command, cluster string) bool {
	if cluster == "" {
		return cmd.Parent() == nil || cmd.Parent().Name() != "scenario"
	}
	def, err := compose.Load(cmd.Context(), cluster)
	return err == nil && len(def.External()) == 0 // what is wrong with it is reported where it is used
}

// fetchLogins gets what clients of these locks come with and cannot get from where they are
// (see clients.Service.Fetch), before this program has gone where they are.
func fetchLogins(ctx context.Context, locks, cluster string) error {
	for lock := range strings.SplitSeq(strings.Trim(locks, "[]"), ",") {
		info, err := lockTable.Lookup(lock)
		if err != nil || info.Service == nil || info.Service.Fetch == nil || cluster == "" {
			continue // what is wrong with the lock is reported where it is used
		}
		def, err := compose.Load(ctx, cluster)
		if err != nil || len(def.External()) == 0 {
			continue // as with the cluster
		}
		if err := info.Service.Fetch(ctx, clients.External{Addresses: def.External(), Access: def.Access}); err != nil {
			return usage(err)
		}
	}
	return nil
}

// endpointFlagsTold are those of a command whose runs are programs of their own: it says
// itself what they will do to the servers.
func endpointFlagsTold(c *cobra.Command, cluster *string) {
	endpointFlags(c, cluster)
	before := c.PreRunE
	c.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := before(cmd, args); err != nil {
			return err
		}
		announceExternal(cmd, *cluster)
		return nil
	}
}

// announceExternal says what the runs of this command will do to servers that run already.
func announceExternal(cmd *cobra.Command, cluster string) {
	// What is wrong with a cluster is reported where it is used.
	if def, err := compose.Load(cmd.Context(), cluster); cluster != "" && err == nil && len(def.External()) > 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "picklock:", harness.ExternalRuns(strings.Join(def.External(), ",")))
	}
}

// forwardCommand is what runs in place of a server that runs already.
func forwardCommand() *cobra.Command {
	var listen, to string
	var via int
	c := &cobra.Command{
		Use: "forward", Short: "Hand connections on to a server outside", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var out *os.File
			if via > 0 {
				out = os.NewFile(uintptr(via), fmt.Sprintf("descriptor %d", via))
			}
			return forward.Run(cmd.Context(), listen, to, out, slog.New(slog.NewTextHandler(os.Stderr, nil)))
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "where clients connect")
	c.Flags().StringVar(&to, "to", "", "the server")
	c.Flags().IntVar(&via, "via", 0, "descriptor of the namespace that dials the server; 0: dial it from here")
	return c
}
