// Command late-messages runs the scenarios about messages that come late, on each of their
// locks, with what they hold and deliver and with the cuts that do the same less exactly
// (cut/*.yaml), in turn, and prints how often each came to what is expected of it and how
// long its script took: RUNS=100 CUTS=30 go run ./scripts/late-messages. Needs bin/picklock.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

const fencing = "none" // with which the anomaly has to appear every time

func main() {
	if err := play(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// number is a number in the environment.
func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// row is one scenario on one lock.
type row struct {
	scenario, lock string
	held, cut      plays
}

func (r *row) String() string {
	return fmt.Sprintf("| %s | %s | %d of %d | %s | %d of %d | %s |", r.scenario, r.lock, r.held.asExpected, r.held.all, r.held.median(), r.cut.asExpected, r.cut.all, r.cut.median())
}

// runs are what came of some runs of one script.
type plays struct {
	asExpected, all int
	took            []time.Duration // of those that were as expected
	why             string          // of the first that was not
}

func play(ctx context.Context) error {
	runs := number("RUNS", 100)
	cuts := number("CUTS", runs) // to compare, fewer do
	only := strings.Fields(os.Getenv("LOCKS"))
	var rows []*row
	for _, name := range []string{"delayed-write", "orphan-write", "cut-off-holder"} {
		s, err := scenarios.Lookup(name)
		if err != nil {
			return err
		}
		for _, lock := range s.Locks {
			if lock != "*" && (len(only) == 0 || slices.Contains(only, lock)) {
				rows = append(rows, &row{scenario: name, lock: lock})
			}
		}
	}
	var g errgroup.Group
	g.SetLimit(number("PARALLEL", 2))
	for _, r := range rows {
		g.Go(func() error {
			defer func() { fmt.Fprintln(os.Stderr, r) }()
			for i := range runs {
				if left, err := r.held.once(ctx, r, ""); err != nil || left {
					return err
				}
				if i >= cuts {
					continue
				}
				if _, err := r.cut.once(ctx, r, "scripts/late-messages/cut/"+r.scenario+".yaml"); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := g.Wait()
	fmt.Println("| scenario | lock | held and delivered: as expected | median | with a cut: as expected | median |\n|---|---|---|---|---|---|")
	unmet := 0
	for _, r := range rows {
		if r.held.all == 0 {
			continue // left out here
		}
		fmt.Println(r)
		unmet += r.held.all - r.held.asExpected
	}
	for _, r := range rows {
		if r.held.why != "" {
			fmt.Fprintf(os.Stderr, "%s on %s: %s\n", r.scenario, r.lock, r.held.why)
		}
	}
	if unmet > 0 {
		err = errors.Join(err, fmt.Errorf("%d runs were not as expected", unmet))
	}
	return err
}

// once runs a script, the catalogue's own where none is given. left says that this
// machine cannot run it.
func (p *plays) once(ctx context.Context, r *row, script string) (left bool, err error) {
	dir, err := os.MkdirTemp("", "late-messages")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	args := []string{"scenario", "run", cmp.Or(script, r.scenario), "--lock", r.lock, "--fencing", fencing, "--json", "--out", filepath.Join(dir, "run")}
	out, err := exec.CommandContext(ctx, "bin/picklock", args...).Output()
	const infeasible = 254
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == infeasible {
		fmt.Fprintf(os.Stderr, "%s on %s is left out: %s", r.scenario, r.lock, exit.Stderr)
		return true, nil
	}
	var c results.Cell
	if jerr := json.Unmarshal(out, &c); jerr != nil {
		return false, fmt.Errorf("%s on %s: %w", r.scenario, r.lock, errors.Join(err, jerr))
	}
	p.all++
	if c.Met != checker.True {
		if p.why == "" {
			p.why = c.Why
		}
		return false, nil
	}
	p.asExpected++
	if n := len(c.Steps); n > 0 {
		p.took = append(p.took, time.Duration(c.Steps[n-1].At-c.Steps[0].At)+c.Steps[n-1].Took)
	}
	return false, nil
}

func (p *plays) median() string {
	if len(p.took) == 0 {
		return "-"
	}
	slices.Sort(p.took)
	return fmt.Sprintf("%d ms", p.took[len(p.took)/2].Milliseconds())
}
