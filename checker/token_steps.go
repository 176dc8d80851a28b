package checker

import (
	"cmp"
	"slices"
)

// steps lists the meetings in which a lock's tokens went back, for what is blamed for tokens that contradict the order of the
// grants: of a grant and the one that was certainly given next before it. A grant whose token is smaller only than one of
// longer ago came of the last such meeting in between; after has it, by its newer grant.
func (t *tokens) steps(locks []*lock) (list []meeting, after map[*grant]*grant) {
	after = map[*grant]*grant{}
	for _, k := range locks {
		pairs := slices.Concat(t.regressed[k], t.reused[k])
		if len(pairs) > 0 {
			list = append(list, stepsOf(k, pairs, after)...)
		}
		for _, p := range t.joint[k] {
			list = append(list, meeting{[]*grant{p.older}, p.newer, p.newer.okT})
		}
	}
	return list, after
}

func stepsOf(k *lock, pairs []grantPair, after map[*grant]*grant) []meeting {
	var list []meeting
	next := nextBefore(k.grants)
	stepped := map[*grant]bool{}
	for _, p := range pairs {
		if g := next[p.newer]; g != nil && g.token >= p.newer.token && !stepped[p.newer] {
			stepped[p.newer] = true
			list = append(list, meeting{[]*grant{g}, p.newer, p.newer.okT})
		}
	}
	steps := slices.SortedFunc(slices.Values(list), func(a, b meeting) int { return cmp.Compare(a.at, b.at) })
	for _, p := range pairs {
		if stepped[p.newer] || after[p.newer] != nil {
			continue
		}
		n, _ := slices.BinarySearchFunc(steps, p.newer.okT, func(m meeting, t int64) int { return cmp.Compare(m.at, t) })
		if n > 0 && steps[n-1].at > p.older.okT {
			after[p.newer] = steps[n-1].newer
			continue
		}
		list = append(list, meeting{[]*grant{p.older}, p.newer, p.newer.okT})
	}
	return list
}

// nextBefore has, for each grant with a token, the one with a token that was answered last of those that were certainly given before.
func nextBefore(grants []*grant) map[*grant]*grant {
	byOk := slices.DeleteFunc(slices.Clone(grants), func(g *grant) bool { return g.token == 0 })
	sortBy(byOk, func(g *grant) int64 { return g.okT })
	byLo := slices.Clone(byOk)
	sortBy(byLo, func(g *grant) int64 { return g.lo })
	out := map[*grant]*grant{}
	i := 0
	for _, g := range byLo {
		for i < len(byOk) && byOk[i].okT < g.lo {
			i++
		}
		if i > 0 {
			out[g] = byOk[i-1]
		}
	}
	return out
}
