package checker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picklock/picklock/history"
)

// Operations that failed because the client's own program did (history.Event.ClientFailed)
// say nothing of the lock: nobody waited in them, and what a client might have been granted
// without them nobody knows. While a fault is on, or may be felt, programs may fail.

// programFailures are a client's.
type programFailures struct {
	times []int64
	first string // what the first one said
}

// maxFailure bounds how much of it is quoted.
const maxFailure = 300

// failures are those of the clients' own programs, by process; nil for none.
type failures map[string]*programFailures

// note takes a completion.
func (l *failures) note(t int64, e *history.Event) {
	if !e.ClientFailed || e.Type == history.OK || e.Type == history.Invoke {
		return
	}
	if *l == nil {
		*l = failures{}
	}
	f := (*l)[e.Process]
	if f == nil {
		f = &programFailures{first: strings.ToValidUTF8(e.Error[:min(len(e.Error), maxFailure)], "")}
		(*l)[e.Process] = f
	}
	f.times = append(f.times, t)
}

// unexcused counts those of them that no fault explains. excused are when one does, each with
// a later end than those before, by begin.
func (f *programFailures) unexcused(excused []interval) int {
	n := 0
	for _, t := range f.times {
		i, _ := slices.BinarySearchFunc(excused, t, func(s interval, t int64) int { return cmp.Compare(s.to, t) })
		if i == len(excused) || excused[i].from > t {
			n++
		}
	}
	return n
}

// unexcused says which clients' programs failed by themselves; "" for none.
func (l failures) unexcused(faults []fault) string {
	type failed struct {
		process string
		n       int
		first   string
	}
	var excused []interval
	for i := range faults { // by begin
		s := interval{faults[i].begin - int64(patience), satAdd(faults[i].end, int64(FeltAfterHeal))}
		if n := len(excused); n == 0 || s.to > excused[n-1].to {
			excused = append(excused, s)
		}
	}
	var all []failed
	for _, p := range slices.Sorted(maps.Keys(l)) {
		if n := l[p].unexcused(excused); n > 0 {
			all = append(all, failed{p, n, l[p].first})
		}
	}
	if len(all) == 0 {
		return ""
	}
	worst := slices.MaxFunc(all, func(a, b failed) int { return cmp.Compare(a.n, b.n) })
	why := fmt.Sprintf("%s's program failed %s while no fault explains it (%s)", worst.process, of(worst.n, "time"), worst.first)
	if n := len(all) - 1; n > 0 {
		why += fmt.Sprintf(", and so did %s of other clients", of(n, "program"))
	}
	return why + ": nothing says whether the lock would have been granted"
}
