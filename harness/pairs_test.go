package harness_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// TestPairs: what comes of a scenario does not depend on the one that ran on the same servers before
// it. Every scenario runs after every other, and after itself, and each time shows what it shows on
// servers that nothing ran on.
func TestPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	t.Parallel()
	for _, x := range []struct {
		lock, cluster string
		names         []string
	}{
		{"redis", "redis", []string{"pause-holder", "client-clock-jump", "crash-in-acquire", "late-renewal", "waiter-crashes", "del-without-owner"}},
		{"redlock", "redlock", []string{"pause-holder", "redlock-crash-restart", "redlock-clock-jump", "delayed-write"}},
		{"etcd", "etcd", []string{"pause-holder", "etcd-server-pause-step", "waiter-cut-off", "writes-only-tokens"}},
		{"zookeeper", "zookeeper", []string{"pause-holder", "waiter-cut-off", "holder-crashes"}},
	} {
		t.Run(x.lock, func(t *testing.T) {
			t.Parallel()
			need(t, x.cluster)
			var cells []scenarios.Cell
			for _, name := range x.names {
				s, err := scenarios.Lookup(name)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(s.Locks, x.lock) {
					t.Fatalf("%s does not run on %s", name, x.lock)
				}
				cells = append(cells, scenarios.Cell{Scenario: s, Lock: x.lock, Fencing: s.Fencing[0]})
			}
			var alone []string
			for _, c := range cells {
				alone = append(alone, cameTo(newBench(t).run(c)))
			}
			shared := newBench(t)
			before := -1
			for _, i := range everyPair(len(cells)) {
				if got := cameTo(shared.run(cells[i])); before >= 0 && got != alone[i] {
					t.Errorf("%s after %s: %s; alone: %s", x.names[i], x.names[before], got, alone[i])
				}
				before = i
			}
		})
	}
}

// everyPair lists the numbers below n so that each follows each, itself too, once.
func everyPair(n int) []int {
	var out []int
	for i := range n {
		out = append(out, i)
		for j := i + 1; j < n; j++ {
			out = append(out, i, j)
		}
	}
	return append(out, 0)
}

func TestEveryPair(t *testing.T) {
	for n := 1; n < 8; n++ {
		seen := map[[2]int]bool{}
		list := everyPair(n)
		for i := range list[1:] {
			seen[[2]int{list[i], list[i+1]}] = true
		}
		if len(list) != n*n+1 || len(seen) != n*n {
			t.Errorf("%d: %d of %d pairs in a list of %d", n, len(seen), n*n, len(list))
		}
	}
}

// cameTo is what a cell showed.
func cameTo(c results.Cell) string {
	return fmt.Sprintf("as expected: %v, broken: %v", c.Met, c.Broken)
}

// bench runs cells on one executor.
type bench struct {
	t    *testing.T
	x    *harness.RemoteExecutor
	runs int
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, x: harness.NewRemoteExecutor(harness.RemoteOptions{Self: program, Runtime: "local", Dir: filepath.Join(t.TempDir(), "testbeds")})}
	t.Cleanup(func() {
		if err := b.x.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// run runs a cell, and once more if this machine was too busy to show anything.
func (b *bench) run(c scenarios.Cell) (cell results.Cell) {
	b.t.Helper()
	for range 3 {
		b.runs++
		var err error
		if cell, err = b.x.Run(b.t.Context(), harness.NewCellOrder(c, filepath.Join(b.t.TempDir(), fmt.Sprint(b.runs)))); err != nil {
			b.t.Fatal(err)
		}
		if cell.LeftOut != "" {
			b.t.Skip(cell.LeftOut)
		}
		if cell.Met != checker.Unknown {
			break
		}
		b.t.Logf("%s: %s", c.Scenario.Name, cell.Why)
	}
	return cell
}
