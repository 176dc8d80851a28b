package record

import (
	"slices"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
)

// longest is how many leases before a violation a schedule begins at most, where the lock was
// never free.
const longest = 6

// window is the part of a record that a schedule says again.
type window struct {
	acts     []act // of the lock, all of them
	holds    []hold
	from, to int64    // ns since the run's start
	clients  []string // the processes that take part, the first to have the lock first
}

// evidence is the time between the first and the last event that prove an anomaly.
func (r Run) evidence(a verdict.Anomaly) (from, to int64) {
	from, to = a.Time, a.Time
	for _, e := range r.Events {
		if slices.Contains(a.Events, e.Index) {
			from, to = min(from, e.Time), max(to, e.Time)
		}
	}
	return from, to
}

// window finds who took part in a violation, and since when: the last moment before it at
// which nobody had the lock.
func (r Run) window(a verdict.Anomaly, l relaxation) window {
	w := window{acts: r.acts(a.Key)}
	w.holds = r.holds(w.acts)
	var first int64
	first, w.to = r.evidence(a)
	concerned := func(h hold) bool { return slices.Contains(a.Grants, h.grant) }
	for _, h := range w.holds {
		if concerned(h) {
			first = min(first, h.from)
		}
	}
	w.from = first
	for again := true; again; {
		again = false
		for _, h := range w.holds {
			if h.from < w.from && h.to >= w.from {
				w.from, again = h.from, true
			}
		}
	}
	if l.asked {
		for _, x := range w.acts {
			if x.do == history.Acquire && x.to <= w.to && slices.ContainsFunc(w.holds, func(h hold) bool { return h.grant == x.grant && concerned(h) }) {
				w.from = min(w.from, x.from)
			}
		}
	}
	w.from = max(w.from, first-longest*int64(r.TTL))
	w.clients = r.concerned(a, w, l)
	return w
}

// concerned are the processes that take part: those whose grants the evidence names,
// whichever others it names, and where that is asked for those who had the lock meanwhile.
func (r Run) concerned(a verdict.Anomaly, w window, l relaxation) []string {
	var out []string
	add := func(p string) {
		if !slices.Contains(out, p) && len(out) < len(r.Clients) && p != "" {
			out = append(out, p)
		}
	}
	for _, h := range w.holds {
		if slices.Contains(a.Grants, h.grant) {
			add(h.process)
		}
	}
	for _, p := range a.Processes {
		if slices.ContainsFunc(w.acts, func(x act) bool { return x.process == p && x.from <= w.to && x.to >= w.from }) {
			add(p)
		}
	}
	if l.others {
		for _, h := range slices.Backward(w.holds) {
			if h.from >= w.from && h.from <= w.to {
				add(h.process)
			}
		}
	}
	at := func(p string) int64 {
		for _, h := range w.holds {
			if h.process == p && h.from >= w.from {
				return h.from
			}
		}
		return open
	}
	slices.SortStableFunc(out, func(p, q string) int { return int(min(1, max(-1, at(p)/2-at(q)/2))) })
	return out
}
