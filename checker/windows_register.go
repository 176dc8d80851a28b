package checker

import (
	"iter"
	"slices"
)

// registerWindows cuts each key's operations where none is under way. With a log
// the value at the cut is known, and the log decides what became of the operations
// of unknown outcome; without one only the beginning can be checked.
func registerWindows(an *analysis, _ []grantGroup) []window {
	var out []window
	for _, k := range an.locks {
		if an.log != nil {
			out = append(out, logWindows(k, an.log.keys[k.name], an.register.contradicted[k])...)
			continue
		}
		took := tookEffect(k.ops)
		for s := range firstPart(k.ops, took) {
			ops := k.ops[s.from:s.to]
			out = append(out, window{key: k.name, from: ops[0].invT, build: func() porcupineCase {
				zones, orphans := clusters(ops)
				first := heldAtFirst(ops)
				return porcupineCase{
					exact: len(first.unexplained(orphans)) == 0 && len(crossings(zones)) == 0,
					model: registerModel(first.value), calls: registerCalls(ops, took),
				}
			}})
		}
	}
	return out
}

// firstPart is the longest beginning of ops that fits into a window and that
// nothing reaches out of.
func firstPart(ops []*op, took func(*op) bool) iter.Seq[indexRange] {
	return func(yield func(indexRange) bool) {
		s := indexRange{}
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
// as the reads show.
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
func logWindows(k *lock, effects []*effect, contradicted []contradiction) []window {
	if len(contradicted) > 0 {
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
	refs := make([]int32, len(effects))
	for i := range refs {
		refs[i] = int32(i)
	}
	var out []window
	for _, s := range group(partition(refs, func(i int32) int64 { return begin[i] }, func(i int32) int64 { return end[i] })) {
		out = append(out, window{key: k.name, from: begin[s.from], build: func() porcupineCase {
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
			return porcupineCase{exact: true, illegalOnly: true, model: registerModel(value), calls: registerCalls(ops, took)}
		}})
	}
	return out
}
