package checker

import (
	"fmt"
	"iter"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

func init() { finders["false-rejection"] = findFalseRejections }

// findFalseRejections: the register refused an operation of the rightful holder.
// Sound only where nobody else can have been the holder by the end of the
// operation: the lease was certainly alive for the whole of it, the service
// granted nothing early on that key, and every other grant was either given
// before this one for certain, or after the refusal for certain.
func findFalseRejections(an *analysis) []Anomaly {
	if an.log == nil || an.opt.widened { // who was the rightful holder, only the order of nearby events says
		return nil
	}
	broken := an.overlaps.locks()
	var out []Anomaly
	for e := range inTime(an.limit, an.log.refused) {
		if !e.known() || e.op.typ != tFail || broken[e.g.lock] || !e.g.lock.mutex() { // whose tokens need not order grants that may be held together
			continue
		}
		g, o := e.g, e.op
		if !g.aliveOver(o.invT, o.endT) {
			continue
		}
		if other := an.givenBy(g.lock).latestOk(o.endT, g); other != nil && other.okT >= g.lo {
			continue
		}
		left := g.leaseLeft(o.endT)
		refs := append(g.evidenceAt(o.endT), o.inv, o.comp)
		cause := ""
		if an.tokens.unsound(g.lock) {
			cause = "token-regression"
		} else if g.token == 0 {
			cause = "no-token"
		}
		a := Anomaly{
			Key: g.lock.name, Time: o.endT,
			Grants: []string{g.id}, Events: an.evidence.at(refs...), Effects: []int64{e.seq},
			Sizes: map[string]int64{"remaining": left}, Cause: cause,
			Explanation: fmt.Sprintf("the register refused %s's %s%s at %s (%s), although its lease certainly had %s left and nobody had been granted the lock since",
				g.process, e.f, g.with(), format.Instant(o.endT), e.err(), dur(left)),
		}
		out = append(out, an.evidence.finish(a, g.okT, blamed{}, g.process))
	}
	return out
}

// givenBy answers it of a lock.
func (an *analysis) givenBy(k *lock) *candidates {
	if an.candidates == nil {
		an.candidates = map[*lock]*candidates{}
	}
	if an.candidates[k] == nil {
		an.candidates[k] = candidatesOf(k.grants)
	}
	return an.candidates[k]
}

// candidates answers which grants can have been given by a certain time.
type candidates struct {
	byLo          []*grant
	first, second []*grant // per grant of byLo: of it and all before, the two latest oks
}

func candidatesOf(grants []*grant) *candidates {
	w := &candidates{byLo: slices.Clone(grants)}
	sortBy(w.byLo, func(g *grant) int64 { return g.lo })
	var first, second *grant
	for _, g := range w.byLo {
		switch {
		case first == nil || g.okT > first.okT:
			first, second = g, first
		case second == nil || g.okT > second.okT:
			second = g
		}
		w.first, w.second = append(w.first, first), append(w.second, second)
	}
	return w
}

// latestOk is, of the grants other than not that can have been given by t, the
// one whose ok is the latest.
func (w *candidates) latestOk(t int64, not *grant) *grant {
	n := w.by(t)
	if n == 0 {
		return nil
	}
	if w.first[n-1] != not {
		return w.first[n-1]
	}
	return w.second[n-1]
}

// by is how many grants can have been given by t.
func (w *candidates) by(t int64) int {
	n, _ := slices.BinarySearchFunc(w.byLo, t, func(g *grant, t int64) int {
		if g.lo <= t {
			return -1
		}
		return 1
	})
	return n
}

// between yields the grants that can have been given by to and whose answer came at from or later. If there may be more than so many
// steps show, it yields nil in the end: a bound keeps a hostile history from making this quadratic.
func (w *candidates) between(from, to int64) iter.Seq[*grant] {
	return func(yield func(*grant) bool) {
		last := w.by(to) - 1
		for n := last; n >= 0 && w.first[n].okT >= from; n-- {
			if last-n == maxSteps {
				yield(nil)
				return
			}
			if g := w.byLo[n]; g.okT >= from && !yield(g) {
				return
			}
		}
	}
}

const maxSteps = 16 * maxBetween
