package checker

import (
	"cmp"
	"fmt"
	"slices"
)

// findLostUpdates finds acknowledged updates that a client overwrote without
// having seen them.
//
// Every write has a base: for an add, the value that its client had extended (it
// says so); for a write, what its grant last read or wrote. Bases make a tree, and
// the register's value always stands for one branch of it. A write whose base is
// not the value it replaces cuts off the updates from there down to where the two
// branches meet. A write whose grant never looked is blind: it claims nothing, and
// cuts off nothing. An add is lost if the final value's branch does not hold it
// (a set that was extended from an old copy can come back); a write is lost as
// soon as it is cut off. One anomaly tells of all that one write cut off.
func findLostUpdates(ix *index) []Anomaly {
	if ix.log == nil {
		return ix.lostWithoutLog()
	}
	var out []Anomaly
	for _, k := range ix.keys {
		out = append(out, ix.lostInLog(k, ix.log.keys[k.name])...)
	}
	return out
}

// node is one accepted write or add in the tree of bases.
type node struct {
	e      *effect
	base   *node
	seenAt *effect // what showed the base to its client; nil where nothing did
	cutBy  *node   // the first write that overwrote it unseen
	up     *node   // of a node that was cut: an ancestor, all between having been cut
	final  bool
}

// uncut finds the nearest of n and its ancestors that was never cut.
func (n *node) uncut() *node {
	top := n
	for top != nil && top.cutBy != nil {
		top = top.up
	}
	for n != top {
		n, n.up = n.up, top
	}
	return top
}

func (ix *index) lostInLog(k *lock, effects []*effect) []Anomaly {
	byValue := map[string]*node{}
	branch := make([]*node, len(k.grants)) // that a grant last saw
	seenAt := make([]*effect, len(k.grants))
	adds := slices.ContainsFunc(effects, func(e *effect) bool { return e.f == fAdd })
	var made slab[node]
	var head *node
	var nodes []*node
	// All nodes that were never cut lie on head's branch; this is them, so that
	// cutting is popping and all of it stays near-linear.
	var live []*node
	for _, e := range effects {
		if !e.writes() {
			if e.known() {
				branch[e.g.n], seenAt[e.g.n] = head, e
			}
			continue
		}
		n := made.next()
		*n = node{e: e, base: head}
		if e.known() {
			n.seenAt = seenAt[e.g.n]
		}
		switch {
		case e.f == fAdd && e.parent() == "":
			n.base = nil
		case e.f == fAdd:
			if b := byValue[e.parent()]; b != nil {
				n.base = b
			}
		case n.seenAt != nil:
			n.base = branch[e.g.n]
		}
		for keep := n.base.uncut(); len(live) > 0 && live[len(live)-1] != keep; live = live[:len(live)-1] {
			cut := live[len(live)-1]
			cut.cutBy, cut.up = n, cut.base
		}
		live = push(live, n)
		head = n
		nodes = push(nodes, n)
		if adds {
			byValue[e.value] = n
		}
		if e.known() {
			branch[e.g.n], seenAt[e.g.n] = n, e
		}
	}
	for n := head; n != nil; n = n.base {
		n.final = true
	}
	var out []Anomaly
	victims := map[*node][]*node{}
	for _, n := range nodes {
		if n.e.op == nil || n.e.op.typ != tOK {
			continue
		}
		if n.e.f == fAdd {
			ix.stats.Acknowledged++
			if n.final || n.cutBy == nil {
				continue
			}
			ix.stats.LostUpdates++
		}
		if n.cutBy != nil && n.cutBy.e.known() {
			victims[n.cutBy] = append(victims[n.cutBy], n)
		}
	}
	for _, by := range nodes {
		if list := victims[by]; len(list) > 0 {
			out = append(out, ix.lostUpdate(list, by.e, by.seenAt))
		}
	}
	return out
}

