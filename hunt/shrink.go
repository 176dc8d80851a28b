package hunt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// shrink makes a schedule as small as it goes while it shows the same signature: faults
// away, then clients, then moves, then simpler ends and rounder times. A change is kept
// only if the same signature comes again by the sequential test, nearly always or, of what
// is intermittent, as often as it did and not half as often; the last one that was
// kept is taken back if the whole is not steady any more at the end. It returns what each
// remaining part was needed for.
type shrinker struct {
	h             *Search
	runner        Runner
	sig           Signature
	runs          int
	budget        int      // of runs
	acceptedSteps []string // the schedules that were kept before the last one
	hitRate       float64  // of the runs that show it; 0: nearly all of them
	anomalies     []string // that the runs of what is left showed; nil: nothing was left away
}

// measuredBy is how often a schedule that is intermittent is run until the search knows how
// often it does.
const measuredBy = 20

// seldom is the rate below which nothing is left away: each look would take a hundred runs.
const seldom = 0.2

// ErrSeldom is that a schedule shows what it is to show too seldom for it to be made smaller.
var ErrSeldom = errors.New("too seldom for it to be made smaller")

// measure says how often the schedule shows the signature before anything is left away: what is
// left must show it as often, or half as often where it is intermittent.
func (k *shrinker) measure(ctx context.Context, s *scenarios.Scenario) (Rate, error) {
	r, steady := k.h.repeat(ctx, k.runner, s, k.sig, &sequential{}, 0)
	k.runs += r.Runs + r.Discarded
	if steady || k.over(ctx) == timeOver {
		return r, nil
	}
	more := k.h.rate(ctx, k.runner, s, k.sig, measuredBy-r.Runs, nil)
	k.runs += more.Runs + more.Discarded
	r.Hits, r.Runs, r.Discarded = r.Hits+more.Hits, r.Runs+more.Runs, r.Discarded+more.Discarded
	if k.hitRate = r.hitRate(); k.hitRate < seldom && ctx.Err() == nil {
		return r, fmt.Errorf("it came in %d of %d runs: %w", r.Hits, r.Runs, ErrSeldom)
	}
	return r, nil
}

// steadyEnough says that a rate is what the schedule had at first, or nearly always.
func (k *shrinker) steadyEnough(r Rate) bool {
	return r.nearlyAlways() || k.hitRate > 0 && r.hitRate() >= k.hitRate/2
}

// over says why what is left may not be as small as it goes; "" if it is.
func (k *shrinker) over(ctx context.Context) string {
	switch {
	case ctx.Err() != nil:
		return timeOver
	case k.runs >= k.budget:
		return fmt.Sprintf("%d runs were not enough", k.budget)
	}
	return ""
}

// edit is one way to make a schedule smaller.
type edit struct {
	what   string
	change func(s *scenarios.Scenario)
	drops  bool // a part is taken away: if that fails, the part is needed
}

func (k *shrinker) shrink(ctx context.Context, s *scenarios.Scenario) (*scenarios.Scenario, []string) {
	tried := map[string]bool{key(s): true}
	var needed []string
	for again := true; again && ctx.Err() == nil && k.runs < k.budget; {
		again = false
		needed = nil
		for _, e := range edits(s) {
			smaller := clone(s)
			e.change(smaller)
			tidy(smaller)
			smaller = k.h.mutator.whole(smaller)
			if smaller == nil || size(smaller) >= size(s) {
				continue
			}
			id := key(smaller)
			if tried[id] {
				if e.drops {
					needed = append(needed, e.what)
				}
				continue
			}
			tried[id] = true
			if k.runs >= k.budget || ctx.Err() != nil {
				break
			}
			if !k.same(ctx, smaller) {
				if e.drops {
					needed = append(needed, e.what)
				}
				continue
			}
			k.acceptedSteps = append(k.acceptedSteps, string(s.Write()))
			s, again = smaller, true
			break
		}
	}
	return s, needed
}

// same says that a schedule steadily shows the signature.
func (k *shrinker) same(ctx context.Context, s *scenarios.Scenario) bool {
	var seen shown
	r, ok := k.h.repeat(ctx, seen.by(k.runner, k.sig), s, k.sig, &sequential{hitRate: k.hitRate}, 0)
	k.runs += r.Runs + r.Discarded
	if ok {
		k.anomalies = seen.list()
	}
	return ok
}

