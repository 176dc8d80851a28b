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
	"strings"
	"time"

	"github.com/picklock/picklock/hunt"
)

func main() {
	program := flag.String("picklock", "bin/picklock", "the program")
	locks := flag.String("locks", "redis,redlock,etcd,zookeeper,postgres-table,redis-del,zk-lock", "which locks")
	search := flag.Duration("time", 30*time.Second, "to search on each")
	finish := flag.Duration("finish", 30*time.Second, "to make small, and to replay, what was found")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := table(ctx, *program, strings.Split(*locks, ","), *search, *finish)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hunt-table:", err)
		os.Exit(1)
	}
}

func table(ctx context.Context, program string, locks []string, search, finish time.Duration) error {
	dir, err := os.MkdirTemp("", "picklock-hunt-table-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Println("| lock | without fencing | with `--fencing read-write` |\n|---|---|---|")
	for _, lock := range locks {
		row := []string{lock}
		for _, fencing := range []string{"none", "read-write"} {
			cmd := exec.CommandContext(ctx, program, "hunt", "--lock", lock, "--fencing", fencing, "--seed", "1", "--json",
				"--time", search.String(), "--finish", finish.String(), "--out", filepath.Join(dir, lock+"-"+fencing))
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
			cmd.WaitDelay = time.Minute
			out, err := cmd.Output()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() == unusable && fencing != "none" {
				row = append(row, "") // it gives no tokens
				continue
			}
			if err != nil && (exit == nil || exit.ExitCode() > 2) {
				return fmt.Errorf("hunt on %s with --fencing %s: %w", lock, fencing, err)
			}
			var r hunt.Result
			if err := json.Unmarshal(out, &r); err != nil {
				return fmt.Errorf("hunt on %s with --fencing %s: %w", lock, fencing, err)
			}
			row = append(row, cell(&r))
		}
		fmt.Printf("| %s |\n", strings.Join(row, " | "))
	}
	return nil
}

// unusable is picklock's exit code for options that cannot work.
const unusable = 254

// cell is the least that breaks the lock itself, and whether a late write comes by leases
// alone; or how many schedules broke nothing.
func cell(r *hunt.Result) string {
	var lock, late string
	for _, w := range r.Ways {
		if !w.Steady() {
			continue
		}
		text := fmt.Sprintf("%s (%s)", w.Takes(), rate(w))
		switch {
		case w.Anomaly == hunt.LateWrite:
			late = "a late write by " + text
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
		played += d.Played - d.Void
	}
	return fmt.Sprintf("none of %d schedules", played+r.Guided)
}

func rate(w *hunt.Way) string {
	r := w.Alone
	if r.Plays == 0 {
		r = w.Search
	}
	return fmt.Sprintf("%d of %d", r.Hits, r.Plays)
}
