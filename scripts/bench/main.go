// Command bench measures the checker: what make bench prints. Each measurement is
// taken in a process of its own, from file to verdict, so that its memory can be
// told.
//
//	bench            measures everything
//	bench -small     without the ten million events and Porcupine's 100,000 operations
//	bench -foreign   only what others write, beside our own writing
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/gctune"
)

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 3 && (args[0] == "-check" || args[0] == "-exact"):
		err = measure(func() (string, error) { return check(args[1], args[2], args[0] == "-exact") })
	case len(args) == 2 && args[0] == "-porcupine":
		err = measure(func() (string, error) { return search(args[1]) })
	default:
		err = bench(len(args) == 1 && args[0] == "-small", len(args) == 1 && args[0] == "-foreign")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measured is what one process reports.
type measured struct {
	Took  time.Duration
	CPU   time.Duration // of all CPUs together, on average
	Valid string
	RSS   int64 // bytes, at most
}

// measure runs f as often as half a second allows and reports the median.
func measure(f func() (string, error)) error {
	var took []time.Duration
	var m measured
	for start := time.Now(); len(took) == 0 || time.Since(start) < 500*time.Millisecond; {
		from := time.Now()
		valid, err := f()
		if err != nil {
			return err
		}
		m.Valid = valid
		took = append(took, time.Since(from))
	}
	slices.Sort(took)
	m.Took = took[len(took)/2]
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	m.RSS = usage.Maxrss << 10
	m.CPU = time.Duration(usage.Utime.Nano()+usage.Stime.Nano()) / time.Duration(len(took))
	return json.NewEncoder(os.Stdout).Encode(m)
}

func check(events, effects string, exact bool) (string, error) {
	// As picklock check does for large files.
	if fi, err := os.Stat(events); err == nil && fi.Size() > 256<<20 {
		defer gctune.Relax()()
	}
	src := history.Source{Path: events, CSV: filepath.Ext(events) == ".csv", Spans: filepath.Ext(events) == ".json"}
	v, err := checker.CheckSource(context.Background(), src, effects, checker.Options{SkipCrossCheck: exact}, nil)
	return v.Valid.String(), err
}

