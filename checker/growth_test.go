package checker

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/internal/bulk"
)

// cost is what judging a history took: CPU time of this process, bytes allocated, and the
// length of the verdict.
type cost struct {
	cpu              time.Duration
	allocated, wrote int64
}

// costOf reads and judges a history.
func costOf(tb testing.TB, h *bulk.History) cost {
	tb.Helper()
	opt := Options{Skew: h.Skew, Fair: h.Fair, NoLock: h.NoLock, SkipCrossCheck: true}
	runtime.GC()
	var before, after runtime.MemStats
	var from, to syscall.Rusage
	runtime.ReadMemStats(&before)
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &from)
	v := Check(Input{Events: h.Events, Effects: h.Effects, Options: opt})
	runtime.ReadMemStats(&after) // the writer's buffers are the library's, and their size a matter of chance
	text, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &to)
	used := to.Utime.Nano() + to.Stime.Nano() - from.Utime.Nano() - from.Stime.Nano()
	return cost{time.Duration(used), int64(after.TotalAlloc - before.TotalAlloc), int64(len(text))}
}

// TestGrowth: four times as large a history of any kind takes about four times the time, the
// memory and the verdict; the square of the size would be sixteen times. The machine's other
// work can only add to the CPU time, so that the least of several trials counts.
func TestGrowth(t *testing.T) {
	const (
		most, mostCPU = 6.5, 10
		trials        = 6
		enough        = 40 * time.Millisecond
	)
	// The collector's work is not that of the size: small histories need none, and large ones several rounds.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(2 << 30))
	for _, k := range bulk.Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			// What takes a few milliseconds is as much the machine's doing: it is asked of more.
			n := 2000
			a, b := grown(t, k, n, trials, mostCPU)
			for ; b.cpu < enough && n < 32_000; a, b = grown(t, k, n, trials, mostCPU) {
				n *= 4
			}
			t.Logf("%d: %v and %v of CPU, %d and %d bytes, %d and %d of the verdict", n, a.cpu, b.cpu, a.allocated, b.allocated, a.wrote, b.wrote)
			if b.cpu >= enough && b.cpu >= mostCPU*a.cpu {
				t.Errorf("%v of CPU, and %v for four times as much", a.cpu, b.cpu)
			}
			if float64(b.allocated) > most*float64(a.allocated) {
				t.Errorf("%d bytes of memory, and %d for four times as much", a.allocated, b.allocated)
			}
			if float64(b.wrote) > most*float64(a.wrote) {
				t.Errorf("a verdict of %d bytes, and of %d for four times as much", a.wrote, b.wrote)
			}
		})
	}
}

// grown is what so large a history of a kind takes, and one four times as large: the least of
// some trials, as many as it takes to be below the limit. If the machine is slow for a while, one of the two may never be
// tried at its best: then the middle one of the ratios counts, of two that were tried right after each other.
func grown(t *testing.T, k bulk.Kind, n, trials int, limit time.Duration) (a, b cost) {
	t.Helper()
	few, many := k.Make(n), k.Make(4*n)
	var ratios []float64
	for range trials {
		x, y := costOf(t, few), costOf(t, many)
		if a.cpu == 0 {
			a, b = x, y
		}
		a.cpu, b.cpu = min(a.cpu, x.cpu), min(b.cpu, y.cpu)
		a.allocated, b.allocated = min(a.allocated, x.allocated), min(b.allocated, y.allocated)
		if b.cpu < limit*a.cpu {
			return a, b
		}
		ratios = append(ratios, float64(y.cpu)/float64(max(1, x.cpu)))
	}
	slices.Sort(ratios)
	b.cpu = min(b.cpu, time.Duration(ratios[len(ratios)/2]*float64(a.cpu)))
	return a, b
}
