package record

import (
	"math"
	"slices"

	"github.com/picklock/picklock/history"
)

// open is the time of what did not come before the record's end.
const open = math.MaxInt64

// act is one thing that a client did with the lock or under it.
type act struct {
	process, do, grant string
	mode               string // of an acquire, as in a history
	from, to           int64  // ns since the run's start; to is open where no answer came
	outcome            history.Type
}

// shares says that its client has the lock together with others from then on.
func (a act) shares() bool { return a.mode == history.Shared || a.mode == history.Downgrade }

// acts are what was done with one lock, in the order in which it was begun.
func (r Run) acts(key string) []act {
	var out []act
	type asked struct{ process, do, grant string }
	under := map[asked]int{} // its place in out
	for _, e := range r.Events {
		if e.Process == history.Nemesis {
			if e.F == "kill" && e.Phase == history.Begin {
				for k := range under {
					if slices.Contains(e.Nodes, k.process) {
						delete(under, k)
					}
				}
			}
			continue
		}
		k := asked{e.Process, e.F, e.Grant}
		if e.F == history.Acquire {
			k.grant = ""
		}
		if e.Type == history.Invoke {
			if e.Key == key {
				under[k] = len(out)
				out = append(out, act{e.Process, e.F, e.Grant, e.Mode, e.Time, open, history.Info})
			}
			continue
		}
		if i, ok := under[k]; ok {
			delete(under, k)
			out[i].to, out[i].outcome, out[i].grant = e.Time, e.Type, e.Grant
		}
	}
	return out
}

// hold is how long a client believed that it had the lock: from its grant until it began to
// give it up, was killed, or asked anew.
type hold struct {
	process, grant string
	asked          int64
	from, to       int64
	shared         bool
}

// holds are those of some acts, in the order of their grants.
func (r Run) holds(acts []act) []hold {
	var out []hold
	latest := map[string]int{} // by process
	end := func(process string, at int64) {
		if i, ok := latest[process]; ok && out[i].to == open {
			out[i].to = max(at, out[i].from)
		}
	}
	kills := r.stops("kill")
	for _, a := range acts {
		switch a.do {
		case history.Acquire:
			if a.mode == history.Nested || a.mode == history.Downgrade && a.outcome == history.Fail {
				continue // it has what it had
			}
			end(a.process, a.from)
			if a.outcome == history.OK {
				latest[a.process] = len(out)
				out = append(out, hold{a.process, a.grant, a.from, a.to, open, a.shares()})
			}
		case history.Release:
			if i, ok := latest[a.process]; ok && out[i].grant == a.grant {
				end(a.process, a.from)
			}
		}
	}
	for i, h := range out {
		for _, k := range kills[h.process] {
			if k.from >= h.from && k.from < h.to {
				out[i].to = k.from
			}
		}
	}
	slices.SortStableFunc(out, func(a, b hold) int { return int(min(1, max(-1, a.from-b.from))) })
	return out
}

// interval is a length of time.
type interval struct{ from, to int64 }

// stops are, for each process, when a fault of one kind was on.
func (r Run) stops(kind string) map[string][]interval {
	out := map[string][]interval{}
	for _, f := range r.pairs() {
		if f.event.F == kind {
			for _, n := range f.event.Nodes {
				out[n] = append(out[n], interval{f.from, f.to})
			}
		}
	}
	return out
}

// shared is how much of s lies in some others.
func (s interval) shared(others []interval) int64 {
	n := int64(0)
	for _, o := range others {
		n += max(0, min(s.to, o.to)-max(s.from, o.from))
	}
	return n
}