// edits are all ways to make a schedule smaller, those that take away most first.
func edits(s *scenarios.Scenario) []edit {
	var out []edit
	for i, st := range s.TriggeredFaults {
		out = append(out, edit{st.Fault.Text, func(s *scenarios.Scenario) { s.TriggeredFaults = slices.Delete(s.TriggeredFaults, i, i+1) }, true})
	}
	for _, c := range slices.Backward(s.Clients) {
		out = append(out, edit{"client " + c, func(s *scenarios.Scenario) { dropClient(s, c) }, true})
	}
	for _, c := range s.Clients {
		// From an acquire on to the end, then move by move.
		for i, m := range s.Programs[c] {
			if i > 0 && m.Do == history.Acquire {
				out = append(out, edit{c + "'s later sections", func(s *scenarios.Scenario) { s.Programs[c] = s.Programs[c][:i] }, true})
			}
		}
		for i, m := range slices.Backward(s.Programs[c]) {
			out = append(out, edit{c + "'s " + m.String(), func(s *scenarios.Scenario) { s.Programs[c] = slices.Delete(s.Programs[c], i, i+1) }, true})
		}
	}
	for i, st := range s.TriggeredFaults {
		if st.Until.Await != nil || st.Until.Move.Client != "" {
			out = append(out, edit{"", func(s *scenarios.Scenario) { s.TriggeredFaults[i].Until = scenarios.Until{Or: st.Until.Or} }, false})
		}
		out = append(out, edit{"", func(s *scenarios.Scenario) { round(&s.TriggeredFaults[i].Until.Or) }, false})
	}
	for _, c := range s.Clients {
		for i := range s.Programs[c] {
			out = append(out, edit{"", func(s *scenarios.Scenario) { round(&s.Programs[c][i].Span) }, false})
		}
	}
	return out
}

// dropClient takes a client away, and with it the faults that name it.
func dropClient(s *scenarios.Scenario, c string) {
	s.Clients = slices.DeleteFunc(s.Clients, func(o string) bool { return o == c })
	delete(s.Programs, c)
	s.TriggeredFaults = slices.DeleteFunc(s.TriggeredFaults, func(st scenarios.TriggeredFault) bool {
		return st.When.Client == c || slices.Contains(st.Fault.Nodes, c) || slices.Contains(st.Fault.Peers, c) || st.When.Await != nil && st.When.Await.Client == c
	})
	for i := range s.TriggeredFaults {
		u := &s.TriggeredFaults[i].Until
		if u.Await != nil && u.Await.Client == c || u.Move.Client == c {
			*u = scenarios.Until{Or: u.Or}
		}
	}
}

// tidy takes away what waits for a client that is gone, and moves that nothing follows.
func tidy(s *scenarios.Scenario) {
	for _, c := range s.Clients {
		p := slices.DeleteFunc(slices.Clone(s.Programs[c]), func(m scenarios.Move) bool {
			return m.Do == scenarios.Wait && m.Await.Client != "" && !slices.Contains(s.Clients, m.Await.Client)
		})
		for len(p) > 0 && (p[len(p)-1].Do == scenarios.Work || p[len(p)-1].Do == scenarios.Wait) {
			p = p[:len(p)-1]
		}
		s.Programs[c] = p
	}
}

// round makes a length of time one that is read at a glance.
func round(s *scenarios.Span) {
	if s.Leases > 0 {
		s.Leases = max(0.1, math.Round(s.Leases*2)/2)
	}
}

// size orders schedules: fewer faults first, then clients, moves, and simpler words.
func size(s *scenarios.Scenario) int {
	n := 10000*len(s.TriggeredFaults) + 1000*len(s.Clients)
	for _, st := range s.TriggeredFaults {
		if st.Until.Await != nil || st.Until.Move.Client != "" {
			n++
		}
		n += odd(st.Until.Or)
	}
	for _, p := range s.Programs {
		n += 20 * len(p)
		for _, m := range p {
			n += odd(m.Span)
		}
	}
	return n
}

// odd is 1 for a time that is not round.
func odd(s scenarios.Span) int {
	r := s
	if round(&r); r != s {
		return 1
	}
	return 0
}
