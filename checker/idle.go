package checker

import (
	"cmp"
	"slices"
)

// idle finds when neither of two lists has a span.
type idle struct {
	lists [2][]span // see joined
	last  int64     // the end of all
}

// joined makes one of spans that lie no further apart than gap. They come by begin; those that
// are returned rise in their ends, too.
func joined(list []span, gap int64) []span {
	var out []span
	for _, s := range list {
		if n := len(out); n > 0 && s.from-out[n-1].to <= gap {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// from is the first stretch without a span that ends after t; false where there is none.
func (i *idle) from(t int64) (span, bool) {
	out := span{t, i.last}
	for moved := true; moved; {
		moved = false
		for _, list := range i.lists {
			if n := endedBy(list, out.from); n < len(list) && list[n].from <= out.from {
				out.from, moved = list[n].to, true
			}
		}
	}
	if out.from >= i.last {
		return span{}, false
	}
	since := int64(0)
	for _, list := range i.lists {
		n := endedBy(list, out.from)
		if n > 0 {
			since = max(since, list[n-1].to)
		}
		if n < len(list) {
			out.to = min(out.to, list[n].from)
		}
	}
	out.from = min(out.from, since)
	return out, true
}

// endedBy is how many spans had ended by t.
func endedBy(list []span, t int64) int {
	n, _ := slices.BinarySearchFunc(list, t, func(s span, t int64) int { return cmp.Or(cmp.Compare(s.to, t), -1) })
	return n
}

// wait is how long one client has waited without a break, and its acquires meanwhile.
type wait struct {
	span
	ops []*op
}

// requests are a lock's acquires, by invoke, as stretch after stretch is looked at in which
// nobody had the lock.
type requests struct {
	lock *lock
	list []*op
	// link is for each the next one that is not over, and for the last place the first one.
	link      []int32
	byProcess map[string][]*op
}

func newRequests(k *lock) *requests {
	r := &requests{lock: k, list: slices.DeleteFunc(k.allAcquires(), func(o *op) bool { return o.failed })}
	r.link = make([]int32, len(r.list)+1)
	for i := range r.list {
		r.link[i] = int32(i + 1)
	}
	return r
}

// over says of an acquire whether it had ended by t, where it may have: one that ended too near
// to it may have ended before it.
func (r *requests) over(o *op, t int64) bool { return o.endT-4*r.lock.margin <= t }

// next is the first acquire that is not over, nil where there is none.
func (r *requests) next() *op {
	if first := r.link[len(r.list)]; int(first) < len(r.list) {
		return r.list[first]
	}
	return nil
}

// dropUntil drops those at the beginning that were over by t.
func (r *requests) dropUntil(t int64) {
	for o := r.next(); o != nil && r.over(o, t); o = r.next() {
		r.link[len(r.list)] = r.link[r.link[len(r.list)]]
	}
}

// each hands over the acquires that were under way in a stretch, by invoke, until tell wants no
// more, and drops those that were over before it.
func (r *requests) each(within span, tell func(*op) bool) {
	n := len(r.list)
	for at, i := n, int(r.link[n]); i < n && r.list[i].invT < within.to; i = int(r.link[at]) {
		o := r.list[i]
		if r.over(o, within.from) {
			r.link[at] = r.link[i]
			continue
		}
		if !tell(o) {
			return
		}
		at = i
	}
}

// longWait is the wait of more than bound that began first within a stretch in which nobody had
// the lock; nil where there is none.
func (r *requests) longWait(within span, bound int64) *wait {
	var best *wait
	r.waits(within, func(w *wait) bool {
		if w.to-w.from > bound && (best == nil || w.from < best.from) {
			best = w
		}
		// None can have begun earlier. Were all looked at that go on through many such
		// stretches, that would be the square of them.
		return best == nil || best.from > within.from
	})
	if best != nil && best.from == within.from {
		r.goOn(best, within)
	}
	return best
}

// waits tells, each time that one grows, of the waits within a stretch, until tell wants no more.
func (r *requests) waits(within span, tell func(*wait) bool) {
	now := map[string]*wait{}
	r.each(within, func(o *op) bool {
		w := now[o.process]
		if w == nil || !w.add(o, r.lock, within) {
			w = &wait{span: span{max(o.invT, within.from), 0}}
			w.take(o, within)
			now[o.process] = w
		}
		return tell(w)
	})
}

// add adds an acquire that follows without a break; false where one lies before it.
func (w *wait) add(o *op, k *lock, within span) bool {
	if o.invT-w.to >= int64(patience)-k.margin { // between times of one clock
		return false
	}
	w.take(o, within)
	return true
}

func (w *wait) take(o *op, within span) {
	w.to = min(max(w.to, o.endT), within.to)
	w.ops = append(w.ops, o)
}

// goOn adds to a wait what its client asked for after it without a break.
func (r *requests) goOn(w *wait, within span) {
	if r.byProcess == nil {
		r.byProcess = map[string][]*op{}
		for _, o := range r.list {
			r.byProcess[o.process] = append(r.byProcess[o.process], o)
		}
	}
	last := w.ops[len(w.ops)-1]
	list := r.byProcess[last.process]
	n, _ := slices.BinarySearchFunc(list, last.inv, func(o *op, at int32) int { return cmp.Or(cmp.Compare(o.inv, at), -1) })
	for _, o := range list[n:] {
		if o.invT >= within.to {
			return
		}
		if !r.over(o, within.from) && !w.add(o, r.lock, within) {
			return
		}
	}
}
