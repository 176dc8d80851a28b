package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/harness/conform"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/format"
)

// checked is what picklock lock check --json prints.
type checked struct {
	Command string           `json:"command"`
	Wrong   int              `json:"wrong"`
	Checks  []conform.Result `json:"checks"`
}

func lockCheckCommand() *cobra.Command {
	o := harness.Defaults()
	o.Locks, o.Backends = lockTable, backends
	o.Cluster, o.TTL = "none", 2*time.Second
	var options, abilities []string
	var runtime, clientImage string
	var asJSON bool
	c := &cobra.Command{
		Use: "check COMMAND|NAME", Short: "Try a program against the exec protocol",
		Long: `Try a program against the protocol of exec locks (docs/reference/exec.md), and say of each thing
that is asked of it whether it is right, and if not, what to do about it. The cluster is
started, and the program several times, as a client starts it; nothing of it is left. Instead of a
command it can be the name of a library's lock (picklock list locks), whose client is tried then.

It says nothing of whether the lock is safe: picklock run does.

Exit codes: 0 all that could be tried is right, 1 something is wrong, 254 unusable
arguments, 255 picklock itself failed.`,
		Example: `  picklock lock check 'python3 my_lock.py' --cluster redis
  picklock lock check 'mylock/lock' --cluster mylock/compose.yml --json
  picklock lock check 'node lock.js' --cluster redis --lock-option retries=3 --ttl 5s
  picklock lock check redis-py@7.0.0
  picklock lock check 'mylock/lock' --endpoint 127.0.0.1:6379 --clean-as redis`,
		Args: oneArgument("a command, as one word: 'python3 my_lock.py', or the name of a library's lock"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			command, lib, err := checkedCommand(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			o.Lock = clients.ExecPrefix + command
			if lib != nil && !cmd.Flags().Changed("cluster") && !cmd.Flags().Changed("endpoint") {
				o.Cluster = lib.Cluster
			}
			if o.Extra, err = clients.ParseOptions(options); err != nil {
				return usage(err)
			}
			if o.Abilities, err = clients.ParseAbilities(abilities); err != nil {
				return usage(err)
			}
			if err := o.Check(); err != nil {
				return usage(err)
			}
			if err := buildCluster(cmd.Context(), o.Cluster, runtime); err != nil {
				return err
			}
			if o.Runtime, err = findRuntime(cmd.Context(), runtime, clientImage); err != nil {
				return err
			}
			if o.Self, err = os.Executable(); err != nil {
				return fmt.Errorf("find the own program: %w", err)
			}
			o.Observer = announcing{}
			test := []string{"--lock", o.Lock}
			next := compose.Flags(o.Cluster)
			if lib != nil {
				test, next = []string{"--lock", lib.Name}, nil
			}
			for _, option := range options {
				next = append(next, "--lock-option", option)
			}
			for _, ability := range abilities {
				next = append(next, "--ability", ability)
			}
			if runtime != "local" {
				next = append(next, "--runtime", runtime)
			}
			if clientImage != "" {
				next = append(next, "--client-image", clientImage)
			}
			var cannot map[string]string
			if lib != nil {
				cannot = lib.Library.Cannot
			}
			return checkLock(cmd.Context(), o, cannot, append(test, next...), asJSON)
		},
	}
	f := c.Flags()
	lockOptionFlag(f, &options)
	abilityFlag(f, &abilities)
	f.StringVar(&o.Cluster, "cluster", o.Cluster, "start it on this cluster: a name, a Compose file, or none")
	endpointFlags(c, &o.Cluster)
	f.DurationVar(&o.TTL, "ttl", o.TTL, "ask for this lease, or session timeout; a shorter one takes less time")
	f.StringVar(&runtime, "runtime", "local", "run the nodes with: local, docker")
	f.StringVar(&clientImage, "client-image", "", "with --runtime docker: run the program in this image")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// checkedCommand is the command that the argument names: that of a library's lock, which is built
// first and returned beside it, or the argument itself.
func checkedCommand(ctx context.Context, arg string) (string, *clients.Info, error) {
	info, err := lockTable.Lookup(arg)
	if isLibrary := err == nil && info.Library != nil; !isLibrary { // it is a command
		return strings.TrimPrefix(arg, clients.ExecPrefix), nil, nil
	}
	if err := buildLock(ctx, info); err != nil {
		return "", nil, err
	}
	command, err := info.Library.Command()
	return command, &info, err
}

// checkLock checks a program, and prints what it found. cannot is why a library is known not to pass a
// check, which is not wrong then. next are the flags of the run that tests the lock then.
func checkLock(ctx context.Context, o harness.Options, cannot map[string]string, next []string, asJSON bool) error {
	all := checked{Command: strings.TrimPrefix(o.Lock, clients.ExecPrefix)}
	err := harness.Conform(ctx, o, func(r conform.Result) {
		if why := cannot[r.Check]; why != "" && r.Outcome == conform.Wrong {
			r = conform.Result{Check: r.Check, About: r.About, Outcome: conform.NotTried, Why: "known of the library: " + why}
		}
		all.Checks = append(all.Checks, r)
		if r.Outcome == conform.Wrong {
			all.Wrong++
		}
		if !asJSON {
			printResult(r)
		}
	})
	if errors.Is(err, harness.ErrUsage) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		err = printJSON(all)
	case all.Wrong == 0:
		_, err = fmt.Println("The program speaks the protocol. Test the lock: " + format.Shell(append([]string{"picklock", "run"}, next...)...))
	default:
		_, err = fmt.Printf("%d of %d are wrong: docs/reference/exec.md says how they should be.\n", all.Wrong, len(all.Checks))
	}
	if err == nil && all.Wrong > 0 {
		err = &exitError{exitInvalid, nil}
	}
	return err
}

// announcing prints each change to servers that picklock did not start before it is made.
type announcing struct{}

func (announcing) Phase(string, time.Time) {}
func (announcing) Event(history.Event)     {}

// Announce implements harness.Announcer.
func (announcing) Announce(text string) { fmt.Fprintln(os.Stderr, "picklock:", text) }

// printResult prints a line for what a check found, and one for each further problem.
func printResult(r conform.Result) {
	row := func(outcome conform.Outcome, text string) { fmt.Printf("%-9s  %-9s  %s\n", outcome, r.Check, text) }
	switch r.Outcome {
	case conform.Wrong:
		for _, p := range r.Problems {
			row(r.Outcome, p.What+". Fix: "+p.Fix)
		}
	case conform.NotTried:
		row(r.Outcome, r.Why)
	default:
		row(r.Outcome, r.About)
	}
}

// conformCommand is what tries a program, on a client's node.
func conformCommand() *cobra.Command {
	return &cobra.Command{
		Use: "conform", Short: "Check programs that standard input names", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in := bufio.NewReader(os.Stdin)
			line, err := in.ReadBytes('\n')
			if err != nil {
				return fmt.Errorf("read what to try: %w", err)
			}
			var cfg conform.Config
			if err := json.Unmarshal(line, &cfg); err != nil {
				return fmt.Errorf("read what to try: %w", err)
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			go func() { // ends with standard input, or with the program
				_, _ = io.Copy(io.Discard, in)
				cancel()
			}()
			out := json.NewEncoder(os.Stdout)
			return conform.Run(ctx, cfg, func(r conform.Result) { _ = out.Encode(r) })
		},
	}
}
