// Command reported hunts for the bugs in bugs.yaml, each in a version of a library that has it, and
// compares what is found with the first version that has it no more. It starts picklock as a user
// does, and passes nothing on of what it knows about a bug.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	var r runner
	only := flag.String("ids", "", "these bugs, separated by commas (default: all)")
	flag.StringVar(&r.program, "picklock", "bin/picklock", "the program")
	flag.StringVar(&r.out, "out", "picklock-results/reported", "the folder of the results; what is done there already is not done again")
	flag.StringVar(&r.strategy, "strategy", "guided", "how to search: guided, exhaustive or random")
	flag.DurationVar(&r.time, "time", 10*time.Minute, "search for this long in each version")
	flag.DurationVar(&r.finish, "finish", 75*time.Second, "shrink and replay for at most this long")
	flag.IntVar(&r.replays, "replays", 20, "replay what is found this often, in each version")
	flag.Uint64Var(&r.seed, "seed", 1, "seed of the hunts")
	flag.BoolVar(&r.again, "again", false, "do again what is done already")
	table := flag.Bool("table", false, "hunt for nothing, and print what is done")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, r, *only, *table)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "reported:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, r runner, only string, table bool) error {
	all, err := load(bugsFile)
	if err != nil {
		return err
	}
	r.kinds = all.Kinds
	var ids []string
	if only != "" {
		ids = strings.FieldsFunc(only, func(c rune) bool { return c == ',' || c == ' ' })
	}
	chosen, err := all.choose(ids)
	if err != nil {
		return err
	}
	if r.program, err = filepath.Abs(r.program); err != nil {
		return err
	}
	var done []record
	var failed error
	for _, b := range chosen {
		rec, err := r.do(ctx, b, table)
		switch {
		case errors.Is(err, errNotDone):
		case ctx.Err() != nil:
			return errors.Join(failed, err)
		case err != nil: // the others can be hunted for all the same
			failed = errors.Join(failed, fmt.Errorf("%s: %w", b.ID, err))
		default:
			done = append(done, rec)
		}
	}
	return errors.Join(failed, r.report(os.Stdout, done))
}
