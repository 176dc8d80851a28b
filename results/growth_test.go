package results

import (
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/internal/bulk"
)

// cost is what telling of a history took: CPU time of this process, bytes allocated, and bytes
// written.
type cost struct {
	cpu              time.Duration
	allocated, wrote int64
}

type counted struct{ n int64 }

func (c *counted) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

func costOf(t *testing.T, h *bulk.History, v checker.Verdict) cost {
	t.Helper()
	runtime.GC()
	// A collection marks all that the process holds, for whichever size it happens to start in.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	var from, to syscall.Rusage
	runtime.ReadMemStats(&before)
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &from)
	out := &counted{}
	run := Run{}
	if err := errors.Join(Report(out, run, v, h.Events, h.Effects), JUnit(out, run, v), Summary(io.Discard, run, v, "", false)); err != nil {
		t.Fatal(err)
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &to)
	runtime.ReadMemStats(&after)
	used := to.Utime.Nano() + to.Stime.Nano() - from.Utime.Nano() - from.Stime.Nano()
	return cost{time.Duration(used), int64(after.TotalAlloc - before.TotalAlloc), out.n}
}

// TestGrowth: telling of four times as large a history takes about four times the time and the
// memory; the square of the size would be sixteen times. The machine's other work can only add to the CPU
// time, so that the least of several trials counts.
func TestGrowth(t *testing.T) {
	const (
		most, mostCPU = 6.5, 10
		trials        = 6
	)
	for _, k := range bulk.Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			few, many := k.Make(4000), k.Make(16000) // both are more than a picture has room for
			judged := func(h *bulk.History) checker.Verdict {
				return checker.Check(checker.Input{Events: h.Events, Effects: h.Effects, Options: checker.Options{Skew: h.Skew, Fair: h.Fair, NoLock: h.NoLock, SkipCrossCheck: true}})
			}
			v, w := judged(few), judged(many)
			var a, b cost
			for range trials {
				x, y := costOf(t, few, v), costOf(t, many, w)
				if a.cpu == 0 {
					a, b = x, y
				}
				a.cpu, b.cpu = min(a.cpu, x.cpu), min(b.cpu, y.cpu)
				if b.cpu < mostCPU*a.cpu {
					break
				}
			}
			t.Logf("%v and %v of CPU, %d and %d bytes, %d and %d written", a.cpu, b.cpu, a.allocated, b.allocated, a.wrote, b.wrote)
			if b.cpu >= mostCPU*a.cpu {
				t.Errorf("%v of CPU, and %v for four times as much", a.cpu, b.cpu)
			}
			if float64(b.allocated) > most*float64(a.allocated) {
				t.Errorf("%d bytes of memory, and %d for four times as much", a.allocated, b.allocated)
			}
			if float64(b.wrote) > most*float64(a.wrote) {
				t.Errorf("%d bytes written, and %d for four times as much", a.wrote, b.wrote)
			}
		})
	}
}
