package checker

import (
	"cmp"
	"slices"

	"github.com/picklock/picklock/history"
)

// register is the log of the protected resource, joined with the history.
type register struct {
	keys map[string][]*effect // accepted, in their order
	// refused operations, in their order.
	refused []*effect
	reads   bool // the log has reads at all
	// stray counts accepted effects that no operation of the history asked for:
	// nothing can be said of whose they are.
	stray int
	lost  int // acknowledged operations at the log's end without an effect
	// witness is the effect whose operation was invoked last: what was answered
	// before that was carried out before it, so a whole log holds it.
	witness *effect
	broken  map[string]bool // keys whose log the clients contradict
}

// effect is one line of the register's log.
type effect struct {
	seq   int64
	t     int64
	g     *grant
	op    *op // nil when stray
	value string
	rare  *effectRare // nil where there is nothing of the kind
	f     verb
	pos   int32 // among the accepted effects of its key
}

// effectRare is what most effects need not say: their grant says it, or it is empty.
type effectRare struct{ process, key, parent, err string }

func (e *effect) process() string {
	if e.g != nil {
		return e.g.process
	}
	return e.rare.process
}

func (e *effect) key() string {
	if e.g != nil {
		return e.g.lock.name
	}
	return e.rare.key
}

// parent is what an add extended, as the client had read it.
func (e *effect) parent() string {
	if e.rare == nil {
		return ""
	}
	return e.rare.parent
}

// err is why the register refused it; empty where it was accepted.
func (e *effect) err() string {
	if e.rare == nil {
		return ""
	}
	return e.rare.err
}

func (e *effect) writes() bool { return e.f != fRead }

// known says whose the effect is.
func (e *effect) known() bool { return e.g != nil && e.op != nil }

// addEffect takes the next line of the log. Whose it is can be said at once, by
// its grant; which operation asked for it, only when all events have been read.
func (ix *index) addEffect(h *history.Effect) {
	e := ix.logged.next()
	*e = effect{seq: h.Seq, t: h.Time, value: h.Value, f: verbOf(h.F)}
	if !ix.twice(h.Grant) {
		e.g = ix.find(h.Grant, ix.processes.get(h.Process))
	}
	if e.g != nil && (e.g.process != h.Process || e.g.lock.name != h.Key) {
		e.g = nil
	}
	if e.g == nil || h.Parent != "" || h.Error != "" {
		e.rare = &effectRare{h.Process, h.Key, h.Parent, h.Error}
	}
	ix.effects = push(ix.effects, e)
}

// readEffects says which operation each effect belongs to: a write by its value,
// which is unique in a run; a read by its grant, its place among the grant's
// reads and its time.
func (ix *index) readEffects() *register {
	if len(ix.effects) == 0 {
		return nil
	}
	r := &register{keys: map[string][]*effect{}, broken: map[string]bool{}}
	asks := 0
	for _, k := range ix.keys {
		asks += len(k.ops)
	}
	asked := make([]*op, 0, asks) // under a grant that effects can name
	for _, k := range ix.keys {
		for _, o := range k.ops {
			if o.grant != nil && !ix.twice(o.grant.id) {
				asked = append(asked, o)
			}
		}
	}
	done := make([]*effect, 0, len(ix.effects)) // under such a grant
	for i := range ix.effects {
		e := ix.effects[i]
		if e.err() != "" {
			r.refused = append(r.refused, e)
			ix.stats.Rejected++
		} else {
			list := r.keys[e.key()]
			e.pos = int32(len(list))
			r.keys[e.key()] = push(list, e)
			if e.writes() {
				ix.stats.Writes++
			} else {
				r.reads = true
			}
		}
		if e.g != nil {
			done = append(done, e)
		}
	}
	// Group both by grant; each is almost in that order already.
	sortBy(asked, func(o *op) int32 { return o.grant.ok })
	sortBy(done, func(e *effect) int32 { return e.g.ok })
	for i, j := 0, 0; i < len(done); {
		g := done[i].g
		effects := done[i:until(done, i, func(e *effect) bool { return e.g == g })]
		i += len(effects)
		for j < len(asked) && asked[j].grant.ok < g.ok {
			j++
		}
		ops := asked[j:until(asked, j, func(o *op) bool { return o.grant == g })]
		j += len(ops)
		match(ops, effects)
	}
	for i := range ix.effects {
		e := ix.effects[i]
		if e.err() != "" {
			continue
		}
		if e.op == nil {
			r.stray++
			continue
		}
		if e.op.eff == nil {
			e.op.eff = e
		}
		// A log without times, or with those of another clock, is still a log.
		switch {
		case e.op.typ == tOK && (e.t < e.op.invT || e.t > e.op.endT):
			e.t = e.op.endT
		case e.t < e.op.invT:
			e.t = e.op.invT
		}
		if r.witness == nil || e.op.invT > r.witness.op.invT {
			r.witness = e
		}
	}
	return r
}

