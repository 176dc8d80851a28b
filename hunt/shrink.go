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
	beside        func() int // how many runs there may be side by side just now; nil: one
	sig           Signature
	record        *Evidence // of one run that showed it; nil: none is known
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
	steadily := func() (Rate, bool) {
		r, steady := k.h.repeatBeside(ctx, k.runner, s, k.sig, &sequential{}, 0, k.runsBeside(enoughHits))
		k.runs += r.Runs + r.Discarded
		return r, steady
	}
	// What is left is to tell the cause as well as the whole does.
	if k.sig.exact = k.sig.precise(); k.sig.exact {
		r, steady := steadily()
		if steady {
			return r, nil
		}
		k.sig.exact = false
	}
	r, steady := steadily()
	if steady || k.over(ctx) == timeOver {
		return r, nil
	}
	more := k.h.rateBeside(ctx, k.runner, s, k.sig, measuredBy-r.Runs, nil, k.runsBeside(measuredBy))
	k.runs += more.Runs + more.Discarded
	r.Hits, r.Runs, r.Discarded = r.Hits+more.Hits, r.Runs+more.Runs, r.Discarded+more.Discarded
	if k.hitRate = r.hitRate(); k.hitRate < seldom && ctx.Err() == nil {
		beside := ""
		if k.runsBeside(measuredBy) > 1 { // alone it may come in all
			beside = ", several at a time"
		}
		return r, fmt.Errorf("it came in %d of %d runs%s: %w", r.Hits, r.Runs, beside, ErrSeldom)
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
	s = k.toCore(ctx, s)
	tried := map[string]bool{key(s): true}
	var needed []string
	failed := 0 // candidates in a row
	for again := true; again && ctx.Err() == nil && k.runs < k.budget; {
		var all []candidate
		all, needed = k.candidates(s, tried)
		again = false
		for len(all) > 0 && !again && k.runs < k.budget && ctx.Err() == nil {
			some := all[:min(len(all), k.atOnce(failed))]
			all = all[len(some):]
			kept := k.first(ctx, some)
			for i, c := range some {
				if i == kept {
					break // those behind it were not tried to their end
				}
				failed++
				if tried[key(c.smaller)] = true; c.drops {
					needed = append(needed, c.what)
				}
			}
			if again = kept >= 0; again {
				failed = 0
				tried[key(some[kept].smaller)] = true
				k.acceptedSteps = append(k.acceptedSteps, string(s.Write()))
				s = some[kept].smaller
			}
		}
	}
	return s, needed
}

// candidate is a schedule from which something was left away.
type candidate struct {
	edit
	smaller *scenarios.Scenario
}

// candidates are the schedules that are smaller than s by one edit and were not tried before, those first
// that leave away most; needed is what cannot be left away, as was tried before.
func (k *shrinker) candidates(s *scenarios.Scenario, tried map[string]bool) (all []candidate, needed []string) {
	listed := map[string]bool{}
	for _, e := range edits(s) {
		smaller := clone(s)
		e.change(smaller)
		tidy(smaller)
		smaller = k.h.mutator.whole(smaller)
		if smaller == nil || size(smaller) >= size(s) {
			continue
		}
		switch id := key(smaller); {
		case tried[id]:
			if e.drops {
				needed = append(needed, e.what)
			}
		case !listed[id]:
			listed[id] = true
			all = append(all, candidate{e, smaller})
		}
	}
	return all, needed
}

// mostAtOnce is how many candidates are tried at once at most: all but one of them are in vain.
const mostAtOnce = 6

// atOnce is how many candidates are tried at once, of which so many before failed in a row: where much can be
// left away still, the next one probably can.
func (k *shrinker) atOnce(failed int) int {
	return max(1, min(mostAtOnce, failed+1, k.runsBeside(mostAtOnce*besideOfOne)/besideOfOne))
}

// How many runs of one candidate are made side by side: alone, and among others. Two failures in a row
// reject it.
const (
	besideAlone = 4
	besideOfOne = 2
)

// runsBeside is how many runs of one schedule there may be side by side, up to a most.
func (k *shrinker) runsBeside(most int) int {
	if k.beside == nil {
		return 1
	}
	return max(1, min(most, k.beside()))
}

