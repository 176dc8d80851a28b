// Command hunt-table hunts on locks one after the other and prints what it takes at least
// to break each, without a fencing token and with one, as the README has it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/hunt"
)

func main() {
	program := flag.String("picklock", "bin/picklock", "the program")
	locks := flag.String("locks", "redis,redlock,etcd,zookeeper,postgres-table,redis-del,zk-lock", "which locks")
	search := flag.Duration("time", 30*time.Second, "to search on each")
	finish := flag.Duration("finish", 30*time.Second, "to make small, and to replay, what was found")
	replays := flag.Int("replays", 20, "how often each counterexample is run in the end")
	again := flag.Int("again", 0, "run the scenario of each counterexample that is reproduced reliably so often again, alone and with all processors busy")
	out := flag.String("out", "", "folder that keeps the hunts (default: none)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	t := table{program: *program, search: *search, finish: *finish, replays: *replays, times: *again, out: *out}
	err := t.print(ctx, strings.Split(*locks, ","))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hunt-table:", err)
		os.Exit(1)
	}
}

type table struct {
	program         string
	search, finish  time.Duration
	replays, times  int
	out             string
	counterexamples []string // rows of the second table
	faults, steps   []int    // of the counterexamples that are reproduced reliably, at the least
	alone, loaded   played
}

// run is how often counterexamples came again of how many runs, and how many of the counterexamples in at
// least 99 and in at least 95 of 100.
type played struct{ counterexamples, always, nearly, hits, runs int }

func (p *played) add(r hunt.Rate) {
	p.counterexamples, p.hits, p.runs = p.counterexamples+1, p.hits+r.Hits, p.runs+r.Runs
	if 100*r.Hits >= 99*r.Runs {
		p.always++
	}
	if 100*r.Hits >= 95*r.Runs {
		p.nearly++
	}
}

func (p played) String() string {
	return fmt.Sprintf("%d of %d runs; of %d counterexamples %d came in 99 of 100 runs, %d in 95", p.hits, p.runs, p.counterexamples, p.always, p.nearly)
}

// print prints what it takes at least to break each lock, and then what shrinking made of
// each counterexample and how steadily it is run again.
func (t *table) print(ctx context.Context, locks []string) error {
	dir := t.out
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "picklock-hunt-table-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	fmt.Println("| lock | without fencing | with `--fencing read-write` |\n|---|---|---|")
	for _, lock := range locks {
		row := []string{lock}
		for _, fencing := range []string{"none", "read-write"} {
			to := filepath.Join(dir, lock+"-"+fencing)
			r, err := t.hunt(ctx, lock, fencing, to)
			if errors.Is(err, errUnusable) && fencing != "none" {
				row = append(row, "") // it gives no tokens
				continue
			}
			if err != nil {
				return fmt.Errorf("hunt on %s with --fencing %s: %w", lock, fencing, err)
			}
			for _, w := range r.Counterexamples {
				line, err := t.counterexample(ctx, to, lock, fencing, w)
				if err != nil {
					return fmt.Errorf("run %s of %s again: %w", w.Name, lock, err)
				}
				t.counterexamples = append(t.counterexamples, line)
			}
			row = append(row, cell(r))
		}
		fmt.Printf("| %s |\n", strings.Join(row, " | "))
	}
	fmt.Println("\n| lock | fencing | counterexample | faults and steps as found | at the least | runs to shrink it | came again | alone | loaded |\n|---|---|---|---|---|---|---|---|---|")
	for _, w := range t.counterexamples {
		fmt.Printf("| %s |\n", w)
	}
	if len(t.faults) > 0 {
		slices.Sort(t.faults)
		slices.Sort(t.steps)
		fmt.Printf("\n%d counterexamples that are reproduced reliably: %d faults and %d steps in the median\n", len(t.faults), t.faults[len(t.faults)/2], t.steps[len(t.steps)/2])
	}
	if t.times > 0 {
		fmt.Printf("alone: %v\nloaded: %v\n", t.alone, t.loaded)
	}
	return nil
}

// counterexample is a row of the second table: what shrinking made of the counterexample, and how often its
// scenario came again.
func (t *table) counterexample(ctx context.Context, dir, lock, fencing string, w *hunt.Counterexample) (string, error) {
	row := fmt.Sprintf("%s | %s | %s | %d, %d | %d, %d | %d | %s", lock, fencing, w.Signature, w.FirstFaults, w.FirstSteps, w.Faults, w.Steps, w.ShrinkRuns, rate(w))
	if !w.Steady() {
		return row + " | | ", nil
	}
	t.faults, t.steps = append(t.faults, w.Faults), append(t.steps, w.Steps)
	if t.times == 0 {
		return row + " | | ", nil
	}
	var r struct{ Alone, Loaded hunt.Rate }
	err := t.call(ctx, &r, "scenario", "run", filepath.Join(dir, "counterexamples", w.Name+".yaml"), "--lock", lock, "--fencing", fencing,
		"--count", fmt.Sprint(t.times), "--load", "--json")
	if err != nil {
		return "", err
	}
	t.alone.add(r.Alone)
	t.loaded.add(r.Loaded)
	return fmt.Sprintf("%s | %d of %d | %d of %d", row, r.Alone.Hits, r.Alone.Runs, r.Loaded.Hits, r.Loaded.Runs), nil
}

// hunt makes one hunt.
func (t *table) hunt(ctx context.Context, lock, fencing, dir string) (*hunt.Result, error) {
	var r hunt.Result
	return &r, t.call(ctx, &r, "hunt", "--lock", lock, "--fencing", fencing, "--seed", "1", "--json",
		"--duration", t.search.String(), "--finish", t.finish.String(), "--replays", fmt.Sprint(t.replays), "--out", dir)
}

// call runs picklock and reads what it prints; whatever it found is no error.
func (t *table) call(ctx context.Context, into any, args ...string) error {
	cmd := exec.CommandContext(ctx, t.program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var serr strings.Builder
	cmd.Stderr = &serr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == unusable {
		return errUnusable
	}
	if err != nil && (exit == nil || exit.ExitCode() > 2) {
		return fmt.Errorf("%w: %s", err, serr.String())
	}
	return json.Unmarshal(out, into)
}

// unusable is picklock's exit code for options that cannot work.
const unusable = 254

var errUnusable = errors.New("options that cannot work")

// cell is the least that breaks the lock itself, and whether a stale write comes by leases
// alone; or how many schedules broke nothing.
func cell(r *hunt.Result) string {
	var lock, late string
	for _, w := range r.Counterexamples {
		if !w.Steady() {
			continue
		}
		text := fmt.Sprintf("%s (%s)", w.Takes(), rate(w))
		switch {
		case w.LeaseHazard():
			late = "a stale write by " + text
		case lock == "":
			lock = "✗ " + w.Anomaly + " by " + text
		}
	}
	switch {
	case lock != "" && late != "":
		return lock + "; " + late
	case lock != "" || late != "":
		return lock + late
	}
	played := 0
	for _, d := range r.Depths {
		played += d.Ran
	}
	return fmt.Sprintf("none of %d schedules", played+r.Guided)
}

func rate(w *hunt.Counterexample) string {
	r := w.Alone
	if r.Runs == 0 {
		r = w.Search
	}
	return fmt.Sprintf("%d of %d", r.Hits, r.Runs)
}
