package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/model"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/results"
)

// largeHistory is from which size on a history is judged in passing, without
// holding it and without a report, which could not show it anyway.
const largeHistory = 256 << 20

type checkFlags struct {
	json    bool
	model   string
	timeout time.Duration
	fair    time.Duration
}

func checkCommand() *cobra.Command {
	var flags checkFlags
	c := &cobra.Command{
		Use:   "check DIR|FILE",
		Short: "Judge a recorded run, or another tool's history",
		Long: `Judge the history of a run directory again, and rewrite its verdict, report and
junit.xml. A history.jsonl on its own is judged without a register's log and
without writing anything.

Histories of Jepsen (EDN, one vector of maps or one map after another) and
Jepsen's text logs as in Porcupine's test data are checked against a sequential
model: ` + strings.Join(model.Names(), ", ") + `
The model is recognised where the operations tell.`,
		Example: `  picklock check picklock-results/latest
  picklock check history.jsonl --json
  picklock check history.edn --model reentrant-fenced-mutex --timeout 1m`,
		Args: oneArgument("a run directory or a history.jsonl"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if flags.timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, flags.timeout)
				defer cancel()
			}
			fi, err := os.Stat(args[0])
			if err != nil {
				return usage(fmt.Errorf("check: %w", err))
			}
			if fi.IsDir() {
				return flags.dir(ctx, args[0])
			}
			return flags.file(ctx, args[0])
		},
	}
	c.Flags().BoolVar(&flags.json, "json", false, "print the verdict as JSON")
	c.Flags().StringVar(&flags.model, "model", "", "check against this sequential model")
	c.Flags().DurationVar(&flags.timeout, "timeout", 0, "give up after this time: what is not decided by then is unknown")
	c.Flags().DurationVar(&flags.fair, "fair", 0, "report starvation: a client that waited longer than this while others were served")
	return c
}

func (flags checkFlags) dir(ctx context.Context, path string) error {
	if flags.model != "" {
		return flags.file(ctx, filepath.Join(path, results.HistoryFile))
	}
	fi, err := os.Stat(filepath.Join(path, results.HistoryFile))
	if (err != nil || fi.Size() <= largeHistory) && flags.timeout == 0 && flags.fair == 0 {
		return checkDir(path, flags.json)
	}
	var run results.Run
	text, err := os.ReadFile(filepath.Join(path, results.RunFile))
	if err == nil {
		err = json.Unmarshal(text, &run)
	}
	if err != nil {
		return fmt.Errorf("check: %s: %w: name a run directory, or a history.jsonl in it", path, err)
	}
	effects := filepath.Join(path, results.RegisterFile)
	if _, err := os.Stat(effects); errors.Is(err, fs.ErrNotExist) {
		effects = ""
	}
	v, err := flags.stream(ctx, filepath.Join(path, results.HistoryFile), effects, optionsOf(run))
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "picklock: judged in passing: verdict.json and the report are not rewritten")
	return report("", run, v, flags.json)
}

// optionsOf says what was asked of a run.
func optionsOf(run results.Run) checker.Options {
	o := checker.Options{Require: run.Require, Bound: int64(run.Bound), Fencing: run.Fencing, NoLock: run.NoLock}
	for _, f := range run.Faults {
		name, _, _ := strings.Cut(f, ":")
		o.Faults = append(o.Faults, name)
	}
	return o
}

func (flags checkFlags) file(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return usage(fmt.Errorf("check: %w", err))
	}
	defer f.Close()
	h, err := model.Read(f, path)
	if errors.Is(err, model.ErrOwnFormat) {
		return flags.own(ctx, path)
	}
	if err != nil {
		return err
	}
	m, err := flags.modelOf(h)
	if err != nil {
		return usage(fmt.Errorf("check: %w", err))
	}
	return flags.check(ctx, h, m)
}

func (flags checkFlags) modelOf(h *model.History) (*model.Model, error) {
	if flags.model != "" {
		return model.Named(flags.model)
	}
	return model.Recognise(h)
}

