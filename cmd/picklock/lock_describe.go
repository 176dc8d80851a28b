package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/harness"
)

func lockDescribeCommand() *cobra.Command {
	o := harness.Defaults()
	o.Locks, o.Backends = lockTable, backends
	var options, abilities []string
	var runtime, clientImage string
	var asJSON bool
	c := &cobra.Command{
		Use: "describe", Short: "Start a lock once and print what it can do", Args: noArguments,
		Long: `Start a lock's cluster and one client of it, and print what the lock can do: whether its
grants have fencing tokens and leases, of which kind it is, whether it renews. The program
of an exec lock declares that itself in its answer to open (docs/reference/exec.md); --ability says
otherwise.`,
		Example: `  picklock lock describe --lock etcd
  picklock lock describe --lock 'exec:python3 my_lock.py' --cluster redis`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Extra, err = clients.ParseOptions(options); err != nil {
				return usage(err)
			}
			if o.Abilities, err = clients.ParseAbilities(abilities); err != nil {
				return usage(err)
			}
			info, err := lockTable.Lookup(o.Lock)
			if err != nil {
				return usage(err)
			}
			o.Workload = ""
			var declared *clients.Abilities
			if info.Declares {
				if err := buildCluster(cmd.Context(), o.Cluster, runtime); err != nil {
					return err
				}
				if o.Runtime, err = findRuntime(cmd.Context(), runtime, clientImage); err != nil {
					return err
				}
				if o.Self, err = os.Executable(); err != nil {
					return fmt.Errorf("find the own program: %w", err)
				}
				o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
				if info, declared, err = harness.Describe(cmd.Context(), o); errors.Is(err, harness.ErrUsage) {
					return usage(err)
				} else if err != nil {
					return err
				}
			}
			if asJSON {
				return printJSON(harness.Described{Lock: info.Name, Declares: declared})
			}
			return describe(info, declared, o.Extra)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Lock, "lock", o.Lock, "describe this lock (see picklock list locks), or exec:COMMAND")
	lockOptionFlag(f, &options)
	abilityFlag(f, &abilities)
	f.StringVar(&o.Cluster, "cluster", "", "start it on this cluster: a name, a Compose file, or none (default: the lock's own)")
	endpointFlags(c, &o.Cluster)
	f.StringVar(&runtime, "runtime", "local", "run the nodes with: local, docker")
	f.StringVar(&clientImage, "client-image", "", "with --runtime docker: run the client of an exec lock in this image")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// describe prints a lock's abilities, one a line.
func describe(info clients.Info, declared *clients.Abilities, extra map[string]string) error {
	word := map[bool]string{true: "yes", false: "no"}
	kind := info.Kind
	if kind == "" {
		kind = "mutex"
	}
	rows := [][2]string{{"tokens", word[info.Fencing]}, {"kind", kind}, {"confirms", word[info.Confirms]}}
	if n := info.Permits(extra); n > 0 {
		rows = append(rows, [2]string{"permits", fmt.Sprint(n)})
	}
	if declared != nil {
		lease := "not said"
		if declared.Lease != nil {
			lease = word[*declared.Lease]
		}
		rows = append(rows, [2]string{"lease", lease}, [2]string{"renew", word[declared.Renew]}, [2]string{"watchdog", word[declared.Watchdog]}, [2]string{"notifies", word[declared.Notifies]}, [2]string{"holds", word[declared.Holds]}, [2]string{"downgrades", word[declared.Downgrades]}, [2]string{"cancels", word[declared.Cancels]}, [2]string{"several", word[declared.Several]}, [2]string{"own_leases", word[declared.OwnLeases]}, [2]string{"lingers", word[declared.Lingers]}, [2]string{"reopens", word[declared.Reopens]})
	}
	if declared == nil {
		rows = append(rows, [2]string{"holds", word[info.Holds]}, [2]string{"downgrades", word[info.Downgrades]}, [2]string{"cancels", word[info.Cancels]}, [2]string{"several", word[info.Several]}, [2]string{"watchdog", word[info.Watchdog]}, [2]string{"notifies", word[info.Notifies]}, [2]string{"own_leases", word[info.OwnLeases]}, [2]string{"lingers", word[info.Lingers]})
	}
	return printTable("ABILITY\t"+info.Name, len(rows), func(i int) string { return rows[i][0] + "\t" + rows[i][1] })
}
