package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/results"
)

// RunsOptions says what to run several times.
type RunsOptions struct {
	Options          // Seed is the first run's, and one more is that of each that follows
	Runs    int      // how often
	OnBug   bool     // only a lock bug is a failure
	Flags   []string // what the command line needs besides Options.Command: the runtime
	// Done is called with every run that is over.
	Done func(r results.OneRun, n int)
}

// Runs makes the same run several times, each in a process and a folder of its own
// below o.Out. An interruption cuts the run short that is under way, and leaves out
// those that would follow.
func Runs(ctx context.Context, o RunsOptions) (results.Runs, error) {
	if err := o.Check(); err != nil {
		return results.Runs{}, err
	}
	p, err := o.plan()
	if err == nil {
		err = p.possible(ctx)
	}
	if err != nil {
		return results.Runs{}, err
	}
	if o.Out == "" {
		name := strings.Trim(unsafeInName().ReplaceAllString(o.Lock, "-"), ".-")
		o.Out = filepath.Join(results.Root, time.Now().Format("20060102-150405")+"-"+name[:min(len(name), 40)]+"-runs")
	}
	if err := emptyFolder(o.Out); err != nil {
		return results.Runs{}, err
	}
	all := results.Runs{Lock: p.lock.Name, Command: slices.Concat(o.Command(), o.Flags, []string{"--count", strconv.Itoa(o.Runs)}), Dir: o.Out, Asked: o.Runs, OnBug: o.OnBug, Runs: []results.OneRun{}}
	failed := 0
	for i := range o.Runs {
		if o.interrupted() {
			return all, o.finish(&all)
		}
		one, err := o.once(ctx, i)
		var broken *brokenRun
		if errors.As(err, &broken) {
			if o.interrupted() { // before there was anything to judge
				return all, o.finish(&all)
			}
			failed++
			one.Why, err = "picklock itself failed: "+broken.Error(), nil
		}
		if err != nil {
			return all, err
		}
		all.Runs = append(all.Runs, one)
		if o.Done != nil {
			o.Done(one, i+1)
		}
		if failed == i+1 && (failed == 3 || failed == o.Runs) {
			return all, fmt.Errorf("no run came to its end: %w", broken)
		}
	}
	return all, o.finish(&all)
}

func (o RunsOptions) interrupted() bool {
	select {
	case <-o.Interrupt:
		return true
	default:
		return false
	}
}

func (o RunsOptions) finish(all *results.Runs) error {
	all.Rate = results.RateOf(all.Runs, all.OnBug)
	return results.WriteRuns(*all)
}

// emptyFolder makes a folder, and refuses one that holds something.
func emptyFolder(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the folder of the runs: %w (name another with --out)", ErrUsage, err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("%w: %s is not empty: name another folder with --out", ErrUsage, path)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("%w: make the folder of the runs: %w (name another with --out)", ErrUsage, err)
	}
	return nil
}

// brokenRun is what a run said that came to no verdict.
type brokenRun struct{ said string }

func (b *brokenRun) Error() string { return b.said }

// once makes one of the runs as a user would.
func (o RunsOptions) once(ctx context.Context, i int) (results.OneRun, error) {
	o.Seed += uint64(i)
	one := results.OneRun{Seed: o.Seed, Valid: checker.Unknown, Promises: checker.Unknown, Anomalies: map[string]int{}, Dir: filepath.Join(o.Out, strconv.Itoa(i+1))}
	args := slices.Concat(o.Command()[1:], o.Flags, []string{"--out", one.Dir, "--json"})
	cmd := Again(ctx, o.Self, args)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return one, fmt.Errorf("start picklock: %w", err)
	}
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-o.Interrupt:
			_ = cmd.Process.Signal(os.Interrupt) // it may just have ended
		case <-over:
		}
	}()
	runErr := cmd.Wait()
	close(over)
	<-watched
	if ctx.Err() != nil {
		return one, fmt.Errorf("abandoned: %w", ctx.Err())
	}
	var exit *exec.ExitError
	if runErr != nil && !errors.As(runErr, &exit) {
		return one, fmt.Errorf("wait for picklock: %w", runErr)
	}
	switch code := cmd.ProcessState.ExitCode(); {
	case code == 254:
		return one, fmt.Errorf("%w: %s", ErrUsage, lastLine(stderr.String()))
	case code < 0 || code > 2:
		return one, &brokenRun{lastLine(stderr.String())}
	}
	var v struct {
		checker.Verdict
		Report string `json:"report"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &v); err != nil {
		return one, fmt.Errorf("picklock %s: read its verdict: %w", strings.Join(args, " "), err)
	}
	one.Bugs, one.Hazards, one.Resource = v.Failures()
	one.Valid, one.Promises, one.Why, one.Grants, one.Report = v.Valid, v.Promises, v.Why, v.Stats.Grants, v.Report
	one.Seconds = time.Duration(v.Stats.Duration).Seconds()
	for _, a := range v.Anomalies {
		if !v.Properties[a.Property].Required {
			continue
		}
		one.Anomalies[a.Name]++
		if one.Sentence == "" {
			one.Sentence = a.Explanation
		}
	}
	return one, nil
}
