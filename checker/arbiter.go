package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/picklock/picklock/history"
)

// The exact checks decide; Porcupine, which searches and knows nothing of them,
// must come to the same answer on every window that it is given. If it does not,
// one of the two is wrong and the property is unknown.
const (
	windowSize    = 100                    // grants or operations in a window, at most
	windowCount   = 40                     // windows a property, those with anomalies first
	windowTimeout = 100 * time.Millisecond // then Porcupine has given up, and said nothing
	arbiterTime   = time.Second            // for all of it
)

// window is one stretch of one key that can be checked alone.
type window struct {
	key     string
	from    int64
	accused bool // an anomaly lies in it
	build   func() question
}

// question is what Porcupine is asked about a window, and our own answer.
type question struct {
	exact  bool // nothing wrong
	oneway bool // only Porcupine's "illegal" contradicts us
	model  porcupine.Model
	calls  []porcupine.Operation
}

// arbitrate has Porcupine check samples of the history, and withdraws the verdict
// on a property on which the two disagree.
func (ix *index) arbitrate(v *Verdict) {
	stop := time.Now().Add(arbiterTime)
	for _, job := range []struct {
		property string
		windows  func() []window
	}{
		{Exclusion, ix.exclusionWindows},
		{Tokens, ix.tokenWindows},
		{Register, ix.registerWindows},
	} {
		p := v.Properties[job.property]
		if p.Valid == Unknown {
			continue
		}
		if why := contradiction(sample(job.windows()), stop); why != "" {
			p.Valid, p.Why = Unknown, why+"; before that: "+p.Why
			v.Properties[job.property] = p
		}
	}
	ix.arbitrateBoth(v, stop)
}

// contradiction has Porcupine check windows, and says where it disagrees.
func contradiction(windows []window, stop time.Time) string {
	for _, w := range windows {
		if time.Now().After(stop) {
			break
		}
		q := w.build()
		res := porcupine.CheckOperationsTimeout(q.model, q.calls, windowTimeout)
		if res == porcupine.Unknown || (q.oneway && res == porcupine.Ok) {
			continue
		}
		if (res == porcupine.Ok) != q.exact {
			return fmt.Sprintf("THE CHECKER CONTRADICTS ITSELF, please report it: on key %s from %s on (%d calls) the exact check says %s and Porcupine says %s",
				w.key, clock(w.from), len(q.calls), legal(q.exact), legal(!q.exact))
		}
	}
	return ""
}

func legal(ok bool) string {
	if ok {
		return "legal"
	}
	return "illegal"
}

// arbitrateBoth looks for what no property shows by itself: grants that some order
// keeps apart, and tokens that some order lets rise, but no order does both. Which
// of the two is broken, nobody can say.
func (ix *index) arbitrateBoth(v *Verdict, stop time.Time) {
	e, t := v.Properties[Exclusion], v.Properties[Tokens]
	if e.Valid != True || t.Valid != True {
		return
	}
	for _, w := range sample(ix.grantWindows(nil, func(g []*grant) question {
		return question{model: lockModel(true, true), calls: lockHistory(g, true)}
	})) {
		if time.Now().After(stop) {
			return
		}
		q := w.build()
		if porcupine.CheckOperationsTimeout(q.model, q.calls, windowTimeout) == porcupine.Illegal {
			t.Valid = Unknown
			t.Why = fmt.Sprintf("on key %s from %s on no order of the grants keeps them apart and lets their tokens rise too: exclusion or tokens is broken, and nothing says which", w.key, clock(w.from))
			v.Properties[Tokens] = t
			return
		}
	}
}

// sample takes the windows with anomalies first, then others from all over.
func sample(all []window) []window {
	var out, rest []window
	for _, w := range all {
		switch {
		case w.accused && len(out) < windowCount/2:
			out = append(out, w)
		case !w.accused:
			rest = append(rest, w)
		}
	}
	room := windowCount - len(out)
	if len(rest) <= room {
		return append(out, rest...)
	}
	for i := range room {
		out = append(out, rest[i*len(rest)/room])
	}
	return out
}

// group joins neighbouring parts to windows of useful size; larger parts than a
// window are left out.
func group[T any](parts [][]T) [][]T {
	var out [][]T
	var cur []T
	flush := func() {
		if len(cur) > 1 {
			out = append(out, cur)
		}
		cur = nil
	}
	for _, p := range parts {
		if len(p) > windowSize {
			flush()
			continue
		}
		if len(cur)+len(p) > windowSize {
			flush()
		}
		cur = append(cur, p...)
	}
	flush()
	return out
}

