package checker

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// plainWaitsInVain looks at each acquire in each interval in which the lock was free.
func plainWaitsInVain(an *analysis, k *lock) []*wait {
	spans := append(disturbed(an), busy(an, k, joined(disturbed(an), an.opt.Bound))...)
	sortBy(spans, func(s interval) int64 { return s.from })
	at, touching := int64(0), an.brokenFor()
	var free []interval
	for _, s := range append(spans, interval{an.last, an.last}) {
		if s.from-at > an.opt.Bound {
			free = append(free, interval{at, min(s.from, an.last)})
		}
		at = max(at, s.to)
	}
	var out []*wait
	reported := int64(-1) // no grant came since then
	for _, gap := range free {
		if reported >= 0 && !slices.ContainsFunc(k.grants, func(g *grant) bool { return g.okT > reported && g.okT <= gap.from }) {
			continue
		}
		now := map[string]*wait{}
		var best *wait
		for _, o := range k.allAcquires() {
			if o.invT >= gap.to || o.endT-4*k.margin <= gap.from || o.failed {
				continue
			}
			healed := int64(-1)
			for _, s := range slices.Concat(touching.all, touching.own[o.process]) {
				if s.from < o.endT && s.to > o.invT {
					healed = max(healed, s.to)
				}
			}
			if o.typ == tInfo && healed >= 0 && o.endT <= healed+2*an.opt.Bound {
				continue
			}
			w := now[o.process]
			if w == nil || o.invT-w.to >= pollGap(an.opt.Bound)-k.margin {
				w = &wait{interval: interval{max(o.invT, gap.from), 0}}
				now[o.process] = w
			}
			w.to = min(max(w.to, o.endT), gap.to)
			w.ops = append(w.ops, o)
			if w.to-w.from > an.opt.Bound && (best == nil || w.from < best.from) {
				best = w
			}
		}
		if best != nil {
			out, reported = append(out, best), best.from
		}
	}
	return out
}

// TestDeadlocksAreFound: as by looking at each acquire in each interval, one for each time that
// the lock was given back and nobody got it.
func TestDeadlocksAreFound(t *testing.T) {
	const unit = int64(patience) / 2
	rapid.Check(t, func(t *rapid.T) {
		time := func(name string) int64 { return unit * rapid.Int64Range(0, 60).Draw(t, name) }
		length := func(name string) int64 { return unit * rapid.Int64Range(0, 12).Draw(t, name) }
		an := &analysis{limit: &limit{ctx: t.Context()}, last: 60 * unit}
		an.opt.Bound = unit * rapid.Int64Range(1, 12).Draw(t, "bound")
		an.maxLease = unit * rapid.Int64Range(0, 2).Draw(t, "longest lease")
		var faults []fault
		for range rapid.IntRange(0, 4).Draw(t, "faults") {
			begin := time("begin")
			faults = append(faults, fault{name: rapid.SampledFrom([]string{"pause", "partition"}).Draw(t, "fault"), begin: begin, end: min(an.last, begin+length("fault's length")), ended: true, confirmed: true})
		}
		an.faults = newFaultLog(faults, an.last, func(string) bool { return false })
		k := &lock{name: "k", margin: rapid.SampledFrom([]int64{0, 0, 1, unit / 2}).Draw(t, "margin")}
		position := int32(0)
		for p := range rapid.IntRange(1, 4).Draw(t, "clients") {
			process, at := fmt.Sprint("c", p), time("first")
			for range rapid.IntRange(0, 6).Draw(t, "acquires") {
				o := &op{f: fAcquire, process: process, lock: k, invT: at, endT: min(an.last, at+length("it takes")), comp: 1}
				if o.invT >= an.last {
					break
				}
				switch rapid.IntRange(0, 5).Draw(t, "outcome") {
				case 0:
					k.grants = append(k.grants, &grant{process: process, lock: k, invT: o.invT, okT: o.endT, lo: o.invT, believedEnd: o.endT + length("held"), lost: -1})
				case 1:
					k.acquires = append(k.acquires, o)
				case 2:
					o.failed = true
					fallthrough
				default:
					o.typ = tFail
					k.acquires = append(k.acquires, o)
				}
				at = o.endT + length("pause")
			}
		}
		sortBy(k.grants, func(g *grant) int64 { return g.okT })
		sortBy(k.acquires, func(o *op) int64 { return o.invT })
		// The positions of the invokes, by their times.
		type invoke struct {
			at  int64
			set *int32
		}
		var invokes []invoke
		for _, g := range k.grants {
			invokes = append(invokes, invoke{g.invT, &g.inv})
		}
		for _, o := range k.acquires {
			invokes = append(invokes, invoke{o.invT, &o.inv})
		}
		sortBy(invokes, func(i invoke) int64 { return i.at })
		for _, i := range invokes {
			*i.set = position
			position++
		}
		say := func(list []*wait) string {
			out := ""
			for _, w := range list {
				out += fmt.Sprintf("%s %v", w.ops[0].process, w.interval)
				for _, o := range w.ops {
					out += fmt.Sprint(" ", o.inv)
				}
				out += "; "
			}
			return out
		}
		want, got := say(plainWaitsInVain(an, k)), say(waitsInVain(an, k, joined(disturbed(an), an.opt.Bound), busy(an, k, joined(disturbed(an), an.opt.Bound)), newRequests(k, an.brokenFor(), an.opt.Bound, pollGap(an.opt.Bound))))
		if got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}
