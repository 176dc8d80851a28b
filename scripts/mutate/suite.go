package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// runFlags run tests fast, always with the same random choices, and without
// traces of failures. (Short runs make a fifth of the checks.)
var runFlags = []string{"-test.short", "-test.failfast", "-rapid.shrinktime=0s", "-rapid.nofailfile", "-rapid.checks=5000", "-rapid.seed=1"}

const (
	// A mutation that makes the tests hang, or eat memory, is noticed, too: a run
	// has patience times the processor time that it takes without any mutation,
	// and a little more. It is not measured by the clock, which runs on while a
	// busy machine does other things.
	patience  = 8
	grace     = 3 * time.Second
	hang      = 3 * time.Minute // by the clock, for one that waits for ever
	maxMemory = 3 << 20         // KiB of address space
	// quick tests run together, the others each by itself.
	quick = 150 * time.Millisecond
)

// timed are tests that compare times, which are others where each comparison is counted.
var timed = []string{"TestGrowth"}

// test is one test function, and what it does without any mutation.
type test struct {
	pkg, name string
	takes     time.Duration // of the processor
	reaches   []bool        // by mutation
}

// suite is the copy's tests, the quickest first.
type suite struct {
	dir   string
	tests []*test
}

// newSuite builds the tests of the copy, with n mutations in it, and runs each of
// them once to see what it reaches and how long it takes. A test that does not
// come by a comparison while nothing is mutated cannot notice its mutation.
func newSuite(ctx context.Context, dir string, n int) (*suite, error) {
	s := &suite{dir: dir}
	for _, pkg := range packages {
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", s.binary(pkg), "./"+pkg)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
		out, err := exec.CommandContext(ctx, s.binary(pkg), "-test.list", "^(Test|Fuzz)").Output()
		if err != nil {
			return nil, fmt.Errorf("list the tests of %s: %w", pkg, err)
		}
		for name := range strings.FieldsSeq(string(out)) {
			t := &test{pkg: pkg, name: name}
			if err := s.measure(ctx, t, n); err != nil && slices.Contains(timed, name) && ctx.Err() == nil {
				fmt.Fprintf(os.Stderr, "mutate: %s is left out, because it fails without any mutation: what measures is slower than the code itself\n", name)
				continue
			} else if err != nil {
				return nil, err
			}
			s.tests = append(s.tests, t)
		}
	}
	slices.SortStableFunc(s.tests, func(a, b *test) int { return int(a.takes - b.takes) })
	return s, nil
}

func (s *suite) binary(pkg string) string { return filepath.Join(s.dir, filepath.Base(pkg)+".test") }

func (s *suite) measure(ctx context.Context, t *test, n int) error {
	list := filepath.Join(s.dir, "reached")
	if err := os.WriteFile(list, nil, 0o644); err != nil {
		return err
	}
	out, takes, err := s.run(ctx, t.pkg, []string{t.name}, hang, reached+"="+list)
	if err != nil {
		return fmt.Errorf("%s fails without any mutation: %w\n%s", t.name, err, out)
	}
	t.takes = takes
	f, err := os.Open(list)
	if err != nil {
		return err
	}
	defer f.Close()
	t.reaches = make([]bool, n)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		i, err := strconv.Atoi(lines.Text())
		if err != nil || i < 0 || i >= n {
			return fmt.Errorf("%s: %q is no mutation", list, lines.Text())
		}
		t.reaches[i] = true
	}
	return lines.Err()
}

// run runs some tests of one package on one processor, for at most limit of its time.
func (s *suite) run(ctx context.Context, pkg string, names []string, limit time.Duration, env string) (out []byte, takes time.Duration, err error) {
	sh := fmt.Sprintf("ulimit -v %d -t %d; exec \"$0\" \"$@\"", maxMemory, 1+limit/time.Second)
	args := []string{"-c", sh, s.binary(pkg), "-test.run", "^(" + strings.Join(names, "|") + ")$", "-test.timeout", hang.String()}
	cmd := exec.CommandContext(ctx, "bash", append(args, runFlags...)...)
	cmd.Dir = filepath.Join(s.dir, pkg)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", env)
	out, err = cmd.CombinedOutput()
	if p := cmd.ProcessState; p != nil {
		takes = p.UserTime() + p.SystemTime()
	}
	return out, takes, err
}

// try runs the tests with mutation i in force until one notices, and names it: ""
// if none does.
func (s *suite) try(ctx context.Context, i int) (by string, err error) {
	for _, group := range s.groups(i) {
		var names []string
		var takes time.Duration
		for _, t := range group {
			names = append(names, t.name)
			takes += t.takes
		}
		out, _, err := s.run(ctx, group[0].pkg, names, patience*takes+grace, fmt.Sprintf("%s=%d", inForce, i))
		if err == nil {
			continue
		}
		for _, sign := range []string{"--- FAIL: ", "panic: ", "fatal error: "} {
			if _, after, ok := bytes.Cut(out, []byte(sign)); ok {
				what, _, _ := bytes.Cut(after, []byte("\n"))
				return string(what), nil
			}
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) && !exit.Exited() {
			return "the limits of a run", nil
		}
		return "", fmt.Errorf("the tests did not run: %w\n%s", err, out)
	}
	return "", nil
}

// groups are the tests that reach mutation i, each group to be run at once.
func (s *suite) groups(i int) [][]*test {
	together := map[string]int{} // by package, the group of the quick ones
	var out [][]*test
	for _, t := range s.tests {
		if !t.reaches[i] {
			continue
		}
		if n, ok := together[t.pkg]; ok && t.takes <= quick {
			out[n] = append(out[n], t)
			continue
		}
		if t.takes <= quick {
			together[t.pkg] = len(out)
		}
		out = append(out, []*test{t})
	}
	return out
}

func (s *suite) unreached(i int) string {
	if len(s.groups(i)) == 0 {
		return " (no test comes by it)"
	}
	return ""
}
