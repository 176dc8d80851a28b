// Causes records runs of real servers whose cause is known by how they were made: one
// cause is injected, by a seeded bug, a fault, or sections that are too long, with or
// without faults beside it that have no part. What comes of each is kept as one small
// file, with its label, for TestCausesOfRealRuns.
//
//	go run ./scripts/causes -picklock bin/picklock -seeded ./seeded -set tuned -seed 1
//
// The labels are the table's (labels.go). Nothing that the program says of a cause has a
// part in them: a run is kept if the lock broke in it, and made again if it did not.
package main

import (
	"bytes"
	"compress/gzip"
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
	"strings"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/results"
)

// attempts is how often a run is made, with another seed each time, until its lock breaks.
const attempts = 6

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "causes:", err)
		os.Exit(1)
	}
}

func run() error {
	program := flag.String("picklock", "bin/picklock", "the program under test")
	seeded := flag.String("seeded", "seeded", "the program of harness/testdata/seeded")
	set := flag.String("set", "tuned", "which runs of the table: tuned, or holdout")
	out := flag.String("out", "scripts/causes/testdata", "where the files go")
	seed := flag.Uint64("seed", 1, "of the first attempt at each run")
	only := flag.String("only", "", "runs whose name contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var failed error
	for i, l := range labels {
		if l.set != *set || !strings.Contains(l.name, *only) {
			continue
		}
		err := record(ctx, *program, *seeded, filepath.Join(*out, *set), l, *seed+uint64(i)*100)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", l.name, err))
		}
	}
	return failed
}

// recorded is what a file of the corpus holds.
type recorded struct {
	Args    string           `json:"args"` // how it was made, but for the seed
	Causes  []cause          `json:"causes"`
	Run     results.Run      `json:"run"`
	Events  []history.Event  `json:"events"`
	Effects []history.Effect `json:"effects,omitempty"`
}

var errHeld = errors.New("the lock broke in no attempt")

// record makes a run until its lock breaks, and keeps it.
func record(ctx context.Context, program, seeded, out string, l label, seed uint64) error {
	dir, err := os.MkdirTemp("", "picklock-causes-")
	if err != nil {
		return fmt.Errorf("make a folder for runs: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for n := range attempts {
		run := filepath.Join(dir, fmt.Sprint(n))
		args := append(strings.Fields(strings.ReplaceAll(l.args, "BUG/", "exec:"+seeded+" ")), "--out", run)
		args = join(args)
		if args[0] == "run" {
			args = append(args, "--seed", fmt.Sprint(seed+uint64(n)))
		}
		cmd := exec.CommandContext(ctx, program, args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		path, ok := verdictIn(run)
		if !ok {
			return fmt.Errorf("picklock %s left no verdict: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
		}
		held, err := keep(filepath.Join(out, l.name+".json.gz"), l, path)
		if err != nil {
			return err
		}
		fmt.Printf("%s %s: %s\n", l.set, l.name, map[bool]string{true: "held", false: "broke"}[held])
		if !held {
			return nil
		}
	}
	return errHeld
}

// join makes one word of an exec: lock's command and its arguments, which stand between
// two bars.
func join(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		word := args[i]
		if strings.HasPrefix(word, "exec:") {
			for i++; i < len(args) && (args[i] == "--right" || !strings.HasPrefix(args[i], "--")); i++ {
				word += " " + args[i]
			}
			i--
		}
		out = append(out, word)
	}
	return out
}

// verdictIn finds the run's directory: a scenario's has one of its own.
func verdictIn(dir string) (string, bool) {
	var found string
	_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == results.VerdictFile && found == "" {
			found = filepath.Dir(path)
		}
		return nil
	})
	return found, found != ""
}

// keep writes the file of a run whose lock broke; held says that it did not.
func keep(path string, l label, dir string) (held bool, err error) {
	loaded, err := results.Open(dir)
	if err != nil {
		return false, fmt.Errorf("read the run: %w", err)
	}
	if loaded.Verdict == nil || loaded.Verdict.Valid != checker.False {
		return true, nil
	}
	c := recorded{Args: l.args, Causes: l.causes, Run: loaded.Run}
	// What of a run has no part in its causes is left away.
	c.Run.Command, c.Run.Nodes, c.Run.Versions, c.Run.Machine, c.Run.Warnings = nil, nil, nil, results.Machine{}, nil
	if c.Events, err = history.ReadFile(loaded.Dir.History()); err != nil {
		return false, fmt.Errorf("read the history: %w", err)
	}
	for i := range c.Events {
		c.Events[i].Error = cut(c.Events[i].Error)
	}
	if c.Effects, err = history.ReadEffects(loaded.Dir.Register()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read the register's log: %w", err)
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return false, fmt.Errorf("compress %s: %w", path, err)
	}
	if err := errors.Join(json.NewEncoder(z).Encode(c), z.Close()); err != nil {
		return false, fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, fmt.Errorf("make the folder of the runs: %w", err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return false, fmt.Errorf("write the run: %w", err)
	}
	return false, nil
}

// cut keeps of an error what tells it apart.
func cut(s string) string { return s[:min(len(s), 40)] }
