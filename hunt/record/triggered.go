package record

import (
	"math"
	"slices"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// near is which part of a lease lies at most between what a client did and the end of a fault
// that ends with it.
const near = 0.3

// mostLeases is how long a fault of a schedule lasts at most.
const mostLeases = 8

// triggered are the triggered faults for one fault of the run: several where a step of a scenario
// does to one node what the nemesis did to many.
func (r Run) triggered(w window, scripts []script, f fault, l relaxation) []scenarios.TriggeredFault {
	names := map[string]string{}
	for _, c := range scripts {
		names[c.process] = c.name
	}
	steps, err := r.steps(f.event, names)
	if err != nil {
		return nil // r.faults has left it out already
	}
	var out []scenarios.TriggeredFault
	for _, text := range steps {
		s, err := scenarios.NewTriggeredFault(text, r.trigger(w, scripts, f, l), r.until(w, scripts, f, l))
		if err == nil {
			out = append(out, s)
		}
	}
	return out
}

// moment is one event of a client that can trigger a fault.
type moment struct {
	trigger scenarios.Trigger
	at      int64
	since   int64 // of Before: when what the client did before that was over
}

// moments are those of some clients, in their order.
func moments(scripts []script) []moment {
	var out []moment
	for _, c := range scripts {
		over := int64(0)
		for _, m := range c.moves {
			a := scenarios.Trigger{Client: c.name, Do: m.Do, Nth: m.nth}
			before, during, after := a, a, a
			before.At, during.At, after.At = scenarios.Before, scenarios.During, scenarios.After
			// Before and after work are the act before it and the one after it.
			if m.Do != scenarios.Work && m.Do != scenarios.Wait {
				out = append(out, moment{before, m.from, over})
			}
			if m.Do != scenarios.Wait {
				out = append(out, moment{during, m.from, 0})
			}
			if m.Do != scenarios.Work && m.Do != scenarios.Wait && m.to != open {
				out = append(out, moment{after, m.to, 0})
			}
			over = m.to
		}
	}
	slices.SortStableFunc(out, func(a, b moment) int { return int(min(1, max(-1, a.at-b.at))) })
	return out
}

// trigger is the event of a client that triggers a fault: where it falls on a client, what
// that client was doing; otherwise the nearest of all.
func (r Run) trigger(w window, scripts []script, f fault, l relaxation) scenarios.Trigger {
	if f.from <= w.from {
		return scenarios.Trigger{At: scenarios.Start}
	}
	of := slices.Clone(scripts)
	if hit := slices.DeleteFunc(slices.Clone(scripts), func(c script) bool { return !slices.Contains(f.event.Nodes, c.process) }); len(hit) > 0 {
		of = hit
	}
	all := moments(of)
	best := r.nearest(of, all, f.from)
	if a := all[best].trigger; l.message != "" {
		if a.At == scenarios.During && (a.Do == history.Acquire || a.Do == history.Renew || a.Do == history.Release) {
			a.At, a.N = l.message, 1
		}
		return a
	}
	return all[min(len(all)-1, max(0, best+l.shift))].trigger
}

// nearest is the place of the moment nearest to a time.
func (r Run) nearest(of []script, all []moment, at int64) int {
	best, least := 0, int64(math.MaxInt64)
	for i, m := range all {
		d := m.at - at
		switch m.trigger.At {
		case scenarios.Before:
			// It comes later, and must not come because of the fault.
			if d < 0 || m.since > at {
				continue
			}
		default:
			if d > 0 {
				continue
			}
			d = -d
		}
		// Of one client, what it was just doing is nearer than what it did next.
		if len(of) == 1 && m.trigger.At == scenarios.During && under(of[0], m.trigger, at) {
			return i
		}
		if d <= least { // of those at one time the last
			best, least = i, d
		}
	}
	return best
}

// under says that a client was in the middle of a move.
func under(c script, a scenarios.Trigger, at int64) bool {
	return slices.ContainsFunc(c.moves, func(m move) bool {
		return m.Do == a.Do && m.nth == a.Nth && m.from <= at && at < m.to
	})
}

// until is what ended a fault: what another client had just done, or a time.
func (r Run) until(w window, scripts []script, f fault, l relaxation) scenarios.Until {
	from := max(f.from, w.from)
	leases := float64(mostLeases)
	if f.to != open {
		leases = math.Ceil(10*float64(f.to-from)/float64(r.TTL)) / 10
	}
	if l.longer {
		leases++
	}
	u := scenarios.Until{Or: scenarios.Span{Leases: round1(min(mostLeases, max(0.1, leases)))}}
	if f.to == open {
		return u
	}
	var last *move
	var by string
	for _, c := range scripts {
		if slices.Contains(f.event.Nodes, c.process) {
			continue // an affected client does little while it lasts
		}
		for _, m := range c.moves {
			acts := m.Do != scenarios.Work && m.Do != scenarios.Wait && m.to != open
			if granted := m.Do == history.Acquire && m.Span == (scenarios.Span{}); acts && (granted || m.Do != history.Acquire) && m.to > from && m.to <= f.to && m.to > f.to-int64(near*float64(r.TTL)) && (last == nil || m.to > last.to) {
				last, by = &m, c.name
			}
		}
	}
	if last == nil {
		return u
	}
	// A replay may be slower than the run.
	u.Or.Leases = min(mostLeases, round1(2*u.Or.Leases+1))
	if last.Do == history.Acquire {
		u.Await = scenarios.AwaitClient(by, "granted")
		return u
	}
	u.Move = scenarios.Trigger{At: scenarios.After, Client: by, Do: last.Do, Nth: last.nth}
	return u
}

func round1(x float64) float64 { return math.Round(10*x) / 10 }