func (ix *index) grantWindows(accused map[*grant]bool, ask func([]*grant) question) []window {
	var out []window
	for _, k := range ix.keys {
		for _, g := range group(cutGrants(k.grants)) {
			// The model knows one stretch of time a grant.
			if slices.ContainsFunc(g, func(g *grant) bool {
				return len(g.pieces) > 1 || (len(g.pieces) == 1 && g.pieces[0].from != g.okT)
			}) {
				continue
			}
			out = append(out, window{
				key: k.name, from: g[0].lo, build: func() question { return ask(g) },
				accused: slices.ContainsFunc(g, func(g *grant) bool { return accused[g] }),
			})
		}
	}
	return out
}

func (ix *index) exclusionWindows() []window {
	accused := map[*grant]bool{}
	for _, e := range ix.findEarly() {
		accused[e.newer] = true
	}
	return ix.grantWindows(accused, func(g []*grant) question {
		return question{exact: len(earlyOf(g)) == 0, model: lockModel(true, false), calls: lockHistory(g, true)}
	})
}

func (ix *index) tokenWindows() []window {
	accused := map[*grant]bool{}
	for _, k := range ix.keys {
		for _, p := range append(regressions(k.grants), reuses(k.grants)...) {
			accused[p.newer] = true
		}
	}
	return ix.grantWindows(accused, func(g []*grant) question {
		g = slices.DeleteFunc(slices.Clone(g), func(g *grant) bool { return g.token == 0 })
		return question{
			exact: len(regressions(g)) == 0 && len(reuses(g)) == 0,
			model: lockModel(false, true), calls: lockHistory(g, false),
		}
	})
}

// registerWindows cuts each key's operations where none is under way. With a log
// the value at the cut is known, and the log decides what became of the operations
// of unknown outcome; without one only the beginning can be checked.
func (ix *index) registerWindows() []window {
	var out []window
	for _, k := range ix.keys {
		if ix.log == nil {
			read := map[string]bool{}
			for _, o := range k.ops {
				if o.f == history.Read && o.typ == history.OK {
					read[o.value] = true
				}
			}
			took := func(o *op) bool { return o.typ != history.Fail && read[o.value] }
			if g := group(cutOps(k.ops, took)); len(g) > 0 && len(g[0]) > 0 && g[0][0] == k.ops[0] {
				ops := g[0]
				out = append(out, window{key: k.name, from: ops[0].invT, build: func() question {
					zones, orphans := clusters(ops)
					return question{
						exact: len(orphans) == 0 && len(conflicts(zones)) == 0,
						model: registerModel(""), calls: registerHistory(ops, took),
					}
				}})
			}
			continue
		}
		out = append(out, ix.logWindows(k)...)
	}
	return out
}

// logWindows completes the operations by the log. What Porcupine calls illegal
// must have shown in the log as well; the log may show more.
func (ix *index) logWindows(k *keyIndex) []window {
	effects := ix.log.keys[k.name]
	if ix.log.broken[k.name] {
		return nil
	}
	taken := map[*op]*effect{}
	soonest := never // of the operations that took effect later, the first answer
	var ops []*op
	for _, e := range slices.Backward(effects) {
		if e.op == nil {
			return nil
		}
		if e.op.typ == history.OK {
			soonest = min(soonest, e.op.endT)
		}
		if taken[e.op] != nil {
			return nil // carried out twice: no model of one operation
		}
		taken[e.op] = e
		o := *e.op
		o.value = e.Value
		if e.op.typ == history.OK {
			o.value = e.op.value
		} else {
			o.typ, o.endT = history.OK, soonest
		}
		taken[&o] = e
		ops = append(ops, &o)
	}
	slices.SortStableFunc(ops, func(a, b *op) int { return cmp.Compare(a.invT, b.invT) })
	took := func(*op) bool { return true }
	var out []window
	parts := cutOps(ops, took)
	value := ""
	var last int64
	starts := map[*op]string{}
	for _, part := range parts {
		starts[part[0]] = value
		for _, o := range part {
			if e := taken[o]; e.writes() && e.Seq > last {
				last, value = e.Seq, e.Value
			}
		}
	}
	for _, g := range group(parts) {
		out = append(out, window{key: k.name, from: g[0].invT, build: func() question {
			return question{exact: true, oneway: true, model: registerModel(starts[g[0]]), calls: registerHistory(g, took)}
		}})
	}
	return out
}
