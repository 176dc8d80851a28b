// Command library-hunts hunts on the locks of libraries, one after the other, and prints from the hunts'
// results what the docs show of each. It starts picklock as a user does, with all defaults.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/library"
	huntreport "github.com/picklock/picklock/hunt/report"
)

// hunter hunts on locks, each into a folder of its own.
type hunter struct {
	program, out string
	time, finish time.Duration
	seed         uint64
}

func main() {
	var h hunter
	flag.StringVar(&h.program, "picklock", "bin/picklock", "the program")
	flag.StringVar(&h.out, "out", "picklock-results/library-hunts", "the folder of the results; what is done there already is not done again")
	flag.DurationVar(&h.time, "time", 10*time.Minute, "search for this long on each lock")
	flag.DurationVar(&h.finish, "finish", 75*time.Second, "shrink and replay for at most this long")
	flag.Uint64Var(&h.seed, "seed", 1, "seed of the hunts")
	only := flag.String("locks", "", "these locks (default: those of all libraries)")
	table := flag.Bool("table", false, "hunt for nothing, and print what is done")
	page := flag.String("page", "", "write the table below the marker of this page, instead of printing it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	names := strings.FieldsFunc(*only, func(c rune) bool { return c == ',' || c == ' ' })
	rows, err := h.run(ctx, names, *table)
	if err == nil && *page != "" && len(names) > 0 {
		rows, err = h.run(ctx, nil, true) // a page has all locks
	}
	if err == nil {
		err = put(*page, rows)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "library-hunts:", err)
		os.Exit(1)
	}
}

// run hunts on the locks, unless only the table is wanted, and returns the rows of the table.
func (h hunter) run(ctx context.Context, only []string, table bool) ([]row, error) {
	locks, err := choose(library.Locks(), only)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, lock := range locks {
		folder := filepath.Join(h.out, lock.Name)
		r, err := read(lock, folder)
		if errors.Is(err, fs.ErrNotExist) && !table {
			if err = h.hunt(ctx, lock.Name, folder); err == nil {
				r, err = read(lock, folder)
			}
		}
		if errors.Is(err, fs.ErrNotExist) && table {
			r, err = row{lock: lock}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("hunt on %s: %w", lock.Name, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// marker is the line of a page below which everything is written anew.
const marker = "<!-- Below: what scripts/library-hunts printed (make library-hunts). -->"

// keep gives rows without a hunt the line that the page has of them: it was hunted elsewhere, or earlier.
func keep(table string, rows []row) {
	for i, r := range rows {
		for line := range strings.Lines(table) {
			if r.result == nil && strings.HasPrefix(line, "| `"+r.lock.Name+"` |") {
				rows[i].kept = strings.TrimSpace(line)
			}
		}
	}
}

// put writes the table below the marker of a page, or prints it.
func put(page string, rows []row) error {
	if page == "" {
		return print(os.Stdout, rows)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	above, below, found := strings.Cut(string(text), marker)
	if !found {
		return fmt.Errorf("write the table: %s has lost its line %q", page, marker)
	}
	keep(below, rows)
	var table strings.Builder
	if err := print(&table, rows); err != nil {
		return err
	}
	return os.WriteFile(page, []byte(above+marker+"\n\n"+table.String()), 0o644)
}

// choose returns the locks of those names, or all if none is named, by language and name.
func choose(all []clients.Info, only []string) ([]clients.Info, error) {
	for _, name := range only {
		if !slices.ContainsFunc(all, func(i clients.Info) bool { return i.Name == name }) {
			return nil, fmt.Errorf("no library has a lock %q: see picklock list locks", name)
		}
	}
	out := slices.DeleteFunc(slices.Clone(all), func(i clients.Info) bool { return len(only) > 0 && !slices.Contains(only, i.Name) })
	slices.SortStableFunc(out, func(a, b clients.Info) int {
		return strings.Compare(a.Library.Language+" "+a.Name, b.Library.Language+" "+b.Name)
	})
	return out, nil
}

// hunt makes one hunt. Only picklock's own failure is an error: it found, or did not find, or cannot say.
func (h hunter) hunt(ctx context.Context, lock, folder string) error {
	cmd := exec.CommandContext(ctx, h.program, "hunt", "--lock", lock, "--seed", fmt.Sprint(h.seed),
		"--duration", h.time.String(), "--finish", h.finish.String(), "--out", folder)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() >= 0 && ended.ExitCode() <= 2 {
		return nil
	}
	return err
}

// read reads what a hunt has left in its folder. Without a finished hunt it is fs.ErrNotExist.
func read(lock clients.Info, folder string) (row, error) {
	r := row{lock: lock}
	text, err := os.ReadFile(filepath.Join(folder, huntreport.ResultFile))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r.result); err != nil {
		return r, fmt.Errorf("read %s: %w", huntreport.ResultFile, err)
	}
	runs, err := os.Open(filepath.Join(folder, huntreport.RunsFile))
	if err != nil {
		return r, fmt.Errorf("read what was run: %w", err)
	}
	defer runs.Close()
	return r, r.count(runs)
}