// sortBy keeps equals in their order, and costs next to nothing where the list is
// in order already, as most are.
func sortBy[T any, K cmp.Ordered](list []T, key func(T) K) {
	by := func(a, b T) int { return cmp.Compare(key(a), key(b)) }
	if !slices.IsSortedFunc(list, by) {
		slices.SortStableFunc(list, by)
	}
}

// until is the end of the run that begins at i.
func until[T any](list []T, i int, same func(T) bool) int {
	for i < len(list) && same(list[i]) {
		i++
	}
	return i
}

// match pairs one grant's operations with their effects.
func match(ops []*op, effects []*effect) {
	var reads []*op
	var readEffects []*effect
	for _, e := range effects {
		if !e.writes() {
			readEffects = append(readEffects, e)
		}
	}
	for _, o := range ops {
		if o.f == fRead {
			reads = append(reads, o)
		}
	}
	matchReads(reads, readEffects)
	if len(reads) == len(ops) || len(readEffects) == len(effects) {
		return
	}
	// Most grants write once or twice; a map for those costs more than it saves.
	find := func(value string) (found *op) {
		n := 0
		for _, o := range ops {
			if o.f != fRead && o.value == value {
				found, n = o, n+1
			}
		}
		if n != 1 {
			return nil // two writes of one value cannot be told apart
		}
		return found
	}
	if len(ops) > 8 {
		byValue := map[string]*op{}
		for _, o := range ops {
			if o.f == fRead {
				continue
			}
			if _, twice := byValue[o.value]; twice {
				byValue[o.value] = nil
			} else {
				byValue[o.value] = o
			}
		}
		find = func(value string) *op { return byValue[value] }
	}
	for _, e := range effects {
		if e.writes() {
			if o := find(e.value); o != nil && o.f == e.f {
				e.op = o
			}
		}
	}
}

// matchReads pairs one grant's reads with their effects. A process reads one at a
// time, so both are in the same order; the times tell which reads of unknown
// outcome never arrived.
func matchReads(ops []*op, effects []*effect) {
	if len(ops) == 0 || len(effects) == 0 {
		return
	}
	taken := map[*op]bool{}
	fits := func(o *op, e *effect) bool {
		if taken[o] || o.invT > e.t {
			return false
		}
		switch o.typ {
		case tOK:
			return e.err() == "" && e.t <= o.endT
		case tFail:
			return e.err() != "" && e.t <= o.endT
		}
		return false
	}
	// Nothing before from is still to be taken in the first pass.
	from := 0
	var left []*effect
	for _, e := range effects {
		for from < len(ops) && (taken[ops[from]] || ops[from].typ == tInfo) {
			from++
		}
		i := slices.IndexFunc(ops[from:], func(o *op) bool { return fits(o, e) })
		if i < 0 {
			left = append(left, e)
			continue
		}
		e.op = ops[from+i]
		taken[e.op] = true
	}
	from = 0
	for _, e := range left {
		for from < len(ops) && taken[ops[from]] {
			from++
		}
		i := slices.IndexFunc(ops[from:], func(o *op) bool {
			return !taken[o] && (o.typ == tInfo || (o.typ == tOK) == (e.err() == ""))
		})
		if i >= 0 {
			e.op = ops[from+i]
			taken[e.op] = true
		}
	}
}
