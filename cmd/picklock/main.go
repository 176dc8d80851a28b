// Command picklock says with evidence whether a distributed lock is safe.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/compose/local"
	"github.com/picklock/picklock/harness"
)

// Exit codes, as scripts and CI see them.
const (
	exitValid   = 0
	exitInvalid = 1   // an anomaly of a required property
	exitUnknown = 2   // nothing was proved
	exitUsage   = 254 // unusable arguments
	exitFailed  = 255 // the harness itself failed
)

// exitError carries an exit code up to main.
type exitError struct {
	code int
	err  error // nil: everything has been said
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks an error as the arguments' fault.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

func main() { os.Exit(local.ExitCode(run())) }

func run() (code int) {
	defer func() {
		if p := recover(); p != nil { // Go would exit with 2, which is a verdict
			fmt.Fprintf(os.Stderr, "picklock: panic: %v\n%s", p, debug.Stack())
			code = exitFailed
		}
	}()
	ctx, stop := withSignals(context.Background())
	defer stop()
	return status(interrupted(ctx, newRoot().ExecuteContext(ctx)))
}

// interrupted says of an error that a signal brought about that it did.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	const says = "interrupted before there was a result"
	if what := strings.TrimSuffix(strings.TrimSuffix(err.Error(), context.Canceled.Error()), ": "); what != "" {
		return fmt.Errorf("%s: %s", says, what)
	}
	return errors.New(says)
}

// status prints what is left to say of err and returns the exit code.
func status(err error) int {
	if err == nil {
		return exitValid
	}
	code := exitFailed
	var exit *exitError
	if errors.As(err, &exit) {
		code = exit.code
		err = exit.err
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "picklock:", strings.ReplaceAll(err.Error(), harness.ErrUsage.Error()+": ", "")) // the exit code says it
	}
	return code
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "picklock",
		Short: "Is my distributed lock safe? An answer with evidence.",
		Long: `picklock tests a distributed lock under pauses, partitions, clock faults and crashes. It
starts a real lock service and real clients, records a history and checks it. A failure
comes with its evidence, its cause and a command that repeats it.

Exit codes: 0 pass, 1 fail, 2 unknown, 254 unusable arguments, 255 picklock itself failed.

Ctrl-C (or SIGTERM) ends a run early: picklock heals the faults, checks what it recorded,
and reports fail or unknown. A second one ends picklock at once.`,
		Example: `  picklock demo
  picklock run --lock redis --faults pause:holder
  picklock run --lock etcd --faults all --fencing read-write --duration 60s`,
		Version:       harness.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArguments,
	}
	root.SetVersionTemplate("picklock {{.Version}}\n")
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.SetFlagErrorFunc(wrongFlag)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return notEmpty(cmd) }
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"test", "Test a lock:", []*cobra.Command{demoCommand(), runCommand(), scenarioCommand()}},
		{"search", "Search for counterexamples:", []*cobra.Command{huntCommand(), shrinkCommand(), bisectCommand()}},
		{"judge", "Judge and compare records:", []*cobra.Command{checkCommand(), diffCommand()}},
		{"fleet", "Use many machines:", []*cobra.Command{fleetCommand(), mergeCommand()}},
		{"setup", "Set up:", []*cobra.Command{lockCommand(), listCommand(), doctorCommand(), cleanCommand(), manCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.SetHelpCommand(helpCommand())
	root.SetHelpCommandGroupID("setup")
	root.SetCompletionCommandGroupID("setup")
	root.AddCommand(workerCommand(), registerCommand(), serverCommand(), agentCommand(), diskCommand(), lookCommand(), testbedCommand(), forwardCommand(), conformCommand())
	completeValues(root)
	return root
}
