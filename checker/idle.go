package checker

import (
	"cmp"
	"slices"
)

// idle finds when neither of two lists has an interval.
type idle struct {
	lists [2][]interval // see joined
	last  int64         // the end of all
}

// joined makes one of intervals that lie no further apart than gap. They come by begin; those that
// are returned rise in their ends, too.
func joined(list []interval, gap int64) []interval {
	var out []interval
	for _, s := range list {
		if n := len(out); n > 0 && s.from-out[n-1].to <= gap {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// from is the first interval without an interval that ends after t; false where there is none.
func (i *idle) from(t int64) (interval, bool) {
	out := interval{t, i.last}
	for moved := true; moved; {
		moved = false
		for _, list := range i.lists {
			if n := endedBy(list, out.from); n < len(list) && list[n].from <= out.from {
				out.from, moved = list[n].to, true
			}
		}
	}
	if out.from >= i.last {
		return interval{}, false
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

// endedBy is how many intervals had ended by t.
func endedBy(list []interval, t int64) int {
	n, _ := slices.BinarySearchFunc(list, t, func(s interval, t int64) int { return cmp.Or(cmp.Compare(s.to, t), -1) })
	return n
}

// wait is how long one client has waited without a break, and its acquires meanwhile.
type wait struct {
	interval
	ops []*op
}

// requests are a lock's acquires, by invoke, as interval after interval is looked at in which
// nobody had the lock.
type requests struct {
	lock *lock
	list []*op
	gap  int64 // between two acquires of one client that still count as one wait
	// link is for each the next one that is not over, and for the last position the first one.
	link      []int32
	byProcess map[string][]*op
}

// newRequests lists those that show that a client waits: none that may have been lost while something was broken that
// touches its client, see lostWith.
func newRequests(k *lock, broken brokenFor, bound, gap int64) *requests {
	r := &requests{lock: k, gap: gap, list: slices.DeleteFunc(k.allAcquires(), func(o *op) bool { return o.failed || o.lostWith(broken, bound) })}
	r.link = make([]int32, len(r.list)+1)
	for i := range r.list {
		r.link[i] = int32(i + 1)
	}
	return r
}

// lostWith says of an acquire of unknown outcome that it was under way when something was broken that touches its client, and ended within twice
// the bound after that. A message of it may have been lost, and its client has waited for the end of its own or of the
// service's time limit: etcd's is more than 5 s. That says nothing of who gets the lock by asking for it anew.
func (o *op) lostWith(broken brokenFor, bound int64) bool {
	if o.typ != tInfo || o.comp < 0 {
		return false
	}
	healed := int64(-1)
	for _, list := range [][]interval{broken.all, broken.own[o.process]} {
		for i := endedBy(list, o.invT); i < len(list) && list[i].from < o.endT; i++ {
			healed = max(healed, list[i].to)
		}
	}
	return healed >= 0 && o.endT <= satAdd(healed, 2*bound)
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

// each hands over the acquires that were under way in an interval, by invoke, until visit wants no
// more, and drops those that were over before it.
func (r *requests) each(within interval, visit func(*op) bool) {
	n := len(r.list)
	for at, i := n, int(r.link[n]); i < n && r.list[i].invT < within.to; i = int(r.link[at]) {
		o := r.list[i]
		if r.over(o, within.from) {
			r.link[at] = r.link[i]
			continue
		}
		if !visit(o) {
			return
		}
		at = i
	}
}

// longWait is the wait of more than bound that began first within an interval in which nobody had
// the lock; nil where there is none.
func (r *requests) longWait(within interval, bound int64) *wait {
	var best *wait
	r.waits(within, func(w *wait) bool {
		if w.to-w.from > bound && (best == nil || w.from < best.from) {
			best = w
		}
		// None can have begun earlier. Were all looked at that go on through many such
		// intervals, that would be the square of them.
		return best == nil || best.from > within.from
	})
	if best != nil && best.from == within.from {
		r.goOn(best, within)
	}
	return best
}

// waits visits the waits within an interval, each time that one grows, until visit wants no more.
func (r *requests) waits(within interval, visit func(*wait) bool) {
	now := map[string]*wait{}
	r.each(within, func(o *op) bool {
		w := now[o.process]
		if w == nil || !r.add(w, o, within) {
			w = &wait{interval: interval{max(o.invT, within.from), 0}}
			w.take(o, within)
			now[o.process] = w
		}
		return visit(w)
	})
}

// add adds an acquire that follows without a break; false where one lies before it.
func (r *requests) add(w *wait, o *op, within interval) bool {
	if o.invT-w.to >= r.gap-r.lock.margin { // between times of one clock
		return false
	}
	w.take(o, within)
	return true
}

func (w *wait) take(o *op, within interval) {
	w.to = min(max(w.to, o.endT), within.to)
	w.ops = append(w.ops, o)
}

// goOn adds to a wait what its client asked for after it without a break.
func (r *requests) goOn(w *wait, within interval) {
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
		if !r.over(o, within.from) && !r.add(w, o, within) {
			return
		}
	}
}