// first tries candidates at once and returns the place of the first that steadily shows the signature;
// -1: none. One behind it is not tried to its end.
func (k *shrinker) first(ctx context.Context, some []candidate) int {
	if len(some) == 1 {
		if k.same(ctx, some[0].smaller) {
			return 0
		}
		return -1
	}
	type tried struct {
		place int
		looked
	}
	over := make(chan tried, len(some))
	ends := make([]context.CancelFunc, len(some))
	for i, c := range some {
		alone, end := context.WithCancel(ctx)
		ends[i] = end
		go func() { over <- tried{i, k.look(alone, ctx, c.smaller, besideOfOne)} }()
	}
	kept, shows := -1, looked{}
	for range some {
		t := <-over
		ends[t.place]()
		k.runs += t.runs
		if t.shows && (kept < 0 || t.place < kept) {
			kept, shows = t.place, t.looked
			for _, end := range ends[kept+1:] {
				end()
			}
		}
	}
	if kept >= 0 {
		k.anomalies = shows.anomalies
	}
	return kept
}

// looked is what the runs of one schedule came to.
type looked struct {
	shows     bool
	runs      int
	anomalies []string
}

// look runs a schedule until it is decided whether it steadily shows the signature, or until ctx ends. A
// run that has begun is left to its end, which is that of running: a testbed is not broken off for it.
func (k *shrinker) look(ctx, running context.Context, s *scenarios.Scenario, beside int) looked {
	var seen shown
	p := within{seen.by(k.runner, k.sig), running}
	r, ok := k.h.repeatBeside(ctx, p, s, k.sig, &sequential{hitRate: k.hitRate}, 0, k.runsBeside(beside))
	return looked{ok, r.Runs + r.Discarded, seen.list()}
}

// within is a runner whose runs end with another context.
type within struct {
	Runner
	ctx context.Context //nolint:containedctx // it lives as long as one call
}

func (w within) Run(_ context.Context, s *scenarios.Scenario) (*Outcome, error) {
	return w.Runner.Run(w.ctx, s)
}

// same says that a schedule steadily shows the signature.
func (k *shrinker) same(ctx context.Context, s *scenarios.Scenario) bool {
	l := k.look(ctx, ctx, s, besideAlone)
	if k.runs += l.runs; l.shows {
		k.anomalies = l.anomalies
	}
	return l.shows
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
	if s.Keys() > 1 {
		out = append(out, edit{"the second key", func(s *scenarios.Scenario) { oneKey(s) }, true})
	}
	for _, c := range s.Clients {
		if n, times := s.Programs[c].Repeated(); times > 1 {
			out = append(out, editsOfRepeated(s, c, n, times)...)
			continue
		}
		// From an acquire on to the end, then move by move.
		for i, m := range s.Programs[c] {
			if i > 0 && m.Do == history.Acquire {
				out = append(out, edit{c + "'s later sections", func(s *scenarios.Scenario) { s.Programs[c] = s.Programs[c][:i] }, true})
			}
		}
		for _, in := range inner(s.Programs[c]) {
			out = append(out, edit{c + "'s inner section", func(s *scenarios.Scenario) {
				s.Programs[c] = slices.Delete(slices.Delete(s.Programs[c], in[1], in[1]+1), in[0], in[0]+1)
			}, true})
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
			out = append(out,
				edit{"", func(s *scenarios.Scenario) { round(&s.Programs[c][i].Span) }, false},
				edit{"", func(s *scenarios.Scenario) { s.Programs[c][i].Second = false }, false})
		}
	}
	return out
}

// editsOfRepeated are those of a program that does its first n moves so many times: what follows them is left away, it
// does them less often, or in each repetition one move less. There are as many of them as moves in one repetition.
func editsOfRepeated(s *scenarios.Scenario, c string, n, times int) []edit {
	var out []edit
	if rest := s.Programs[c][n*times:]; len(rest) > 0 {
		out = append(out, edit{c + "'s later sections", func(s *scenarios.Scenario) { s.Programs[c] = s.Programs[c][:n*times] }, true})
	}
	for _, fewer := range slices.Compact([]int{1, times / 8, times / 4, times / 2, 3 * times / 4, times - 1}) {
		if fewer > 0 {
			out = append(out, edit{c + "'s repetitions", func(s *scenarios.Scenario) { s.Programs[c] = slices.Delete(s.Programs[c], n*fewer, n*times) }, true})
		}
	}
	for i, m := range slices.Backward(s.Programs[c][:n]) {
		out = append(out, edit{c + "'s " + m.String(), func(s *scenarios.Scenario) {
			for r := range times {
				at := r*(n-1) + i
				s.Programs[c] = slices.Delete(s.Programs[c], at, at+1)
			}
		}, true})
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
			if n += odd(m.Span); m.Second {
				n++
			}
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
