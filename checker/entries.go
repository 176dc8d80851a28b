package checker

import (
	"cmp"
	"slices"
)

// inHold has what the register carried out under an entry count as done under the first grant of its hold: to the
// register a hold is one critical section, however its entries are nested.
func inHold(locks []*lock, log *registerLog) {
	if log == nil {
		return
	}
	for _, k := range locks {
		if !k.nested {
			continue
		}
		for _, e := range log.keys[k.name] {
			e.g = e.g.ofHold()
		}
	}
}

// entered notes an entry, in the order of grants.
func (k *lock) entered(g *grant) {
	if k.entries == nil {
		k.entries = map[*grant][]*grant{}
	}
	k.entries[g.ofHold()] = append(k.entries[g.ofHold()], g)
}

// enteredWithin says that the hold of a grant may have been entered once more after one instant, and before another. A
// lock may take an entry of a hold that was over for the first one of another.
func (g *grant) enteredWithin(after, before int64) bool {
	list := g.lock.entries[g.ofHold()]
	i, _ := slices.BinarySearchFunc(list, after+1, func(e *grant, t int64) int { return cmp.Compare(e.okT, t) })
	return i < len(list) && list[i].lo < before
}

// inHoldOf lists the grants of a grant's hold: the first one, and the last of its entries. A bound keeps a hostile history
// from making this quadratic.
func (k *lock) inHoldOf(g *grant) []*grant {
	first := g.ofHold()
	list := k.entries[first]
	if len(list) == 0 {
		return []*grant{g}
	}
	return append([]*grant{first}, list[max(0, len(list)-maxBetween):]...)
}

// goesOnBeside says of an entry, or of the grant that a hold began with, that another one of the hold was not given back: the lease that it began anew
// is the hold's, and goes on.
func (g *grant) goesOnBeside() bool {
	return g.lock.nested && slices.ContainsFunc(g.lock.inHoldOf(g), func(e *grant) bool { return e != g && !e.releasedBy(never) })
}

// ofHold is the first grant of the hold that a grant is an entry of; itself if it is none.
func (g *grant) ofHold() *grant {
	if g == nil || g.first == nil {
		return g
	}
	return g.first
}

// entryEvidence is the acquire's ok of the entry under which something was done; -1 if it was under no entry.
func (o *op) entryEvidence() int32 {
	if o == nil || o.grant == nil || o.grant.first == nil {
		return -1
	}
	return o.grant.ok
}