// search has Porcupine decide the same history of a lock.
func search(events string) (string, error) {
	type call struct {
		acquire bool
		owner   string
	}
	open := map[string]*porcupine.Operation{}
	var done []*porcupine.Operation
	err := history.StreamFile(events, func(e *history.Event) error {
		if e.F != history.Acquire && e.F != history.Release {
			return nil
		}
		if e.Type == history.Invoke {
			open[e.Process] = &porcupine.Operation{Input: call{e.F == history.Acquire, e.Process}, Call: e.Time}
		} else if o := open[e.Process]; o != nil {
			o.Return = e.Time
			done = append(done, o)
			delete(open, e.Process)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	calls := make([]porcupine.Operation, len(done))
	for i, o := range done {
		calls[i] = *o
	}
	ok := porcupine.CheckOperations(porcupine.Model{
		Init: func() any { return "" },
		Step: func(state, input, _ any) (bool, any) {
			if c := input.(call); c.acquire {
				return state == "", c.owner
			} else {
				return state == c.owner, ""
			}
		},
	}, calls)
	return strconv.FormatBool(ok), nil
}

// child measures in a process of its own.
func child(args ...string) (measured, error) {
	out, err := exec.Command(os.Args[0], args...).Output()
	var m measured
	if err == nil {
		err = json.Unmarshal(out, &m)
	}
	return m, err
}

// rounds is how often everything is measured: turn about, so that a busy moment of
// the machine meets all alike, and the quickest counts.
const rounds = 5

// A row is a history and what checking it took at best.
type row struct {
	shape
	what         string
	events       string // file, and that of the register's operations
	effects      string
	log          string // effects, where it is to be judged
	whole, exact measured
}

// measureOnce checks the row's history twice, in a process each: as picklock check
// does, and without the second opinion.
func (r *row) measureOnce() error {
	for mode, best := range map[string]*measured{"-check": &r.whole, "-exact": &r.exact} {
		m, err := child(mode, r.events, r.log)
		if err != nil {
			return fmt.Errorf("%s: %w", r.what, err)
		}
		if best.Valid != "" && best.Valid != m.Valid {
			return fmt.Errorf("%s: valid is %s, and then %s", r.what, best.Valid, m.Valid)
		}
		rss := max(m.RSS, best.RSS)
		if best.Valid == "" || m.Took < best.Took {
			*best = m
		}
		best.RSS = rss
	}
	return nil
}

// each is the time for an event.
func (r *row) each() time.Duration { return r.exact.Took / time.Duration(r.shape.events) }

func bench(small, foreign bool) error {
	dir, err := os.MkdirTemp("", "picklock-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("%d CPUs; 50 clients on one lock, from file to verdict; the quickest of %d\n", runtime.NumCPU(), rounds)
	if err := benchForeign(dir); err != nil || foreign {
		return err
	}
	if err := benchSizes(dir, small); err != nil {
		return err
	}
	return benchPorcupine(dir, small)
}

func benchSizes(dir string, small bool) error {
	var rows []*row
	largest := 10_000_000
	if small {
		largest = 1_000_000
	}
	for _, register := range []bool{false, true} {
		what := "lock"
		if register {
			what = "lock and register, with its log"
		}
		for n := 10_000; n <= largest; n *= 10 {
			rows = append(rows, &row{shape: shape{events: n, clients: 50, register: register}, what: what})
		}
		rows = append(rows,
			&row{shape: shape{events: 1_000_000, clients: 50, register: register, late: true}, what: "- broken in the last percent"},
			&row{shape: shape{events: 1_000_000, clients: 50, register: register, unknown: 200}, what: "- 200 operations of unknown outcome"})
	}
	remove, err := measureRows(dir, rows)
	defer remove()
	if err != nil {
		return err
	}
	printHead()
	least, most := rows[0].each(), rows[0].each()
	for i, r := range rows {
		if i > 0 && r.register != rows[i-1].register {
			fmt.Printf("- from 10^4 to 10^%d events the time for an event differs by %.2f times\n", len(strconv.Itoa(largest))-1, float64(most)/float64(least))
			least, most = r.each(), r.each()
		}
		r.print()
		if !r.late && r.unknown == 0 {
			least, most = min(least, r.each()), max(most, r.each())
		}
	}
	fmt.Printf("- from 10^4 to 10^%d events the time for an event differs by %.2f times\n", len(strconv.Itoa(largest))-1, float64(most)/float64(least))
	fmt.Println("* without the second opinion, whose cost does not depend on the length")
	return nil
}

// measureRows writes the histories and measures each, turn about. The files are there
// until remove is called.
func measureRows(dir string, rows []*row) (remove func(), err error) {
	remove = func() {
		for _, r := range rows {
			os.Remove(r.events)
			os.Remove(r.effects)
		}
	}
	for i, r := range rows {
		r.events = filepath.Join(dir, strconv.Itoa(i)+".jsonl")
		if r.csv {
			r.events = filepath.Join(dir, strconv.Itoa(i)+".csv")
		}
		if r.trace {
			r.events = filepath.Join(dir, strconv.Itoa(i)+".json")
		}
		r.effects = filepath.Join(dir, strconv.Itoa(i)+".register.jsonl")
		if err := r.write(r.events, r.effects); err != nil {
			return remove, err
		}
		if r.register {
			r.log = r.effects
		}
	}
	for range rounds {
		for _, r := range rows {
			if err := r.measureOnce(); err != nil {
				return remove, err
			}
		}
	}
	return remove, nil
}

func printHead() {
	fmt.Printf("%-36s %9s %11s %11s %11s %10s  valid\n", "history", "events", "time", "CPU time", "an event*", "memory")
}

func (r *row) print() {
	fmt.Printf("%-36s %9d %9.3f s %9.3f s %8d ns %7d MB  %s\n", r.what, r.shape.events, r.whole.Took.Seconds(), r.whole.CPU.Seconds(),
		r.each().Nanoseconds(), r.whole.RSS>>20, r.whole.Valid)
}

// benchForeign measures histories that others could have written, beside our own.
func benchForeign(dir string) error {
	own := shape{events: 2_000_000, clients: 50}
	rows := []*row{{shape: own, what: "lock, as picklock writes it"}}
	for _, w := range []struct {
		what    string
		foreign func(string) string
	}{{"- with spaces", spaced}, {"- members in another order", reversed}, {"- with members of others", adorned}} {
		other := own
		other.foreign = w.foreign
		rows = append(rows, &row{shape: other, what: w.what})
	}
	table := own
	table.csv = true
	trace := own
	trace.trace = true
	rows = append(rows, &row{shape: table, what: "- as CSV with named columns"}, &row{shape: trace, what: "- as spans of OpenTelemetry's"})
	remove, err := measureRows(dir, rows)
	defer remove()
	if err != nil {
		return err
	}
	printHead()
	slowest := time.Duration(0)
	for i, r := range rows {
		r.print()
		if i > 0 {
			slowest = max(slowest, r.exact.Took)
		}
	}
	fmt.Printf("- the slowest takes %.2f times as long as our own\n\n", float64(slowest)/float64(rows[0].exact.Took))
	return nil
}

func benchPorcupine(dir string, small bool) error {
	events, effects := filepath.Join(dir, "history.jsonl"), filepath.Join(dir, "register.jsonl")
	fmt.Println("\nThe same history of a lock, by Porcupine:")
	for _, operations := range []int{1_000, 10_000, 100_000} {
		if operations == 100_000 && (small || available() < 20<<30) {
			fmt.Printf("%d operations: left out: it takes 17 GB, %d are available\n", operations, available()>>30)
			continue
		}
		s := shape{events: 2 * operations, clients: 50}
		if err := s.write(events, effects); err != nil {
			return err
		}
		ours, err := child("-check", events, "")
		if err != nil {
			return err
		}
		theirs, err := child("-porcupine", events)
		if err != nil {
			return err
		}
		fmt.Printf("%7d operations: picklock %8.3f s, %5d MB; Porcupine %8.3f s, %5d MB (%s and %s): %.0f times faster\n", operations,
			ours.Took.Seconds(), ours.RSS>>20, theirs.Took.Seconds(), theirs.RSS>>20, ours.Valid, theirs.Valid, theirs.Took.Seconds()/ours.Took.Seconds())
	}
	return nil
}

// available is the memory, in bytes, that can be had without swapping.
func available() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "MemAvailable:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10
		}
	}
	return 0
}
