package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/results"
)

// experiment is one line of the demonstration: the arguments of a run and what
// it shows.
type experiment struct {
	lock  string
	args  []string
	shows string
}

// demonstration is chosen so that each lock is seen once where it breaks and,
// where it has fencing tokens, once where they save it.
var demonstration = []experiment{
	{"redis", []string{"--faults", "pause:holder"}, "the holder sleeps past its lease and overwrites a newer value"},
	{"redis", []string{"--faults", "clock:one:held", "--work-time", "100ms"}, "the server's clock jumps and the lease ends early"},
	{"redis", []string{"--faults", "kill:one:wipe:held", "--work-time", "100ms"}, "the server forgets the lock in a crash"},
	{"redlock", []string{"--faults", "clock:majority:held", "--work-time", "100ms"}, "three of five clocks jump"},
	{"etcd", []string{"--faults", "partition:holder:register"}, "a write is held up in the network until another holds the lock"},
	{"etcd", []string{"--faults", "pause:holder,partition:holder:register", "--fencing", "read-write"}, "with fencing the register refuses such writes"},
	{"zookeeper", []string{"--faults", "pause:holder"}, "a session ends while its client sleeps"},
	{"zookeeper", []string{"--faults", "pause:holder", "--fencing", "read-write"}, "with fencing the register refuses its stale write"},
}

// row is an experiment's line of the table, and where to read more.
type row struct {
	results.Row `json:"-"`
	Command     []string        `json:"command"`
	Shows       string          `json:"shows"`
	Report      string          `json:"report"`
	Outcome     checker.Verdict `json:"verdict"`
}

func demoCommand() *cobra.Command {
	var limit time.Duration
	var asJSON bool
	c := &cobra.Command{
		Use: "demo", Short: "Break a few real locks in about a minute", Args: noArguments,
		Long: `Run a handful of short experiments, two at a time, and print what came of them.
etcd is built in; what else is not installed here is named and left out.`,
		Example: "  picklock demo",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < time.Second {
				return usage(fmt.Errorf("--duration %v: want at least 1s", limit))
			}
			return demo(cmd.Context(), limit, asJSON)
		},
	}
	c.Flags().DurationVar(&limit, "duration", 12*time.Second, "run each for this long")
	c.Flags().BoolVar(&asJSON, "json", false, "print the verdicts as JSON")
	return c
}

func demo(ctx context.Context, limit time.Duration, asJSON bool) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the own program: %w", err)
	}
	root := filepath.Join(results.Root, time.Now().Format("20060102-150405")+"-demo")
	rows := make([]*row, len(demonstration))
	errs := make([]error, len(demonstration))
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for i, x := range demonstration {
		if err := missing(ctx, x.lock); err != nil {
			errs[i] = err
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			fmt.Fprintf(os.Stderr, "picklock: %s %s: %s\n", x.lock, strings.Join(x.args, " "), x.shows)
			rows[i], errs[i] = x.run(ctx, self, filepath.Join(root, fmt.Sprintf("%d-%s", i+1, x.lock)), limit)
		})
	}
	wg.Wait()
	var left, failed error
	for i, err := range errs {
		var absent *notHere
		switch {
		case errors.As(err, &absent):
			left = errors.Join(left, fmt.Errorf("left out: %s %s: %w", demonstration[i].lock, strings.Join(demonstration[i].args, " "), err))
		case err != nil:
			failed = errors.Join(failed, err)
		}
	}
	if asJSON {
		return errors.Join(printJSON(slices.DeleteFunc(rows, func(r *row) bool { return r == nil })), failed)
	}
	if err := printDemo(rows); err != nil {
		return err
	}
	if left != nil {
		fmt.Println(left)
	}
	return failed
}

func printDemo(rows []*row) error {
	var done []results.Row
	for _, r := range rows {
		if r != nil {
			done = append(done, r.Row)
		}
	}
	if err := results.TextTable(os.Stdout, done, colourful(os.Stdout)); err != nil {
		return err
	}
	fmt.Println()
	for _, r := range rows {
		if r != nil {
			fmt.Printf("%s: %s\n  %s\n", r.Lock, r.Shows, r.Report)
		}
	}
	return nil
}

// notHere marks an experiment that this machine lacks something for.
type notHere struct{ error }

func missing(ctx context.Context, lock string) error {
	info, err := lockTable.Lookup(lock)
	if err != nil {
		return err
	}
	def, err := compose.Load(ctx, info.Cluster)
	if err != nil {
		return err
	}
	for _, s := range def.Servers() {
		if err := s.Spec.Local.Missing(); err != nil {
			return &notHere{err}
		}
	}
	return nil
}

// run makes the experiment's run as a user would, in a process of its own.
func (x experiment) run(ctx context.Context, self, dir string, limit time.Duration) (*row, error) {
	args := append([]string{"run", "--lock", x.lock, "--duration", limit.String(), "--out", dir, "--json"}, x.args...)
	cmd := harness.Again(ctx, self, args)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitValid && code != exitInvalid && code != exitUnknown {
		return nil, fmt.Errorf("picklock %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	var v checker.Verdict
	if err := json.Unmarshal(stdout.Bytes(), &v); err != nil {
		return nil, fmt.Errorf("picklock %s: read its verdict: %w", strings.Join(args, " "), err)
	}
	l, err := results.Open(dir)
	if err != nil {
		return nil, err
	}
	return &row{results.RowOf(l.Run, v), l.Run.Command, x.shows, l.Dir.Report(), v}, nil
}
