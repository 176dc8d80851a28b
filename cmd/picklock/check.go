package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/model"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/gctune"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/workloads"
)

// largeHistory is from which size on a history is judged while it is read, without
// holding it and without a report, which could not show it anyway.
const largeHistory = 256 << 20

type checkFlags struct {
	json    bool
	on      failOn
	model   string
	timeout time.Duration
	fair    time.Duration
	skew    time.Duration
	out     string
	format  bool
	columns []string       // as --map has them
	jepsen  *model.Results // of the run that is judged, nil where there are none
}

func checkCommand() *cobra.Command {
	var flags checkFlags
	c := &cobra.Command{
		Use:   "check DIR|FILE|-",
		Short: "Judge a recorded run, or another tool's history",
		Long: `Judge the history of a run directory again, and rewrite its verdict, report and
junit.xml. A history.jsonl on its own is judged without a register's log and
without writing anything, unless --out names a directory for the report. "-" is
standard input; gzip files are read as they are.

The format of history.jsonl is in docs/reference/history.md; --format prints its JSON
schema. A history that contradicts itself (an unknown operation, a release of a
grant that nobody was given, an answer to what was never asked) is an error that
names file and line.

A file whose name ends with .csv (or .csv.gz) has a first line that names its columns, as
the members of an event are named; all others are passed over. --map says which column
stands for which member, and that what is read is CSV, whatever its name.

A trace of OpenTelemetry (OTLP's JSON, one request or one a line) is known by its first
member, resourceSpans. Spans named acquire, release, renew, lost, read, write and add are
operations of a lock; their attributes are named as the members of an event. --map gives
the names that a trace has instead: acquire=NAME of the spans, key=ATTRIBUTE of what they
say, lease=ATTRIBUTE/ms with its unit. docs/internals/checker.md has all of it.

Where the times are of several machines, --skew says how far apart their clocks may be:
what breaks however they are shifted is false, everything else unknown, and nothing true.
--map machine=NAME says which processes share a clock; without it,
each has its own.

Histories of Jepsen (EDN, one vector of maps or one map after another) and
Jepsen's text logs as in Porcupine's test data are checked against a sequential
model: ` + strings.Join(model.Names(), ", ") + `
The model is recognised where the operations tell. A directory of Jepsen's store is
judged by its history.edn, or its history.txt; what its results.edn says is compared.

Exit codes: 0 pass, 1 fail, 2 unknown, 254 unusable arguments (a file that is not there
or is no history, a model that does not fit), 255 picklock itself failed.`,
		Example: `  picklock check picklock-results/latest
  picklock check history.jsonl --json
  picklock check history.jsonl.gz --out report
  ssh host cat history.jsonl | picklock check -
  picklock check store/lock/latest
  picklock check history.edn --model reentrant-fenced-mutex --timeout 1m
  picklock check trace.csv --map time=ts_ns,process=host,key=lock_name
  picklock check spans.json --map acquire=redis.lock,release=redis.unlock,key=lock.name,lease=lock.ttl/ms
  picklock check spans.json --skew 10ms --map machine=host.name
  picklock check --format > history.schema.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if flags.format {
				return noArguments(cmd, args)
			}
			return oneArgument("a run directory, a history's file, or - for standard input")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.format {
				_, err := fmt.Fprint(cmd.OutOrStdout(), history.Schema)
				return err
			}
			return unreadable(flags.judge(cmd.Context(), args[0], cmd.InOrStdin()))
		},
	}
	c.Flags().BoolVar(&flags.json, "json", false, "print the verdict as JSON")
	failOnFlag(c.Flags(), &flags.on)
	c.Flags().StringVar(&flags.model, "model", "", "check against this sequential model")
	c.Flags().DurationVar(&flags.timeout, "timeout", 0, "give up after this time; undecided properties are unknown")
	c.Flags().DurationVar(&flags.fair, "fair", 0, "report starvation: a client that waited longer than this while others were served")
	c.Flags().DurationVar(&flags.skew, "skew", 0, "assume that the times are of machines whose clocks differ by up to this: fail or unknown, never pass")
	c.Flags().StringVar(&flags.out, "out", "", "write report.html, verdict.json and junit.xml to this new directory")
	c.Flags().StringSliceVar(&flags.columns, "map", nil, "read these members of events from other CSV columns or span attributes: MEMBER=NAME, separated by commas")
	c.Flags().BoolVar(&flags.format, "format", false, "print the JSON schema of history.jsonl and register.jsonl")
	return c
}

// judge judges what the argument names.
func (flags checkFlags) judge(ctx context.Context, arg string, stdin io.Reader) error {
	if flags.timeout < 0 || flags.fair < 0 || flags.skew < 0 {
		return usage(errors.New("--timeout, --fair and --skew: want a length of time that is not negative"))
	}
	if flags.model != "" && (flags.fair > 0 || flags.on != onHazard && flags.on != "") {
		return usage(errors.New("check: --fair and --fail-on are for histories of locks, and a model is checked alone: leave out --model, or these"))
	}
	if flags.skew > 0 && flags.model != "" {
		return usage(errors.New("check: --skew is for histories with times, and a model is checked against an order: leave one of --skew and --model out"))
	}
	src := history.Source{Path: arg}
	if arg == "-" {
		kept, err := keep(ctx, stdin, stdinName)
		if err != nil {
			return err
		}
		defer os.Remove(kept.Path)
		src = kept
	} else {
		fi, err := os.Stat(arg)
		if err != nil {
			return usage(fmt.Errorf("check: %w", err))
		}
		if !fi.IsDir() && !fi.Mode().IsRegular() { // a pipe can be read once only
			f, err := os.Open(arg)
			if err != nil {
				return usage(fmt.Errorf("check: %w", err))
			}
			defer f.Close()
			if src, err = keep(ctx, f, arg); err != nil {
				return err
			}
			defer os.Remove(src.Path)
		}
		if stored, ok := model.StoredHistory(arg); ok && fi.IsDir() && !isRun(arg) {
			ctx, cancel := flags.limit(ctx)
			defer cancel()
			return flags.stored(ctx, arg, stored)
		}
		if fi.IsDir() && len(flags.columns) > 0 {
			return usage(fmt.Errorf("check: --map is for a CSV file or a trace, and %s is a run directory", arg))
		}
		if fi.IsDir() && flags.skew > 0 {
			return usage(fmt.Errorf("check: --skew is for a file: what it was for %s, its run.json says", arg))
		}
		if fi.IsDir() && flags.out != "" {
			return usage(fmt.Errorf("check: --out is for a file: the report of %s is rewritten in its place", arg))
		}
		if fi.IsDir() {
			ctx, cancel := flags.limit(ctx)
			defer cancel()
			return flags.dir(ctx, arg)
		}
	}
	src, err := flags.named(src)
	if err != nil {
		return err
	}
	ctx, cancel := flags.limit(ctx)
	defer cancel()
	return flags.file(ctx, src)
}

func (flags checkFlags) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if flags.timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, flags.timeout)
}

func (flags checkFlags) dir(ctx context.Context, path string) error {
	if flags.model != "" {
		return flags.file(ctx, history.Source{Path: filepath.Join(path, results.HistoryFile)})
	}
	if _, err := os.Stat(filepath.Join(path, results.RunFile)); errors.Is(err, fs.ErrNotExist) {
		return usage(fmt.Errorf("no run directory: %s has no %s: %s", path, results.RunFile, noRun(path)))
	}
	fi, err := os.Stat(filepath.Join(path, results.HistoryFile))
	if (err != nil || fi.Size() <= largeHistory) && flags.timeout == 0 && flags.fair == 0 {
		return checkDir(path, flags)
	}
	var run results.Run
	text, err := os.ReadFile(filepath.Join(path, results.RunFile))
	if err == nil {
		err = json.Unmarshal(text, &run)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return usage(fmt.Errorf("check: %w: name a run directory, or a history.jsonl in it", err))
	}
	if err != nil {
		return fmt.Errorf("check: %s: %w: name a run directory, or a history.jsonl in it", path, err)
	}
	if len(run.Command) == 0 {
		run.Command = flags.again(path)
	}
	effects := filepath.Join(path, results.RegisterFile)
	if _, err := os.Stat(effects); errors.Is(err, fs.ErrNotExist) {
		effects = ""
	}
	v, err := flags.stream(ctx, history.Source{Path: filepath.Join(path, results.HistoryFile)}, effects, run.Asked())
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "picklock: the history is large and was judged while it was read: verdict.json and the report are not rewritten")
	return report("", run, run.Judged(v), flags.on, flags.json)
}

// noRun is what to do about a directory without a run.json.
func noRun(path string) string {
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(path, name))
		return err == nil
	}
	fi, err := os.Stat(filepath.Join(path, results.HistoryFile))
	switch {
	case err == nil && fi.Size() == 0 && there(results.NodesFolder):
		return fmt.Sprintf("its run failed before it began; %s has what its nodes said", filepath.Join(path, results.NodesFolder))
	case err == nil:
		return fmt.Sprintf("name the %s in it, or write {} into %s to have its %s judged, too", results.HistoryFile, filepath.Join(path, results.RunFile), results.RegisterFile)
	case there(results.VerdictFile):
		return "it holds the report of a history that was checked against a model: name that history"
	}
	return "name a run directory, or a history.jsonl in it, or what Jepsen stored, with a history.edn or history.txt"
}

func (flags checkFlags) file(ctx context.Context, src history.Source) error {
	if src.Spans || src.CSV {
		return flags.own(ctx, src)
	}
	f, err := src.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	h, err := model.Read(f, src.String())
	if errors.Is(err, model.ErrOwnFormat) {
		return flags.own(ctx, src)
	}
	if err != nil {
		return err
	}
	if flags.skew > 0 {
		return usage(fmt.Errorf("check: --skew is for histories with times: what %s is checked against is an order", src))
	}
	return flags.check(ctx, h, flags.modelOf(h))
}

// modelOf is the model that is asked for, or the one that the operations tell.
func (flags checkFlags) modelOf(h *model.History) func() (*model.Model, error) {
	return func() (*model.Model, error) {
		if flags.model != "" {
			return model.Named(flags.model)
		}
		return model.Recognise(h)
	}
}

// own judges a history of our own: by all properties, or by a model if one is named.
func (flags checkFlags) own(ctx context.Context, src history.Source) error {
	log := filepath.Join(filepath.Dir(src.Path), results.RegisterFile)
	if _, err := os.Stat(log); err == nil && filepath.Base(src.Path) == results.HistoryFile {
		fmt.Fprintf(os.Stderr, "picklock: %s is left out: name its directory to have it judged, too\n", printable(log))
	}
	if flags.model == "" {
		if flags.out != "" {
			return flags.reported(ctx, src)
		}
		v, err := flags.stream(ctx, src, "", checker.Options{Skew: int64(flags.skew)})
		if err != nil {
			return err
		}
		if v.Stats.Events == 0 && ctx.Err() == nil {
			return flags.nothing(src.String(), emptyHistory, v)
		}
		return report("", flags.recorded(src, v), v, flags.on, flags.json)
	}
	m, err := model.Named(flags.model)
	if err != nil {
		return usage(fmt.Errorf("check: %w", err))
	}
	events, line, err := src.EventsAt()
	if err != nil {
		return err
	}
	h, err := model.FromEvents(events, line, m, src.String())
	if errors.Is(err, model.ErrUnfit) {
		return usage(fmt.Errorf("check: %w", err))
	}
	if err != nil {
		return err
	}
	return flags.check(ctx, h, func() (*model.Model, error) { return m, nil })
}

// recorded is the run that a history on its own is of: what was asked of it is not
// known; the faults are those that took effect.
func (flags checkFlags) recorded(src history.Source, v checker.Verdict) results.Run {
	again := src.String()
	if again == stdinName {
		again = "-"
	}
	run := results.Run{Settings: workloads.Settings{Lock: "recorded"}, Command: flags.again(again), Skew: flags.skew, Fair: flags.fair}
	for _, member := range slices.Sorted(maps.Keys(src.Columns)) {
		run.Command = append(run.Command, "--map", member+"="+src.Columns[member])
	}
	run.Faults = results.TookEffect(v)
	return run
}

// again is the command line that judges what is named in the same way again.
func (flags checkFlags) again(name string) []string {
	out := []string{"picklock", "check", name}
	add := func(flag, value string, given bool) {
		if given {
			out = append(out, flag, value)
		}
	}
	add("--model", flags.model, flags.model != "")
	add("--skew", flags.skew.String(), flags.skew > 0)
	add("--fair", flags.fair.String(), flags.fair > 0)
	add("--timeout", flags.timeout.String(), flags.timeout > 0)
	add("--fail-on", flags.on.String(), flags.on != onHazard && flags.on != "")
	return out
}

const emptyHistory = "the history is empty: there is nothing to judge"

// nothing says in one line that nothing can be said.
func (flags checkFlags) nothing(name, why string, v checker.Verdict) error {
	if !flags.json {
		fmt.Printf("%s: unknown: %s\n", printable(name), why)
	} else if err := printJSON(v); err != nil {
		return fmt.Errorf("print the verdict: %w", err)
	}
	return &exitError{exitUnknown, nil}
}

// stream judges files without holding them. A time that was over before all was
// read leaves everything unknown.
func (flags checkFlags) stream(ctx context.Context, events history.Source, effects string, opt checker.Options) (checker.Verdict, error) {
	if flags.fair > 0 {
		opt.Fair = int64(flags.fair)
	}
	if fi, err := os.Stat(events.Path); err == nil && fi.Size() > largeHistory {
		defer gctune.Relax()()
	}
	tell := teller("events read")
	v, err := checker.CheckSource(ctx, events, effects, opt, func(n int) { tell(n, 0) })
	if errors.Is(err, context.DeadlineExceeded) {
		why := "the time given for checking was over before the history was read: give more with --timeout"
		v = checker.Verdict{Why: why, Properties: map[string]checker.Property{}}
		for _, p := range checker.Properties {
			v.Properties[p] = checker.Property{Why: why}
		}
		return v, nil
	}
	return v, err
}

// teller writes progress to stderr, at most twice a second and not before two
// seconds are over.
func teller(what string) func(done, of int) {
	start := time.Now()
	last := start
	return func(done, of int) {
		now := time.Now()
		if now.Sub(start) < 2*time.Second || now.Sub(last) < 500*time.Millisecond {
			return
		}
		last = now
		if of > 0 {
			fmt.Fprintf(os.Stderr, "picklock: %d of %d %s\n", done, of, what)
		} else {
			fmt.Fprintf(os.Stderr, "picklock: %d %s\n", done, what)
		}
	}
}
