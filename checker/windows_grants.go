package checker

import "slices"

// grantGroup is a window's worth of one lock's grants.
type grantGroup struct {
	lock *lock
	list []*grant
}

// groupsOf parts all grants, for all questions about them.
func groupsOf(locks []*lock) []grantGroup {
	var out []grantGroup
	for _, k := range locks {
		sorted := byLo(k.grants)
		for _, s := range group(partition(sorted, grantBegin, grantEnd)) {
			list := sorted[s.from:s.to]
			// The model knows one interval a grant.
			if !slices.ContainsFunc(list, (*grant).patchy) {
				out = append(out, grantGroup{k, list})
			}
		}
	}
	return out
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
	p := g.intervals()
	return len(p) > 1 || (len(p) == 1 && p[0].from != g.okT)
}

func grantWindows(groups []grantGroup, accused map[*grant]bool, ask func([]*grant) porcupineCase) []window {
	var out []window
	for _, g := range groups {
		out = append(out, window{
			key: g.lock.name, from: g.list[0].lo, build: func() porcupineCase { return ask(g.list) },
			accused: slices.ContainsFunc(g.list, func(g *grant) bool { return accused[g] }),
		})
	}
	return out
}

func exclusionWindows(an *analysis, groups []grantGroup) []window {
	return grantWindows(groups, an.overlaps.earlyGrants(), func(g []*grant) porcupineCase {
		if k := g[0].lock; !k.mutex() {
			return k.porcupineCase(g)
		}
		return porcupineCase{exact: len((&kind{}).earlyOf(g)) == 0, model: lockModel(true, false), calls: lockCalls(g, true)}
	})
}

func tokenWindows(an *analysis, groups []grantGroup) []window {
	accused := map[*grant]bool{}
	for _, k := range an.locks {
		for _, p := range slices.Concat(an.tokens.regressed[k], an.tokens.reused[k]) {
			accused[p.newer] = true
		}
	}
	return grantWindows(groups, accused, func(g []*grant) porcupineCase {
		g = slices.DeleteFunc(slices.Clone(g), func(g *grant) bool { return g.token == 0 })
		return porcupineCase{
			exact: len(regressions(g)) == 0 && len(reuses(g)) == 0,
			model: lockModel(false, true), calls: lockCalls(g, false),
		}
	})
}
