package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

// findStarvation finds clients that waited for longer than is fair while others
// were granted the lock again and again. Locks that poll are unfair by nature, and
// no lock here promises an order, so it is looked for only where Options.Fair says
// what is fair, and never while a fault was on or a cut may be felt: who is cut off, waits.
//
// It counts as one wait what a client does without a break of patience, as for
// deadlock, and one anomaly is told for each. Proof: the acquires that waited, and
// two grants to others within that time: one would be the queue's head.
func findStarvation(an *analysis) []Anomaly {
	if an.opt.Fair <= 0 || an.opt.widened {
		return nil
	}
	var out []Anomaly
	unsettled := an.faults.unsettled
	for _, k := range an.locks {
		var waits []*waiting
		k.eachWait(func(w *waiting) bool {
			if len(w.ops) == 1 {
				waits = append(waits, w)
			}
			return true
		})
		for _, w := range waits {
			process := w.ops[0].process
			if w.to-w.from <= an.opt.Fair || len(an.faults.on(w.from, w.to)) > 0 || slices.ContainsFunc(unsettled, func(s span) bool { return s.from <= w.to && w.from <= s.to }) {
				continue
			}
			first, _ := slices.BinarySearchFunc(k.grants, w.from, func(g *grant, t int64) int { return cmp.Compare(g.okT, t) })
			var served []*grant
			n := 0
			for _, g := range k.grants[first:] {
				if g.okT > w.to {
					break
				}
				if g.process != process && g.lo >= w.from {
					if n++; len(served) < 2 {
						served = append(served, g)
					}
				}
			}
			if len(served) < 2 {
				continue
			}
			places := waitProof(w.ops, w.from, an.opt.Fair)
			a := Anomaly{
				Name: "starvation", Property: Liveness, Key: k.name, Time: w.from + an.opt.Fair,
				Sizes: map[string]int64{"waited": w.to - w.from, "fair": an.opt.Fair},
				Explanation: fmt.Sprintf("%s waited for the lock %s from %s to %s, longer than %s, while others were granted it %d times",
					process, k.name, format.Instant(w.from), format.Instant(w.to), dur(an.opt.Fair), n),
			}
			for _, g := range served {
				places = append(places, g.ok, g.loProof())
			}
			a.Events = an.evidence.at(places...)
			out = append(out, an.evidence.finish(a, w.from, blamed{}, process))
		}
	}
	return out
}

// waiting is one client's acquires without a break.
type waiting struct {
	span
	ops []*op
}

// served says that the last acquire was granted, or may have been: the client was
// killed and came back, and nobody learnt.
func (w *waiting) served() bool {
	last := w.ops[len(w.ops)-1]
	return last.typ == tOK || last.comp < 0
}

// eachWait tells of every wait, and again whenever it has gone on, until tell says no.
func (k *lock) eachWait(tell func(*waiting) bool) {
	now := map[string]*waiting{}
	for _, o := range k.allAcquires() { // by invoke
		if o.failed {
			continue
		}
		w := now[o.process]
		if w == nil || o.invT-w.to >= patience || w.served() {
			w = &waiting{span: span{o.invT, 0}}
			now[o.process] = w
		}
		w.to = max(w.to, o.endT)
		w.ops = append(w.ops, o)
		if !tell(w) {
			return
		}
	}
}
