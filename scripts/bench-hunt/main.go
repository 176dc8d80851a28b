// Command bench-hunt says how long each way to search takes to find what is known to
// break: the hunt, its parts, and the random nemesis. The arms turn about in one run, so
// that whatever else the machine does falls on all of them.
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
	"strconv"
	"strings"
	"time"
)

// target is a lock that is known to break, and the anomalies that count: not what follows
// from a lease alone where that is not what is wrong with it.
type target struct {
	name  string
	flags []string
	find  []string
}

// lock are the anomalies that are the lock's own doing.
var lock = []string{"granted-early", "double-grant", "wrong-release", "false-belief", "revoked-early", "false-loss", "expired-grant", "token-regression", "token-reuse", "deadlock", "not-freed"}

// written are those of what it protects.
var written = []string{"stale-write", "lost-update", "nonlinearizable"}

func targets() []target {
	t := func(name string, find []string, flags ...string) target { return target{name, flags, find} }
	return []target{
		t("zk-lock", slices.Concat(lock, written), "--lock", "zk-lock"),
		t("etcd-write", written, "--lock", "etcd", "--fencing", "write"),
		t("redislock", lock, "--lock", "redislock"),
		t("redsync", slices.Concat(lock, written), "--lock", "redsync", "--lock-option", "set-nx-on-extend=yes"),
		t("kubernetes-lease", lock, "--lock", "kubernetes-lease"),
		t("redis-incr", lock, "--lock", "redis-incr"),
		t("redis-del", []string{"wrong-release"}, "--lock", "redis-del"),
		t("redis-setnx", []string{"deadlock"}, "--lock", "redis-setnx"),
		t("redlock-nocheck", lock, "--lock", "redlock-nocheck"),
		t("redlock-wallclock", lock, "--lock", "redlock-wallclock"),
		t("redis-replica", lock, "--lock", "redis-replica"),
		t("file", lock, "--lock", "file"),
		t("flock-unlink", lock, "--lock", "flock-unlink"),
		t("pgbouncer", lock, "--lock", "pgbouncer"),
		t("postgres-table", lock, "--lock", "postgres-table", "--lock-option", "clock=now"),
		t("rueidislock", lock, "--lock", "rueidislock"),
		t("dynamodb-wallclock", lock, "--lock", "dynamodb-wallclock"),
		t("redis-semaphore-naive", lock, "--lock", "redis-semaphore-naive"),
	}
}

// nemesis is the arm that is not a hunt: runs of 30 s with --faults all, seed after seed.
const nemesis = "nemesis"

type outcome struct {
	found   bool
	seconds float64
	what    string
	guided  int     // schedules beyond the space
	regret  float64 // how many more of them would have brought something new with the best operator each time
}

