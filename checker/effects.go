package checker

import (
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
	*history.Effect
	g   *grant
	op  *op // nil when stray
	t   int64
	pos int // among the accepted effects of its key
}

func (e *effect) writes() bool { return e.F != history.Read }

// known says whose the effect is.
func (e *effect) known() bool { return e.g != nil && e.op != nil }

type written struct{ grant, value string }

// readEffects says which operation each effect belongs to: a write by its value,
// which is unique in a run; a read by its grant, its place among the grant's
// reads and its time.
func (ix *index) readEffects() *register {
	if len(ix.effects) == 0 {
		return nil
	}
	r := &register{keys: map[string][]*effect{}, broken: map[string]bool{}}
	writes := map[written]*op{}
	twice := map[written]bool{}
	reads := map[*grant][]*op{}
	for _, k := range ix.keys {
		for _, o := range k.ops {
			switch {
			case o.grant == nil || ix.dup[o.grant.id]:
			case o.f == history.Read:
				reads[o.grant] = append(reads[o.grant], o)
			default:
				w := written{o.grant.id, o.value}
				twice[w] = writes[w] != nil
				writes[w] = o
			}
		}
	}
	readEffects := map[*grant][]*effect{}
	for i := range ix.effects {
		e := &effect{Effect: &ix.effects[i], t: ix.effects[i].Time}
		if !ix.dup[e.Grant] {
			e.g = ix.grants[e.Grant]
		}
		if e.g != nil && (e.g.process != e.Process || e.g.key != e.Key) {
			e.g = nil
		}
		if e.Error != "" {
			r.refused = append(r.refused, e)
			ix.stats.Rejected++
		} else {
			e.pos = len(r.keys[e.Key])
			r.keys[e.Key] = append(r.keys[e.Key], e)
			if e.writes() {
				ix.stats.Writes++
			} else {
				r.reads = true
			}
		}
		if e.g == nil {
			continue
		}
		if !e.writes() {
			readEffects[e.g] = append(readEffects[e.g], e)
			continue
		}
		if w := (written{e.Grant, e.Value}); !twice[w] {
			if o := writes[w]; o != nil && o.f == e.F {
				e.op = o
			}
		}
	}
	for g, list := range readEffects {
		matchReads(reads[g], list)
	}
	for _, list := range r.keys {
		for _, e := range list {
			if e.op == nil {
				r.stray++
				continue
			}
			// A log without times, or with those of another clock, is still a log.
			switch {
			case e.op.typ == history.OK && (e.t < e.op.invT || e.t > e.op.endT):
				e.t = e.op.endT
			case e.t < e.op.invT:
				e.t = e.op.invT
			}
			if r.witness == nil || e.op.invT > r.witness.op.invT {
				r.witness = e
			}
		}
	}
	return r
}

// matchReads pairs one grant's reads with their effects. A process reads one at a
// time, so both are in the same order; the times tell which reads of unknown
// outcome never arrived.
func matchReads(ops []*op, effects []*effect) {
	taken := map[*op]bool{}
	fits := func(o *op, e *effect) bool {
		if taken[o] || o.invT > e.t {
			return false
		}
		switch o.typ {
		case history.OK:
			return e.Error == "" && e.t <= o.endT
		case history.Fail:
			return e.Error != "" && e.t <= o.endT
		}
		return false
	}
	var left []*effect
	for _, e := range effects {
		i := slices.IndexFunc(ops, func(o *op) bool { return fits(o, e) })
		if i < 0 {
			left = append(left, e)
			continue
		}
		e.op = ops[i]
		taken[ops[i]] = true
	}
	for _, e := range left {
		i := slices.IndexFunc(ops, func(o *op) bool {
			return !taken[o] && (o.typ == history.Info || (o.typ == history.OK) == (e.Error == ""))
		})
		if i >= 0 {
			e.op = ops[i]
			taken[ops[i]] = true
		}
	}
}
