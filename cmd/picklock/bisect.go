package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/bisect"
	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/scenarios"
)

// bisectFlags are the settings of bisect as the user gave them.
type bisectFlags struct {
	lock, counterexample, from, to, fencing string
	options                                 []string
	replays                                 int
	asJSON                                  bool
}

func bisectCommand() *cobra.Command {
	f := bisectFlags{}
	c := &cobra.Command{
		Use: "bisect", Short: "Find the version of a library at which a counterexample begins or ceases to show",
		Long: `Replay a counterexample on versions of a library until it is known which one is the first that shows
it, or the first that no longer shows it.

The registry of the library's language names the versions from --from to --to. If the first and the last of them
differ, what is between them is halved again and again. Pre-releases are left out, unless --from or --to is one.
A version whose client cannot be built is passed over for the one beside it, and is named with the reason. So is one
of which more than half of the runs had to be discarded.

A run shows the counterexample if it ends as the file expects of the lock, of one of its versions (redisson@3.50.0),
or of all locks ("*"). The same is expected of each version that is tried.

A version shows the counterexample if at least one run does. That none of 20 runs does is no proof: the rate
beside it says up to which true rate that is likely.

Exit codes: 0 the version was found, 2 it was not, 254 unusable arguments, 255 picklock itself failed.`,
		Example: `  picklock bisect --lock redisson --counterexample counterexample-1-two-holders.yaml --from 3.45.0 --to 3.46.0
  picklock bisect --lock node-redis-semaphore-mutex --counterexample lost.yaml --from 5.0.0 --to 5.8.0 --replays 50`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context()) },
	}
	fl := c.Flags()
	fl.StringVar(&f.lock, "lock", "", "bisect this library's lock (see picklock list locks)")
	fl.StringVar(&f.counterexample, "counterexample", "", "replay this counterexample: a file that a hunt has written")
	fl.StringVar(&f.from, "from", "", "begin with this version")
	fl.StringVar(&f.to, "to", "", "end with this version")
	fl.StringVar(&f.fencing, "fencing", "none", fencingHelp+listed(fencingValues()))
	lockOptionFlag(fl, &f.options)
	fl.IntVar(&f.replays, "replays", 20, "replay the counterexample this often on each version")
	fl.BoolVar(&f.asJSON, "json", false, "print the result as JSON")
	return c
}

func (f *bisectFlags) run(ctx context.Context) error {
	info, o, err := f.checked()
	if err != nil {
		return usage(err)
	}
	published, err := info.Library.Published(ctx)
	if err != nil {
		return err
	}
	versions, err := bisect.Between(published, f.from, f.to)
	if err != nil {
		return usage(err)
	}
	fmt.Fprintf(os.Stderr, "picklock: %d versions of %s from %s to %s\n", len(versions), info.Library.Name, f.from, f.to)
	found, err := bisect.Search(ctx, versions, func(ctx context.Context, version string) (bisect.Outcome, error) {
		out, err := f.replay(ctx, info, o, version)
		if err == nil {
			fmt.Fprintln(os.Stderr, "picklock:", outcomeText(out))
		}
		return out, err
	})
	if err != nil {
		return huntError(err)
	}
	if f.asJSON {
		err = printJSON(found)
	} else {
		err = printBisect(os.Stdout, info.Library.Name, found)
	}
	if err == nil && found.First == nil {
		err = &exitError{exitUnknown, nil}
	}
	return err
}