// own judges a history of our own: by all properties, or by a model if one is named.
func (flags checkFlags) own(ctx context.Context, path string) error {
	if flags.model == "" {
		v, err := flags.stream(ctx, path, "", checker.Options{})
		if err != nil {
			return err
		}
		// What was asked of the run is not known; the faults are those that struck.
		run := results.Run{Lock: "recorded", Command: []string{"picklock", "check", path}, Faults: slices.Sorted(maps.Keys(v.Stats.Faults))}
		return report("", run, v, flags.json)
	}
	m, err := model.Named(flags.model)
	if err != nil {
		return usage(fmt.Errorf("check: %w", err))
	}
	events, err := history.ReadFile(path)
	if err != nil {
		return err
	}
	h, err := model.FromEvents(events, m, path)
	if err != nil {
		return err
	}
	return flags.check(ctx, h, m)
}

// stream judges files without holding them. A time that was over before all was
// read leaves everything unknown.
func (flags checkFlags) stream(ctx context.Context, events, effects string, opt checker.Options) (checker.Verdict, error) {
	opt.Fair = int64(flags.fair)
	if fi, err := os.Stat(events); err == nil && fi.Size() > largeHistory {
		defer roomy()()
	}
	tell := teller("events read")
	v, err := checker.CheckFiles(ctx, events, effects, opt, func(n int) { tell(n, 0) })
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

// roomy lets memory grow to what a history of ten million events needs before it
// is collected at all, and returns how to go back.
func roomy() func() {
	percent := debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(1700 << 20)
	if percent < 0 {
		percent = 100
	}
	// Beyond that the limit would only cost time: let it grow in steps.
	stop := time.AfterFunc(15*time.Second, func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) })
	return func() { stop.Stop(); debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) }
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

// check judges another tool's history.
func (flags checkFlags) check(ctx context.Context, h *model.History, m *model.Model) error {
	v, err := model.Check(ctx, h, m, model.Options{Progress: teller("objects checked")})
	if err != nil {
		return err
	}
	if flags.json {
		if err := printJSON(v); err != nil {
			return fmt.Errorf("print the verdict: %w", err)
		}
	} else {
		printModel(h, m, v)
	}
	switch v.Valid {
	case checker.True:
		return nil
	case checker.False:
		return &exitError{exitInvalid, nil}
	}
	return &exitError{exitUnknown, nil}
}

func printModel(h *model.History, m *model.Model, v checker.Verdict) {
	says := map[checker.Validity]string{checker.True: "linearizable", checker.False: "NOT linearizable", checker.Unknown: "unknown"}
	fmt.Printf("%s: %s as %s\n  %s\n", printable(h.File), says[v.Valid], m.Name, printable(v.Properties[model.Linearizable].Why))
	for i, a := range v.Anomalies {
		if i == 5 {
			fmt.Printf("  and %d more, in --json\n", len(v.Anomalies)-i)
			break
		}
		on := ""
		if a.Key != "" {
			on = " on " + a.Key
		}
		fmt.Printf("  %s%s: %s\n", a.Name, printable(on), printable(a.Explanation))
	}
}

// printable keeps what a file says from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

func checkDir(path string, asJSON bool) error {
	l, err := results.Open(path)
	if err != nil {
		return err
	}
	v, err := harness.Judge(l.Dir, l.Run, l.Events)
	if err != nil {
		return err
	}
	return report(l.Dir.Report(), l.Run, v, asJSON)
}
func reportCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "report DIR",
		Short:   "Write a run's report anew from its records",
		Example: `  picklock report picklock-results/latest`,
		Args:    oneArgument("a run directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := results.Open(args[0])
			if err != nil {
				return err
			}
			if l.Verdict == nil {
				if _, err := harness.Judge(l.Dir, l.Run, l.Events); err != nil {
					return err
				}
			} else if err := results.WriteAll(l.Dir, l.Run, *l.Verdict, l.Events, l.Effects); err != nil {
				return err
			}
			fmt.Println(l.Dir.Report())
			return nil
		},
	}
}

func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage(fmt.Errorf("%s: want %s, got %q", cmd.CommandPath(), what, strings.Join(args, " ")))
		}
		return nil
	}
}
