package checker

// join says which operation each effect belongs to: a write by its value, which is
// unique in a run; a read by its grant, its position among the grant's reads and its time. If the clocks of the
// clients and the log are apart, the time tells nothing where the position is enough.
// The log is nil where there are no effects.
func join(all []*effect, locks []*lock, ids *names, apart bool) *registerLog {
	if len(all) == 0 {
		return nil
	}
	r := &registerLog{keys: map[string][]*effect{}}
	asks := 0
	for _, k := range locks {
		asks += len(k.ops)
	}
	asked := make([]*op, 0, asks) // under a grant that effects can name
	for _, k := range locks {
		for _, o := range k.ops {
			if o.grant != nil && !ids.ambiguous(o.grant.id) {
				asked = append(asked, o)
			}
		}
	}
	done := make([]*effect, 0, len(all)) // under such a grant
	for i := range all {
		e := all[i]
		if e.err() != "" {
			r.refused = append(r.refused, e)
		} else {
			list := r.keys[e.key()]
			e.pos = int32(len(list))
			r.keys[e.key()] = push(list, e)
			if e.writes() {
				r.writes++
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
	pairs := readMatcher{apart: apart}
	for i, j := 0, 0; i < len(done); {
		g := done[i].g
		effects := done[i:until(done, i, func(e *effect) bool { return e.g == g })]
		i += len(effects)
		for j < len(asked) && asked[j].grant.ok < g.ok {
			j++
		}
		ops := asked[j:until(asked, j, func(o *op) bool { return o.grant == g })]
		j += len(ops)
		pairs.match(ops, effects)
	}
	after := map[string]int64{} // by key: what comes next in the log was carried out after this
	for i := range all {
		e := all[i]
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
		switch first := e.op.eff; {
		case first != e && e.t >= first.t && first.t > e.op.invT && first.t < e.op.endT: // a second time, by a clock that fits
		case e.op.typ == tOK && (e.t < e.op.invT || e.t > e.op.endT):
			e.t = e.op.endT
		case e.t < e.op.invT:
			e.t = max(e.op.invT, after[e.key()])
		}
		after[e.key()] = max(after[e.key()], e.op.invT)
		if r.witness == nil || e.op.invT > r.witness.op.invT {
			r.witness = e
		}
		if !e.writes() && (r.lastRead == nil || e.op.invT > r.lastRead.op.invT) {
			r.lastRead = e
		}
	}
	return r
}

// match pairs one grant's operations with their effects.
func (m *readMatcher) match(ops []*op, effects []*effect) {
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
	m.matchReads(reads, readEffects)
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
			return nil // two writes of one value cannot be distinguished
		}
		return found
	}
	if len(ops) > 8 {
		byValue := map[string]*op{}
		for _, o := range ops {
			if o.f == fRead {
				continue
			}
			if _, ambiguous := byValue[o.value]; ambiguous {
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
