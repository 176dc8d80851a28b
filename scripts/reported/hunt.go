package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/hunt"
	huntreport "github.com/picklock/picklock/hunt/report"
)

// runner runs picklock.
type runner struct {
	program, out, strategy string
	time, finish           time.Duration
	replays                int
	seed                   uint64
	again                  bool
	kinds                  map[string]kind
}

// exitFound is picklock's exit code if something was found, or if something was not as expected.
const exitFound = 1

// call runs picklock with arguments, whose output goes to a file of that name in the folder. A code
// other than 0 and 1 is an error with the end of what it said, beside what it wrote.
func (r runner) call(ctx context.Context, folder, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, r.program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if kept := os.WriteFile(filepath.Join(folder, name+".txt"), append(said.Bytes(), out.Bytes()...), 0o644); kept != nil {
		return nil, kept
	}
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) && exit.ExitCode() == exitFound {
		return out.Bytes(), nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return out.Bytes(), fmt.Errorf("picklock %s: %w: %s", strings.Join(args, " "), err, lastLines(said.String()))
}

// lastLines is the end of a text.
func lastLines(text string) string {
	const most = 3
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "; ")
}

// hunt hunts a version of the bug's library in a new folder below folder. A hunt that is there and was
// not finished is removed.
func (r runner) hunt(ctx context.Context, b bug, version, folder, name string) (*hunt.Result, error) {
	dir := filepath.Join(folder, name)
	if result, err := readHunt(dir); err == nil {
		return result, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	args := append([]string{
		"hunt", "--duration", r.time.String(), "--finish", r.finish.String(), "--replays", fmt.Sprint(r.replays),
		"--strategy", r.strategy, "--seed", fmt.Sprint(r.seed), "--out", dir,
	}, b.target(version)...)
	_, err := r.call(ctx, folder, name, args...)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	// Exit code 2: too much was discarded. The result is there all the same, and says so.
	result, missing := readHunt(dir)
	if missing != nil {
		return nil, errors.Join(err, missing)
	}
	return result, nil
}

func readHunt(dir string) (*hunt.Result, error) {
	var out hunt.Result
	if err := readJSON(filepath.Join(dir, huntreport.ResultFile), &out); err != nil {
		return nil, err
	}
	if out.CutShort {
		return nil, fmt.Errorf("the hunt in %s was interrupted", dir)
	}
	if out.Stopped != "" {
		return nil, fmt.Errorf("the hunt in %s ended early: %s", dir, out.Stopped)
	}
	return &out, nil
}

// replay runs a counterexample on a version, and returns in how many of the runs its anomaly came, from
// the same cause: a write can be late in both versions, for another reason each.
func (r runner) replay(ctx context.Context, b bug, version string, w *hunt.Counterexample, folder string, times int) (hunt.Rate, error) {
	file := filepath.Join(folder, "broken", huntreport.CounterexamplesFolder, w.Name+".yaml")
	args := append([]string{"scenario", "run", file, "--forbid", w.Anomaly, "--count", fmt.Sprint(times), "--json"}, b.target(version)...)
	text, err := r.call(ctx, folder, w.Name+"@"+version, args...)
	if ctx.Err() != nil {
		return hunt.Rate{}, ctx.Err()
	}
	var result struct {
		Alone struct {
			Runs, Discarded int
			Causes          map[string]int
		}
	}
	// Exit code 2: too much was discarded. What was not is there all the same.
	if wrong := json.Unmarshal(text, &result); wrong != nil {
		return hunt.Rate{}, errors.Join(err, fmt.Errorf("read what picklock scenario run printed: %w", wrong))
	}
	return hunt.Rate{Hits: result.Alone.Causes[w.Signature.Name()], Runs: result.Alone.Runs, Discarded: result.Alone.Discarded}, nil
}

// ofKind lists the counterexamples that a bug may be, and their variants: lock bugs first. What any
// lease does shows no bug: a fixed version does it, too.
func ofKind(result *hunt.Result, k kind) []*hunt.Counterexample {
	var out []*hunt.Counterexample
	for _, w := range result.Counterexamples {
		for _, v := range append([]*hunt.Counterexample{w}, w.Variants...) {
			if slices.Contains(k.Anomalies, v.Anomaly) && !v.LeaseHazard() {
				out = append(out, v)
			}
		}
	}
	slices.SortStableFunc(out, func(x, y *hunt.Counterexample) int {
		return cmp.Compare(rank(x), rank(y))
	})
	return out
}

func rank(w *hunt.Counterexample) int {
	if w.Hazard() {
		return 1
	}
	return 0
}

// readJSON reads a file into a value; the error of one that is not there is fs.ErrNotExist.
func readJSON(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

func writeJSON(file string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
