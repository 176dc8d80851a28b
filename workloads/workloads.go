package workloads

import (
	"context"
	"slices"
	"strings"

	"github.com/picklock/picklock/internal/suggest"
)

// CriticalSection is what a workload does while it holds the lock.
type CriticalSection func(ctx context.Context, h *holding)

// Workload is one kind of critical section.
type Workload struct {
	Name  string
	About string
	Run   CriticalSection
	// WritesNothing: the critical section does nothing under the lock, so that it suits locks that do
	// not exclude others.
	WritesNothing bool
}

// workloads is the package's one table; each workload's file adds its line.
var workloads = map[string]Workload{}

func add(w Workload) { workloads[w.Name] = w }

// All lists the workloads by name.
func All() []Workload {
	var out []Workload
	for _, w := range workloads {
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b Workload) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Lookup finds a workload by name.
func Lookup(name string) (Workload, error) {
	if w, ok := workloads[name]; ok {
		return w, nil
	}
	var names []string
	for _, w := range All() {
		names = append(names, w.Name)
	}
	return Workload{}, suggest.Unknown("workload", name, names)
}
