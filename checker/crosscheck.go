package checker

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// The exact checks decide; Porcupine, which searches and knows nothing of them,
// must come to the same answer on every window that it is given. If it does not,
// one of the two is wrong and the property is unknown.
const (
	windowSize     = 100                    // grants or operations in a window, at most
	windowCount    = 40                     // windows a property, those with anomalies first
	windowTimeout  = 100 * time.Millisecond // then Porcupine has given up, and said nothing
	crossCheckTime = time.Second            // for all of it
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

// crossCheck has Porcupine check samples of the history, and withdraws the verdict
// on a property on which the two disagree.
func (ix *index) crossCheck(ctx context.Context, v *Verdict) {
	stop := time.Now().Add(crossCheckTime)
	if end, ok := ctx.Deadline(); ok && end.Before(stop) {
		stop = end
	}
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
	ix.crossCheckBoth(v, stop)
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

// crossCheckBoth looks for what no property shows by itself: grants that some order
// keeps apart, and tokens that some order lets rise, but no order does both. Which
// of the two is broken, nobody can say.
func (ix *index) crossCheckBoth(v *Verdict, stop time.Time) {
	e, t := v.Properties[Exclusion], v.Properties[Tokens]
	if e.Valid != True || t.Valid != True {
		return
	}
	for _, w := range sample(ix.grantWindows(nil, func(g []*grant) question {
		if !g[0].lock.mutex() { // no tokens
			return question{model: lockModel(false, false)}
		}
		return question{model: lockModel(true, true), calls: lockCalls(g, true)}
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

// stretch is a part of a list, [from, to).
type stretch struct{ from, to int }

// partition cuts a list where nothing is under way: before every element that
// begins after all before it have ended. Each part can be checked alone.
func partition[T any](list []T, begin, end func(T) int64) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		from, until := 0, int64(-1)
		for i, v := range list {
			if i > from && begin(v) > until {
				if !yield(stretch{from, i}) {
					return
				}
				from = i
			}
			until = max(until, end(v))
		}
		if from < len(list) {
			yield(stretch{from, len(list)})
		}
	}
}

// group joins neighbouring parts to windows of useful size; larger parts than a
// window are left out.
func group(parts iter.Seq[stretch]) []stretch {
	var out []stretch
	var cur stretch
	flush := func() {
		if cur.to-cur.from > 1 {
			out = append(out, cur)
		}
	}
	for p := range parts {
		if p.to-cur.from > windowSize {
			flush()
			cur = stretch{p.from, p.from}
		}
		if p.to-p.from > windowSize {
			cur = stretch{p.to, p.to}
			continue
		}
		cur.to = p.to
	}
	flush()
	return out
}

// grantGroup is a window's worth of one lock's grants.
type grantGroup struct {
	lock *lock
	list []*grant
}

// groups parts all grants, once for all questions about them.
func (ix *index) groups() []grantGroup {
	if ix.grouped == nil {
		ix.grouped = []grantGroup{}
		for _, k := range ix.keys {
			sorted := byLo(k.grants)
			for _, s := range group(partition(sorted, grantBegin, grantEnd)) {
				list := sorted[s.from:s.to]
				// The model knows one stretch of time a grant.
				if !slices.ContainsFunc(list, (*grant).patchy) {
					ix.grouped = append(ix.grouped, grantGroup{k, list})
				}
			}
		}
	}
	return ix.grouped
}

func byLo(grants []*grant) []*grant {
	sorted := slices.Clone(grants)
	sortBy(sorted, grantBegin)
	return sorted
}

func grantBegin(g *grant) int64 { return g.lo }
func grantEnd(g *grant) int64   { return max(g.okT, g.heldTo()) }

// patchy says that the lease was alive at times that do not begin with its ok.
func (g *grant) patchy() bool {
	p := g.pieces()
	return len(p) > 1 || (len(p) == 1 && p[0].from != g.okT)
}

func (ix *index) grantWindows(accused map[*grant]bool, ask func([]*grant) question) []window {
	var out []window
	for _, g := range ix.groups() {
		out = append(out, window{
			key: g.lock.name, from: g.list[0].lo, build: func() question { return ask(g.list) },
			accused: slices.ContainsFunc(g.list, func(g *grant) bool { return accused[g] }),
		})
	}
	return out
}

func (ix *index) exclusionWindows() []window {
	accused := map[*grant]bool{}
	for _, e := range ix.findEarly() {
		accused[e.newer] = true
	}
	return ix.grantWindows(accused, func(g []*grant) question {
		if k := g[0].lock; !k.mutex() {
			return k.question(g)
		}
		return question{exact: len(earlyOf(g)) == 0, model: lockModel(true, false), calls: lockCalls(g, true)}
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
			model: lockModel(false, true), calls: lockCalls(g, false),
		}
	})
}

// registerWindows cuts each key's operations where none is under way. With a log
// the value at the cut is known, and the log decides what became of the operations
// of unknown outcome; without one only the beginning can be checked.
func (ix *index) registerWindows() []window {
	var out []window
	for _, k := range ix.keys {
		if ix.log != nil {
			out = append(out, ix.logWindows(k)...)
			continue
		}
		took := tookEffect(k.ops)
		for s := range firstPart(k.ops, took) {
			ops := k.ops[s.from:s.to]
			out = append(out, window{key: k.name, from: ops[0].invT, build: func() question {
				zones, orphans := clusters(ops)
				return question{
					exact: len(orphans) == 0 && len(crossings(zones)) == 0,
					model: registerModel(""), calls: registerCalls(ops, took),
				}
			}})
		}
	}
	return out
}

// firstPart is the longest beginning of ops that fits into a window and that
// nothing reaches out of.
func firstPart(ops []*op, took func(*op) bool) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		s := stretch{}
		for p := range partition(ops, func(o *op) int64 { return o.invT }, func(o *op) int64 { return o.reach(took) }) {
			if p.to > windowSize {
				break
			}
			s.to = p.to
		}
		if s.to > 1 {
			yield(s)
		}
	}
}

// tookEffect says of an operation that did not fail whether it took effect, as far
// as the reads tell.
func tookEffect(ops []*op) func(*op) bool {
	seen := map[string]bool{} // values of unknown outcome
	for _, o := range ops {
		if o.f != fRead && o.typ != tOK {
			seen[o.value] = false
		}
	}
	for _, o := range ops {
		if o.f == fRead && o.typ == tOK {
			if _, asked := seen[o.value]; asked {
				seen[o.value] = true
			}
		}
	}
	return func(o *op) bool { return o.typ == tOK || (o.typ != tFail && seen[o.value]) }
}

// reach is until when the operation may take effect.
func (o *op) reach(took func(*op) bool) int64 {
	if o.typ == tInfo && o.f != fRead && took(o) {
		return never
	}
	return o.endT
}

// logWindows completes the operations by the log. What Porcupine calls illegal
// must have shown in the log as well; the log may show more. Since the log keeps
// to real time (else the key is broken), what can be cut apart by time is cut
// apart in the log as well.
func (ix *index) logWindows(k *lock) []window {
	effects := ix.log.keys[k.name]
	if ix.log.broken[k.name] {
		return nil
	}
	begin := make([]int64, len(effects)) // of all from here on, the first invoke
	end := make([]int64, len(effects))   // when the operation was over
	soonest, first := never, never       // of what took effect later, the first answer and the first invoke
	for i, e := range slices.Backward(effects) {
		if e.op == nil || e.op.eff != e {
			return nil // whose it was is not known, or it was carried out twice: no model of one operation
		}
		first = min(first, e.op.invT)
		begin[i] = first
		if end[i] = soonest; e.op.typ == tOK {
			soonest = min(soonest, e.op.endT)
			end[i] = e.op.endT
		}
	}
	places := make([]int32, len(effects))
	for i := range places {
		places[i] = int32(i)
	}
	var out []window
	for _, s := range group(partition(places, func(i int32) int64 { return begin[i] }, func(i int32) int64 { return end[i] })) {
		out = append(out, window{key: k.name, from: begin[s.from], build: func() question {
			value := ""
			for _, e := range slices.Backward(effects[:s.from]) {
				if e.writes() {
					value = e.value
					break
				}
			}
			var ops []*op
			for i := s.from; i < s.to; i++ {
				o := *effects[i].op
				if o.typ != tOK {
					o.value = effects[i].value
				}
				o.typ, o.endT = tOK, end[i]
				ops = append(ops, &o)
			}
			took := func(*op) bool { return true }
			return question{exact: true, oneway: true, model: registerModel(value), calls: registerCalls(ops, took)}
		}})
	}
	return out
}