// checked looks up what the flags name.
func (f *bisectFlags) checked() (info clients.Info, o harness.ScenarioOptions, err error) {
	if f.lock == "" || f.counterexample == "" || f.from == "" || f.to == "" {
		return info, o, errors.New("say --lock, --counterexample, --from and --to")
	}
	name, _, _ := strings.Cut(f.lock, "@")
	if info, err = lockTable.Lookup(name); err != nil {
		return info, o, err
	}
	if info.Library == nil {
		return info, o, fmt.Errorf("lock %s is no library's that is built in its versions (see picklock list locks)", name)
	}
	if f.replays < 1 || f.replays > maxRuns {
		return info, o, fmt.Errorf("--replays %d: want 1 to %d", f.replays, maxRuns)
	}
	if _, err = register.ParseFencingMode(f.fencing); err != nil {
		return info, o, err
	}
	s, err := scenarios.Load(f.counterexample)
	if err != nil {
		return info, o, err
	}
	if s.Programs == nil {
		return info, o, fmt.Errorf("%s has no programs of clients: want a counterexample that a hunt has written", f.counterexample)
	}
	extra, err := clients.ParseOptions(f.options)
	if err != nil {
		return info, o, err
	}
	o = harness.ScenarioOptions{
		Host: harness.Host{Locks: lockTable, Backends: backends, Extra: extra, Log: slog.New(slog.DiscardHandler)}, Scenario: s, Lock: info.Name, Fencing: f.fencing, Register: register.Builtin,
	}
	if s.Breaking(info.Name, f.fencing) == nil {
		return info, o, fmt.Errorf("%s expects no anomaly of lock %s, of one of its versions or of \"*\" with --fencing %s", f.counterexample, info.Name, f.fencing)
	}
	o.Self, err = os.Executable()
	return info, o, err
}

// replay replays the counterexample on one version. What is wrong with that version alone is no error.
func (f *bisectFlags) replay(ctx context.Context, info clients.Info, o harness.ScenarioOptions, version string) (bisect.Outcome, error) {
	out := bisect.Outcome{Version: version}
	at, err := info.Library.At(version)
	if err != nil {
		return out, err
	}
	if err := buildLock(ctx, at); err != nil {
		if ctx.Err() != nil {
			return out, err
		}
		out.Skipped = firstLine(err.Error())
		return out, nil
	}
	o.Lock = at.Name
	run, end, err := replayRunner(ctx, o, "local", "", o.Scenario.Breaking(info.Name, f.fencing))
	if err != nil {
		return out, err
	}
	t, err := many(ctx, f.replays, run)
	if err := errors.Join(err, end()); err != nil {
		return out, err
	}
	out.Hits, out.Runs, out.Discarded, out.Low, out.High = t.Hits, t.Runs, t.Discarded, t.Low, t.High
	if out.Hits == 0 && out.Runs < (f.replays+1)/2 {
		out.Skipped = fmt.Sprintf("%d of %d runs had to be discarded; %s", out.Discarded, out.Runs+out.Discarded, strings.Join(t.discards(), "; "))
	}
	return out, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// outcomeText is a line on one version.
func outcomeText(o bisect.Outcome) string {
	if o.Skipped != "" {
		return fmt.Sprintf("%-14s says nothing: %s", o.Version, o.Skipped)
	}
	return fmt.Sprintf("%-14s shows it in %d of %d runs (%.1f to %.1f %%), %d discarded", o.Version, o.Hits, o.Runs, 100*o.Low, 100*o.High, o.Discarded)
}

// printBisect says what was found.
func printBisect(w io.Writer, library string, r bisect.Result) error {
	var b strings.Builder
	switch {
	case r.First == nil:
		fmt.Fprintf(&b, "no version of %s is known at which it changes: the first and the last do not differ, or one of them says nothing\n", library)
	case r.First.Shows():
		fmt.Fprintf(&b, "%s %s is the first version that shows it; %s does not\n", library, r.First.Version, r.Before.Version)
	default:
		fmt.Fprintf(&b, "%s %s is the first version that no longer shows it; %s does\n", library, r.First.Version, r.Before.Version)
	}
	if len(r.Between) > 0 {
		fmt.Fprintf(&b, "or one of these, which say nothing: %s\n", strings.Join(r.Between, ", "))
	}
	for _, o := range r.Tried {
		fmt.Fprintln(&b, " ", outcomeText(o))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
