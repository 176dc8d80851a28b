package checker

import "slices"

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

// overwrites finds what was overwritten unseen in one lock's part of the log.
//
// Every write has a base: for an add, the value that its client had extended (it
// says so); for a write, what its grant last read or wrote. Bases make a tree, and
// the register's value always stands for one branch of it. A write whose base is
// not the value it replaces cuts off the updates from there down to where the two
// branches meet. A write whose grant never looked is blind: it claims nothing, and
// cuts off nothing. An add is lost if the final value's branch does not hold it
// (a set that was extended from an old copy can come back); a write is lost as
// soon as it is cut off.
func (f *registerFacts) overwrites(k *lock, effects []*effect) []overwrite {
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
	f.countLost(nodes)
	return overwritesOf(nodes)
}

// countLost counts the acknowledged adds, and those that are gone from the final value.
func (f *registerFacts) countLost(nodes []*node) {
	for _, n := range nodes {
		if n.e.f == fAdd && n.acknowledged() {
			f.acknowledged++
			if n.lost() {
				f.lostUpdates++
			}
		}
	}
}

func (n *node) acknowledged() bool { return n.e.op != nil && n.e.op.typ == tOK }

// lost says that what was cut off stayed so.
func (n *node) lost() bool { return n.cutBy != nil && (n.e.f != fAdd || !n.final) }

// overwrite is one write that overwrote acknowledged updates unseen.
type overwrite struct {
	victims []*effect
	by      *effect
	seen    *effect // what showed by's client what it wrote on; nil where nothing did
}

func overwritesOf(nodes []*node) []overwrite {
	victims := map[*node][]*effect{}
	for _, n := range nodes {
		if n.acknowledged() && n.lost() && n.cutBy.e.known() && (n.e.g == nil || !together(n.e.g, n.cutBy.e.g)) {
			victims[n.cutBy] = append(victims[n.cutBy], n.e)
		}
	}
	var out []overwrite
	for _, by := range nodes {
		if list := victims[by]; len(list) > 0 {
			out = append(out, overwrite{list, by.e, by.seenAt})
		}
	}
	return out
}
