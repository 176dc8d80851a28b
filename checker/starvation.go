package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

func init() { finders["starvation"] = findStarvation }

// findStarvation finds clients that waited for longer than is fair while others
// were granted the lock again and again. Locks that poll are unfair by nature, and
// no lock here promises an order, so it is looked for only where Options.Fair says
// what is fair, and never while a fault was on or a cut may be felt: who is cut off, waits.
//
// An entry of a hold and a downgrade serve nobody anew: their client had the lock before.
//
// It counts as one wait what a client does without a break of patience, as for
// deadlock, and reports one anomaly for each. Evidence: the acquires that waited, and
// two grants to others within that time: one would be the queue's head.
func findStarvation(an *analysis) []Anomaly {
	if an.opt.Fair <= 0 || an.opt.widened {
		return nil
	}
	var out []Anomaly
	maybeFelt := an.faults.maybeFelt
	for _, k := range an.locks {
		var waits []*waiting
		k.eachWait(func(w *waiting) bool {
			if len(w.ops) == 1 {
				waits = append(waits, w)
			}
			return true
		})
		waits = slices.DeleteFunc(waits, func(w *waiting) bool {
			if w.to-w.from <= an.opt.Fair || an.faults.count(w.from, w.to) > 0 {
				return true
			}
			n := endedBy(maybeFelt, w.from-1)
			return n < len(maybeFelt) && maybeFelt[n].from <= w.to
		})
		if len(waits) == 0 {
			continue
		}
		log := newServedLog(k, waits)
		for w := range inTime(an.limit, waits) {
			process := w.ops[0].process
			served, n := log.others(w, process)
			if len(served) < 2 {
				continue
			}
			refs := waitEvidence(w.ops, w.from, an.opt.Fair)
			a := Anomaly{
				Key: k.name, Time: w.from + an.opt.Fair,
				Sizes: map[string]int64{"waited": w.to - w.from, "fair": an.opt.Fair},
				Explanation: fmt.Sprintf("%s waited for the lock %s from %s to %s, longer than %s, while others were granted it %d times",
					process, k.name, format.Instant(w.from), format.Instant(w.to), dur(an.opt.Fair), n),
			}
			for _, g := range served {
				refs = append(refs, g.ok, g.loEvidence())
			}
			a.Events = an.evidence.at(refs...)
			out = append(out, an.evidence.finish(a, w.from, blamed{}, process))
		}
	}
	return out
}

// servedLog knows who was granted a lock while another client waited.
type servedLog struct {
	grants []*grant // by ok, without entries and downgrades
	since  maxTree  // the earliest time at which each can have been given
	own    map[string][]*grant
	n      map[*waiting]int // given within it
}

func newServedLog(k *lock, waits []*waiting) *servedLog {
	l := &servedLog{grants: k.begun(), own: map[string][]*grant{}, n: map[*waiting]int{}}
	l.since.build(len(l.grants), func(i int) int64 { return l.grants[i].lo })
	for _, g := range l.grants {
		l.own[g.process] = append(l.own[g.process], g)
	}
	// The latest wait first, and before it the grants that were given since it began: they are
	// counted by their positions (P. Fenwick, A new data structure for cumulative frequency
	// tables, 1994).
	byBegin := slices.Clone(waits)
	slices.SortFunc(byBegin, func(a, b *waiting) int { return cmp.Compare(b.from, a.from) })
	byLo := make([]int, len(l.grants))
	for i := range byLo {
		byLo[i] = i
	}
	slices.SortFunc(byLo, func(a, b int) int { return cmp.Compare(l.grants[b].lo, l.grants[a].lo) })
	counts := make([]int, len(l.grants)+1)
	for _, w := range byBegin {
		for ; len(byLo) > 0 && l.grants[byLo[0]].lo >= w.from; byLo = byLo[1:] {
			for i := byLo[0] + 1; i < len(counts); i += i & -i {
				counts[i]++
			}
		}
		for i := answeredBy(l.grants, w.to); i > 0; i -= i & -i {
			l.n[w] += counts[i]
		}
	}
	return l
}

// begun are the grants by which a client had the lock that did not have it before: an entry and a downgrade are none.
func (k *lock) begun() []*grant {
	downgraded := map[int32]bool{} // by the acquire's answer
	for _, g := range k.grants {
		if r := g.release; r != nil && r.downgrades && r.comp >= 0 {
			downgraded[r.comp] = true
		}
	}
	if !k.nested && len(downgraded) == 0 {
		return k.grants
	}
	return slices.DeleteFunc(slices.Clone(k.grants), func(g *grant) bool { return g.mode == nested && g.first != nil || downgraded[g.ok] })
}

// others is how many grants others were given within a wait, and the first two of them.
func (l *servedLog) others(w *waiting, process string) (first []*grant, n int) {
	n = l.n[w]
	from, _ := slices.BinarySearchFunc(l.own[process], w.from, func(g *grant, t int64) int { return cmp.Compare(g.okT, t) })
	for _, g := range l.own[process][from:] {
		if g.okT > w.to {
			break
		}
		if g.lo >= w.from {
			n--
		}
	}
	for i := l.since.first(0, w.from); i >= 0 && l.grants[i].okT <= w.to && len(first) < 2; i = l.since.first(i+1, w.from) {
		if g := l.grants[i]; g.process != process {
			first = append(first, g)
		}
	}
	return first, n
}

// waiting is one client's acquires without a break.
type waiting struct {
	interval
	ops []*op
}

// served says that the last acquire was granted, or may have been: the client was
// killed and came back, and nobody learnt.
func (w *waiting) served() bool {
	last := w.ops[len(w.ops)-1]
	return last.typ == tOK || last.comp < 0
}

// eachWait visits every wait, and again whenever it has gone on, until visit returns false.
func (k *lock) eachWait(visit func(*waiting) bool) {
	now := map[string]*waiting{}
	for _, o := range k.allAcquires() { // by invoke
		if o.failed {
			continue
		}
		w := now[o.process]
		if w == nil || o.invT-w.to >= patience || w.served() {
			w = &waiting{interval: interval{o.invT, 0}}
			now[o.process] = w
		}
		w.to = max(w.to, o.endT)
		w.ops = append(w.ops, o)
		if !visit(w) {
			return
		}
	}
}