// lostUpdate tells of all that one write overwrote unseen, and proves it of the
// first: with another victim in its place the proof is the same.
func (ix *index) lostUpdate(victims []*node, by, seen *effect) Anomaly {
	victim := victims[0].e
	a := Anomaly{
		Name: "lost-update", Property: Register, Key: victim.key(), Time: by.t,
		Effects: []int64{victim.seq, by.seq},
		Sizes:   map[string]int64{"after": by.t - victim.t},
	}
	places := []int32{victim.op.inv, victim.op.comp, by.op.inv}
	from := min(victim.t, victim.op.invT, by.op.invT)
	basis := "had not seen it"
	if seen != nil && seen.seq < victim.seq {
		basis = fmt.Sprintf("had last looked at %s", clock(seen.t))
		if by.f != fAdd { // an add names its base itself
			a.Effects = append(a.Effects, seen.seq)
		}
		from = min(from, seen.t)
		a.Sizes["blind"] = by.t - seen.t
		if seen.op != nil && by.f != fAdd {
			places = append(places, seen.op.inv)
		}
	}
	var late string
	for _, e := range []*effect{victim, by} {
		if e.g == nil {
			continue
		}
		places = append(places, e.g.ok)
		if !slices.Contains(a.Grants, e.g.id) {
			a.Grants = append(a.Grants, e.g.id)
		}
	}
	if by.g != nil && victim.g != nil {
		switch {
		case by.g != victim.g && ix.certainlyOlder(by.g, victim.g):
			a.Cause = staleCause(by.g, victim.g, touch{by.g, by.op, by, by.t})
			late = by.g.leaseWords("its", by.t)
		case by.g != victim.g && ix.certainlyOlder(victim.g, by.g):
			// The older grant wrote between the newer one's look and its write.
			a.Cause = staleCause(victim.g, by.g, touch{victim.g, victim.op, victim, victim.t})
		}
	}
	a.Events = ix.at(places...)
	a.Explanation = fmt.Sprintf("the update of %s (%q, acknowledged) at %s was overwritten %s later by %s%s, which %s%s",
		victim.process(), victim.value, clock(victim.t), dur(by.t-victim.t), by.process(), with(by.g), basis, late)
	for _, v := range victims {
		a.Victims = append(a.Victims, v.e.seq)
	}
	switch n := len(victims) - 1; {
	case n == 1:
		a.Explanation += "; another update was overwritten with it"
	case n > 1:
		a.Explanation += fmt.Sprintf("; %d more updates were overwritten with it", n)
	}
	return ix.finish(a, from, victim.process(), by.process())
}

func with(g *grant) string {
	if g == nil {
		return ""
	}
	return g.with()
}

// lostWithoutLog accuses only what real time proves: another client's write was
// sent after the critical section's last look was answered, and acknowledged
// before the section's own write was sent.
func (ix *index) lostWithoutLog() []Anomaly {
	var out []Anomaly
	for _, k := range ix.keys {
		var writes []*op // ok, by invoke
		for _, o := range k.ops {
			if o.f != fRead && o.typ == tOK {
				writes = append(writes, o)
			}
		}
		soonest := make([]*op, len(writes)+1) // of writes[i:], the first to be answered
		for i := len(writes) - 1; i >= 0; i-- {
			soonest[i] = writes[i]
			if s := soonest[i+1]; s != nil && s.endT < writes[i].endT {
				soonest[i] = s
			}
		}
		lost := map[*op]bool{}
		look := map[*grant]*op{}
		for _, o := range k.ops {
			if o.typ != tOK || o.grant == nil {
				continue
			}
			seen := look[o.grant]
			look[o.grant] = o
			if seen == nil || o.f == fRead || seen.endT > o.invT {
				continue
			}
			i, _ := slices.BinarySearchFunc(writes, seen.endT+1, func(w *op, t int64) int { return cmp.Compare(w.invT, t) })
			v := soonest[i]
			if v == nil || v.endT >= o.invT || v.grant == nil || v.grant == o.grant || lost[v] {
				continue
			}
			lost[v] = true
			a := Anomaly{
				Name: "lost-update", Property: Register, Key: k.name, Time: o.endT,
				Events: ix.at(o.grant.ok, v.grant.ok, seen.inv, seen.comp, v.inv, v.comp, o.inv, o.comp),
				Grants: []string{o.grant.id, v.grant.id}, Sizes: map[string]int64{"after": o.endT - v.endT, "blind": o.endT - seen.endT},
				Explanation: fmt.Sprintf("the update of %s (%q, acknowledged) at %s was overwritten %s later by %s%s, which had last looked at %s",
					v.process, v.value, clock(v.endT), dur(o.endT-v.endT), o.process, o.grant.with(), clock(seen.endT)),
			}
			out = append(out, ix.finish(a, seen.invT, v.process, o.process))
		}
	}
	return out
}
