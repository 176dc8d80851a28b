// Command mutate asks whether the checker's tests would notice: it inverts every
// comparison and every rule of order of the checker, one at a time, in a copy of the
// module, and runs the tests that come by it, quick ones first. What no test notices is printed, unless
// equivalent.txt says why it makes no difference.
//
//	mutate [-list] [-v] [-j JOBS] [PACKAGE/FILE.go ...]
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// packages are looked through, and their tests run.
var packages = []string{"checker", "checker/model", "checker/verdict"}

func main() {
	list := flag.Bool("list", false, "only list the mutations")
	verbose := flag.Bool("v", false, "say of each mutation which test notices it")
	jobs := flag.Int("j", runtime.NumCPU(), "mutations to try at once")
	root := flag.String("root", ".", "the module")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	all, err := mutations(*root, flag.Args())
	switch {
	case err != nil:
	case *list:
		for _, m := range all {
			fmt.Println(m.name)
		}
	default:
		err = run(ctx, *root, all, max(1, *jobs), *verbose, flag.NArg() == 0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

func run(ctx context.Context, root string, all []mutation, jobs int, verbose, whole bool) error {
	start := time.Now()
	known, err := equivalents(filepath.Join(root, "scripts/mutate/equivalent.txt"))
	if err != nil {
		return err
	}
	if whole {
		for name := range known {
			if !slices.ContainsFunc(all, func(m mutation) bool { return m.name == name }) {
				return fmt.Errorf("scripts/mutate/equivalent.txt: there is no such comparison any more: %s", name)
			}
		}
	}
	dir, err := copyModule(root)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := insert(dir, all); err != nil {
		return err
	}
	s, err := newSuite(ctx, dir, len(all))
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d mutations, %d tests, ready after %s\n", len(all), len(s.tests), time.Since(start).Round(time.Second))

	var mu sync.Mutex
	var wg sync.WaitGroup
	survivors, explained, done := 0, 0, 0
	said := time.Now()
	var failed error
	work := make(chan int)
	for range jobs {
		wg.Go(func() {
			for i := range work {
				m := all[i]
				began := time.Now()
				by, err := s.try(ctx, i)
				mu.Lock()
				done++
				switch {
				case err != nil:
					failed = fmt.Errorf("%s: %w", m.name, err)
				case by == "" && known[m.name] == "":
					survivors++
					fmt.Printf("survives: %s:%d: %s%s\n", m.file, m.line, m.name, s.unreached(i))
				case by == "":
					explained++
				case known[m.name] != "":
					fmt.Printf("noticed after all by %s, take it off the list: %s\n", by, m.name)
				}
				if verbose && by != "" {
					fmt.Printf("noticed by %s in %s: %s:%d: %s\n", by, time.Since(began).Round(time.Millisecond), m.file, m.line, m.name)
				}
				if time.Since(said) > 10*time.Second {
					said = time.Now()
					fmt.Fprintf(os.Stderr, "%d of %d mutations after %s, %d survive\n", done, len(all), time.Since(start).Round(time.Second), survivors)
				}
				mu.Unlock()
			}
		})
	}
	for i := range all {
		if ctx.Err() != nil {
			break
		}
		work <- i
	}
	close(work)
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	fmt.Printf("%d mutations in %s: %d survive, %d more are explained in equivalent.txt\n", len(all), time.Since(start).Round(time.Second), survivors, explained)
	switch {
	case failed != nil:
		return failed
	case survivors > 0:
		return errors.New("no test notices the mutations above")
	}
	return nil
}

// equivalents reads the mutations that make no difference, and why: a line with
// the mutation's name, the reason behind " // ".
func equivalents(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]string{}
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		line := s.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		name, why, ok := strings.Cut(line, " // ")
		if !ok || why == "" {
			return nil, fmt.Errorf("%s:%d: want a mutation's name, \" // \" and why it makes no difference", path, n)
		}
		out[name] = why
	}
	return out, s.Err()
}
