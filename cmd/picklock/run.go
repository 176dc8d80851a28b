package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose/docker"
	"github.com/picklock/picklock/compose/local"
	"github.com/picklock/picklock/harness"
	dockerruntime "github.com/picklock/picklock/harness/docker"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/suggest"
	"github.com/picklock/picklock/results"
)

func runCommand() *cobra.Command {
	o := harness.Defaults()
	o.Locks, o.Backends = lockTable, backends
	var runtime, clientImage string
	var options, abilities []string
	var asJSON bool
	var runs int
	var on failOn
	c := &cobra.Command{
		Use:   "run",
		Short: "Test one lock under faults",
		Long: `Start a lock service and its clients, inject faults into them, and judge the recorded history.

The clients fight over a lock that protects a register. Each critical section
reads the register, works for a while, and writes. Most are short; one in 16 goes on
after its write, into the last tenth of its lease, so that a lease which is shorter
than promised is seen. With --work-time every critical section is as long as that.
Everything is recorded; the verdict says which properties held, and proves each
violation from the record.

Ctrl-C (or SIGTERM) cuts the run short: faults are healed, and what there is is judged
and reported. The verdict is then fail or unknown, never pass. A second one ends at
once. With --count, the exit code is 1 if any run broke the lock, 2 if none did and one
is unknown or left out, 0 if all held.`,
		Example: `  picklock run --lock redis --faults pause:holder
  picklock run --lock redlock --faults clock:majority --duration 20s
  picklock run --lock etcd --faults all --fencing read-write --duration 60s
  picklock run --lock 'exec:python3 my_lock.py' --cluster redis
  picklock run --lock 'exec:python3 my_lock.py' --cluster redis --fencing read-write --faults pause:holder
  picklock run --lock redis --endpoint 127.0.0.1:6379 --faults pause:holder
  picklock run --lock redis --faults clock --count 20 --seed 1 --duration 10s`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("seed") {
				o.Seed = rand.Uint64N(1 << 32)
			}
			err := oneLock(o.Lock)
			if err != nil {
				return usage(err)
			}
			if o.Extra, err = clients.ParseOptions(options); err != nil {
				return usage(err)
			}
			if o.Abilities, err = clients.ParseAbilities(abilities); err != nil {
				return usage(err)
			}
			if info, err := lockTable.Lookup(o.Lock); err == nil && info.Declares && !cmd.Flags().Changed("workload") {
				o.Workload = "" // what suits it, once it has said what it is
			} else if err == nil && info.Unlocked != nil && !cmd.Flags().Changed("workload") {
				o.Workload = history.Add // the one that there is for it
			} else if err == nil && harness.WorkloadFor(info) != "" && !cmd.Flags().Changed("workload") {
				o.Workload = harness.WorkloadFor(info)
			}
			if err := o.Check(); err != nil {
				return usage(err)
			}
			if runs < 1 {
				return usage(fmt.Errorf("--count %d: want at least 1", runs))
			}
			if err := knownRuntime(runtime, clientImage); err != nil {
				return usage(err)
			}
			if err := errors.Join(buildLocks(cmd.Context(), o.Lock), buildServers(cmd.Context(), o.Lock, o.Cluster, runtime)); err != nil {
				return err
			}
			if cmd.Flags().Changed("count") {
				return runSeveral(cmd.Context(), o, runs, runtime, clientImage, on, asJSON)
			}
			return runOnce(cmd.Context(), o, runtime, clientImage, on, asJSON)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Lock, "lock", o.Lock, "lock to test (see picklock list locks), or exec:COMMAND")
	lockOptionFlag(f, &options)
	abilityFlag(f, &abilities)
	f.StringVar(&o.Cluster, "cluster", "", "run it on this cluster: a name or NAME@VERSION, a Compose file, or none (default: the lock's own)")
	endpointFlags(c, &o.Cluster)
	faultsFlag(f, &o.Faults)
	f.StringVar(&o.Fencing, "fencing", o.Fencing, fencingHelp+listed(fencingValues()))
	f.StringVar(&o.Register, "register", o.Register, registerHelp+listed(registerValues()))
	f.StringVar(&o.Workload, "workload", o.Workload, "what a client does with the lock: "+listed(workloadValues())+" (acquire-only is for locks that are no mutex)")
	f.IntVar(&o.Clients, "clients", o.Clients, "run this many clients, each a process on its own node")
	f.IntVar(&o.Keys, "keys", o.Keys, "use this many locks, each with its own register key")
	f.DurationVar(&o.TTL, "ttl", o.TTL, "ask for this lease, or session timeout")
	f.DurationVar(&o.WorkTime, "work-time", 0, "wait this long between the read and the write, times 0.5 to 1.5 (default: ttl/20, in critical sections of mixed length)")
	f.DurationVar(&o.Limit, "duration", o.Limit, "run for this long")
	f.Float64Var(&o.Rate, "rate", 0, "start this many critical sections a second and client (default: no limit)")
	f.BoolVar(&o.Renew, "renew", false, "renew the lease every ttl/3 (this prevents no stale write after a pause)")
	f.BoolVar(&o.CheckLease, "check-lease", false, "check the remaining lease right before the write (this prevents no stale write after a pause)")
	f.BoolVar(&o.IgnoreLost, "ignore-lost", false, "never ask the client library whether the lock was lost")
	f.StringSliceVar(&o.Require, "require", nil, "also require these properties: belief")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of the random choices (default: a new one, which is printed)")
	f.IntVar(&runs, "count", 1, "make this many runs with the seeds that follow --seed, one after the other, and print the share that failed, with its 95 % interval")
	f.StringVar(&o.Out, "out", "", "write the results to this folder (default: a new one below ./picklock-results)")
	f.StringVar(&runtime, "runtime", "local", "run the nodes with: local (namespaces of this machine), docker (containers of a Docker engine)")
	f.StringVar(&clientImage, "client-image", "", "with --runtime docker: run the clients of an exec lock in this image")
	failOnFlag(f, &on)
	f.BoolVar(&asJSON, "json", false, "print the verdict as JSON")
	return c
}