func main() {
	program := flag.String("picklock", "bin/picklock", "the program")
	arms := flag.String("arms", "guided,"+nemesis, "guided, exhaustive, random, "+nemesis)
	only := flag.String("targets", "", "some of them; default: all")
	seeds := flag.Int("seeds", 3, "how often each")
	limit := flag.Duration("cap", 2*time.Minute, "when an arm is given up")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := bench(ctx, *program, strings.Split(*arms, ","), *only, *seeds, *limit)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-hunt:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, program string, arms []string, only string, seeds int, limit time.Duration) error {
	dir, err := os.MkdirTemp("", "picklock-bench-hunt-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("| target | %s |\n|---|%s\n", strings.Join(arms, " | "), strings.Repeat("---|", len(arms)))
	var regrets []string
	for _, t := range targets() {
		if only != "" && !slices.Contains(strings.Split(only, ","), t.name) {
			continue
		}
		all := map[string][]outcome{}
		var why error
		for seed := range seeds {
			for _, arm := range arms {
				o, err := run(ctx, program, filepath.Join(dir, fmt.Sprintf("%s-%s-%d", t.name, arm, seed)), t, arm, seed+1, limit)
				if err != nil {
					why = err
					break
				}
				all[arm] = append(all[arm], o)
			}
			if why != nil || ctx.Err() != nil {
				break
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if why != nil {
			fmt.Printf("| %s | not possible here: %v |\n", t.name, why)
			continue
		}
		var cells []string
		for _, arm := range arms {
			cells = append(cells, cell(all[arm], limit))
		}
		fmt.Printf("| %s | %s |\n", t.name, strings.Join(cells, " | "))
		regrets = append(regrets, regretOf(t.name, all[guided]))
	}
	if slices.Contains(arms, guided) {
		fmt.Printf("\nregret: %s\n", strings.Join(regrets, "; "))
	}
	return nil
}

// guided is the arm whose changes are chosen by what they brought.
const guided = "guided"

// regretOf says what that choice lost on one target, with all seeds together.
func regretOf(name string, all []outcome) string {
	schedules, regret := 0, 0.0
	for _, o := range all {
		schedules, regret = schedules+o.guided, regret+o.regret
	}
	return fmt.Sprintf("%s %.1f of %d guided schedules", name, regret, schedules)
}

// cell is the median of the times with their range; one that found nothing counts as the
// cap.
func cell(all []outcome, limit time.Duration) string {
	var times []float64
	found, what := 0, ""
	for _, o := range all {
		s := limit.Seconds()
		if o.found {
			found++
			s, what = o.seconds, o.what
		}
		times = append(times, s)
	}
	slices.Sort(times)
	if found == 0 {
		return fmt.Sprintf("never (%d)", len(all))
	}
	median := times[len(times)/2]
	return fmt.Sprintf("%.1f s (%.1f to %.1f; %d of %d): %s", median, times[0], times[len(times)-1], found, len(all), what)
}

func run(ctx context.Context, program, dir string, t target, arm string, seed int, limit time.Duration) (outcome, error) {
	if arm == nemesis {
		return random(ctx, program, dir, t, seed, limit)
	}
	args := slices.Concat([]string{"hunt"}, t.flags, []string{
		"--strategy", arm, "--find", strings.Join(t.find, ","), "--fail-fast", "--duration", limit.String(), "--finish", "0s",
		"--seed", strconv.Itoa(seed), "--out", dir, "--json",
	})
	var r struct {
		Guided          int     `json:"guided"`
		Regret          float64 `json:"regret"`
		Counterexamples []struct {
			Anomaly     string  `json:"anomaly"`
			FirstSecond float64 `json:"first_second"`
			Search      struct {
				Hits int `json:"hits"`
			} `json:"search"`
		} `json:"counterexamples"`
	}
	if err := call(ctx, program, args, &r); err != nil {
		return outcome{}, err
	}
	for _, w := range r.Counterexamples {
		if w.Search.Hits > 1 {
			return outcome{true, w.FirstSecond, w.Anomaly, r.Guided, r.Regret}, nil
		}
	}
	return outcome{guided: r.Guided, regret: r.Regret}, nil
}

// random makes runs until one finds something that counts, or the time is over.
func random(ctx context.Context, program, dir string, t target, seed int, limit time.Duration) (outcome, error) {
	began := time.Now()
	for i := 0; ; i++ {
		left := limit - time.Since(began)
		if left < 5*time.Second {
			return outcome{}, nil
		}
		var r struct {
			Anomalies []struct {
				Name string `json:"name"`
				Time int64  `json:"time"`
			} `json:"anomalies"`
		}
		before := time.Since(began)
		args := slices.Concat([]string{"run"}, t.flags, []string{
			"--faults", "all", "--duration", min(30*time.Second, left).Round(time.Second).String(),
			"--seed", strconv.Itoa(100*seed + i), "--out", fmt.Sprintf("%s-%d", dir, i), "--json",
		})
		if err := call(ctx, program, args, &r); err != nil {
			return outcome{}, err
		}
		for _, a := range r.Anomalies {
			if slices.Contains(t.find, a.Name) {
				return outcome{found: true, seconds: before.Seconds() + float64(a.Time)/1e9, what: a.Name}, nil
			}
		}
	}
}

// call runs picklock; whatever it found is no error.
func call(ctx context.Context, program string, args []string, into any) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var serr strings.Builder
	cmd.Stderr = &serr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 2) {
		why := strings.TrimSpace(serr.String())
		if i := strings.LastIndex(why, "\npicklock: "); i >= 0 {
			why = why[i+1:] // what it said before was how far it had come
		}
		return fmt.Errorf("%v: %w: %s", args, err, strings.ReplaceAll(why, "\n", "; "))
	}
	return json.Unmarshal(out, into)
}
