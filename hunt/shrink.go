package hunt

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	budget        int       // of runs
	acceptedSteps []string  // the schedules that were kept before the last one
	hitRate       float64   // of the runs that show it; 0: nearly all of them
	anomalies     []string  // that the runs of what is left showed; nil: nothing was left away
	evidence      *Evidence // of one of these runs
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

func (k *shrinker) shrink(ctx context.Context, s *scenarios.Scenario) (*scenarios.Scenario, []string) {
	s = k.toCore(ctx, s)
	tried := map[string]bool{key(s): true}
	var needed []string
	for _, p := range []phase{parts, ends, words, parts, ends} { // without the words that name a part, it can be left away, too
		var of []string
		s, of = k.leaveAway(ctx, s, tried, p, needed)
		needed = append(needed, of...)
	}
	return s, needed
}

// needs names what is needed of a schedule that has other times now: by its words then and now. What was left away since, or got other words
// and was tried again by these, is not among it.
func (k *shrinker) needs(then, now *scenarios.Scenario, needed []string) []string {
	was, is := k.parts(then), k.parts(now)
	if len(is) != len(was) {
		was = is // its times are not all that is other
	}
	var out []string
	for i, what := range was {
		if slices.Contains(needed, what) && !slices.Contains(out, is[i]) {
			out = append(out, is[i])
		}
	}
	return out
}

// parts names what could be left away of a schedule.
func (k *shrinker) parts(s *scenarios.Scenario) []string {
	var out []string
	for _, e := range slices.Concat(editsOfOptions(k.h.o.Target, s), edits(s)) {
		if e.drops {
			out = append(out, e.what)
		}
	}
	return out
}

// leaveAway makes the edits of one phase, until none is left that can be made. known is what is needed, as was tried in an earlier phase.
func (k *shrinker) leaveAway(ctx context.Context, s *scenarios.Scenario, tried map[string]bool, p phase, known []string) (*scenarios.Scenario, []string) {
	var needed []string
	failed := 0 // candidates in a row
	next := 0   // the edit with which to go on: those before it were tried on what was a little larger
	for again := true; again && ctx.Err() == nil && k.runs < k.budget; {
		var all []candidate
		all, needed = k.candidates(s, tried, p, known)
		n := slices.IndexFunc(all, func(c candidate) bool { return c.at >= next })
		all = slices.Concat(all[max(0, n):], all[:max(0, n)])
		again = false
		for len(all) > 0 && !again && k.runs < k.budget && ctx.Err() == nil {
			some := all[:min(len(all), k.atOnce(failed))]
			all = all[len(some):]
			kept := k.first(ctx, some)
			if kept < 0 && ctx.Err() != nil {
				break // they were not tried to their end
			}
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
				failed, next = 0, some[kept].at
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
	at      int // which of all edits it is
	smaller *scenarios.Scenario
}

// candidates are the schedules that are smaller than s by one edit and were not tried before, those first
// that leave away most; needed is what cannot be left away, as was tried before.
func (k *shrinker) candidates(s *scenarios.Scenario, tried map[string]bool, p phase, known []string) (all []candidate, needed []string) {
	listed := map[string]bool{}
	for at, e := range slices.Concat(editsOfOptions(k.h.o.Target, s), edits(s)) {
		if e.phase != p || slices.Contains(known, e.what) {
			continue
		}
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
			all = append(all, candidate{e, at, smaller})
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

// keptAfter is after how many runs in a row that show it a smaller schedule is kept, if it came nearly always before. They are half of
// what the test takes: what is left at the end is measured, and what was wrongly left away is taken back.
const keptAfter = enoughHits / 2

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
		if k.same(ctx, some[0].smaller, keptAfter) {
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
		go func() { over <- tried{i, k.look(alone, ctx, c.smaller, keptAfter, besideOfOne)} }()
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
		k.keep(shows)
	}
	return kept
}

// looked is what the runs of one schedule came to.
type looked struct {
	shows     bool
	runs      int
	anomalies []string
	evidence  *Evidence
}

// keep remembers what the runs of a schedule showed that is kept.
func (k *shrinker) keep(l looked) { k.anomalies, k.evidence = l.anomalies, l.evidence }

// look runs a schedule until it is decided whether it steadily shows the signature, or so many runs in a row showed it (0: as many as the test
// wants), or until ctx ends. A
// run that has begun is left to its end, which is that of running: a testbed is not broken off for it.
func (k *shrinker) look(ctx, running context.Context, s *scenarios.Scenario, inARow, beside int) looked {
	var seen shown
	p := within{seen.by(k.runner, k.sig), running}
	r, ok := k.h.repeatBeside(ctx, p, s, k.sig, &sequential{hitRate: k.hitRate, inARow: inARow}, 0, k.runsBeside(beside))
	return looked{ok, r.Runs + r.Discarded, seen.list(), seen.last()}
}

// within is a runner whose runs end with another context.
type within struct {
	Runner
	ctx context.Context //nolint:containedctx // it lives as long as one call
}

func (w within) Run(_ context.Context, s *scenarios.Scenario) (*Outcome, error) {
	return w.Runner.Run(w.ctx, s)
}

// same says that a schedule steadily shows the signature, by so many runs in a row that show it; 0: by the whole test.
func (k *shrinker) same(ctx context.Context, s *scenarios.Scenario, inARow int) bool {
	l := k.look(ctx, ctx, s, inARow, besideAlone)
	if k.runs += l.runs; l.shows {
		k.keep(l)
	}
	return l.shows
}