// lockOptionFlag adds --lock-option, which every command has that runs a lock.
func lockOptionFlag(f *pflag.FlagSet, options *[]string) {
	f.StringArrayVar(options, "lock-option", nil, "NAME=VALUE: an option of the lock itself (see picklock list locks), or NAME@CLIENT=VALUE for one client; may be given several times")
}

// abilityFlag adds --ability, which every command has that runs an exec lock.
func abilityFlag(f *pflag.FlagSet, abilities *[]string) {
	f.StringArrayVar(abilities, "ability", nil, "NAME=VALUE: what an exec lock can do, over what its program declares: tokens, lease, renew, watchdog, notifies, confirms, holds, downgrades, cancels, several, own_leases or lingers with yes or no, kind, permits; may be given several times")
}

// knownRuntime says what is wrong with the flags that choose the runtime.
func knownRuntime(name, clientImage string) error {
	if !slices.Contains(runtimes, name) {
		return suggest.Unknown("runtime", name, runtimes)
	}
	if clientImage != "" && name != "docker" {
		return errors.New("--client-image needs --runtime docker")
	}
	return nil
}

// findRuntime may run the program again in namespaces of its own; then it returns
// an exitError with that one's exit code.
func findRuntime(ctx context.Context, name, clientImage string) (harness.Runtime, error) {
	if err := knownRuntime(name, clientImage); err != nil {
		return nil, usage(err)
	}
	if name == "docker" {
		e, err := docker.Connect(ctx)
		if err != nil {
			return nil, err
		}
		return &dockerruntime.Runtime{Engine: e, ClientImage: clientImage}, nil
	}
	if err := ctx.Err(); err != nil { // the inner process would not get a signal that came before its start
		return nil, err
	}
	sandbox, code, done := local.Enter()
	if done {
		return nil, &exitError{code, nil}
	}
	return harness.Local{Sandbox: sandbox}, nil
}

func runOnce(ctx context.Context, o harness.Options, runtime, clientImage string, on failOn, asJSON bool) error {
	var err error
	if o.Runtime, err = findRuntime(ctx, runtime, clientImage); err != nil {
		return err
	}
	if o.Self, err = os.Executable(); err != nil {
		return fmt.Errorf("find the own program: %w", err)
	}
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	ui := newProgress(os.Stderr, o)
	o.Observer, o.Interrupt = ui, ctx.Done()
	outcome, err := harness.Run(untilAbandoned(ctx), o)
	ui.close()
	if errors.Is(err, harness.ErrUsage) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	return report(outcome.Dir.Report(), outcome.Run, outcome.Verdict, on, asJSON)
}

// judged is the verdict as --json prints it, and which run it is about.
type judged struct {
	checker.Verdict
	Bugs     int           `json:"lock_bugs"`       // root causes that decide, by their class
	Hazards  int           `json:"lease_hazards"`   // what any lease does, and only the resource can refuse
	Resource int           `json:"resource_faults"` // the lock had no part in them
	Lock     string        `json:"lock"`
	Seed     uint64        `json:"seed"`
	Dir      string        `json:"dir,omitempty"`
	Report   string        `json:"report,omitempty"`
	CutShort time.Duration `json:"cut_short,omitempty"` // as in run.json

	RootCauses []results.RootCause `json:"root_causes"` // as in verdict.json
}

// report prints the verdict and returns it as an exit code. path is the report's, ""
// where none was written.
func report(path string, run results.Run, v checker.Verdict, on failOn, asJSON bool) error {
	var err error
	if asJSON {
		j := judged{Verdict: v, Lock: run.Lock, Seed: run.Seed, Report: path, CutShort: run.CutShort, RootCauses: results.RootCauses(run, v)}
		j.Bugs, j.Hazards, j.Resource = v.Failures()
		if path != "" {
			j.Dir = filepath.Dir(path)
		}
		err = printJSON(j)
	} else {
		err = results.Summary(os.Stdout, run, v, path, colourful(os.Stdout))
	}
	if err != nil {
		return fmt.Errorf("print the verdict: %w", err)
	}
	return on.met(v)
}

// colourful says whether f is a terminal whose user has not asked for plain text.
func colourful(f *os.File) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(f)
}
