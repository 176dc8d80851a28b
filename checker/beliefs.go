package checker

import "github.com/picklock/picklock/history"

// endHold ends what the process believed of the lock before it asks for it anew, or is
// granted it anew. An entry of a hold ends nothing, unless it is of a process that was killed meanwhile.
func (r *reader) endHold(p *proc, k *lock, e *history.Event, t int64) {
	if e.Mode == history.Nested {
		for g := p.latest.get(k.name); g != nil && g.killed() && g.askedT > t; g = g.under {
			g.askedT = t
		}
		return
	}
	if g := p.latest.get(k.name); e.Mode == history.Downgrade && g != nil && g.release != nil && g.release.downgrades {
		return // which has ended it
	}
	if k.nested { // whatever was entered
		for g := p.latest.get(k.name); g != nil; {
			r.keepOn(g, t)
			g, g.under = g.under, nil
		}
	}
	if g := p.latest.get(k.name); g != nil {
		g.askedAgain = true
		r.keepOn(g, t)
	}
}

// keepOn ends what the client of a grant believes that asks for the lock again.
func (r *reader) keepOn(g *grant, t int64) {
	g.kept = g.kept || g.believedEnd == never
	if !g.kept && g.killed() {
		g.askedT = min(g.askedT, t)
	}
	r.endBelief(g, t)
}

// killed says that its client was killed while it had the grant.
func (g *grant) killed() bool { return g.believedEnd != never && g.release == nil && g.lost < 0 }

// endBelief ends what the client of a grant believes.
func (r *reader) endBelief(g *grant, t int64) {
	if g.believedEnd != never {
		return
	}
	g.believedEnd = t
	g.lock.now.held--
	if g.mode != shared {
		g.lock.now.exclusive--
	}
	p := r.names.Process(g.process)
	if i, last := int(g.heldAt), len(p.held)-1; i <= last && p.held[i] == g {
		p.held[i] = p.held[last]
		p.held[i].heldAt = g.heldAt
		p.held[last] = nil
		p.held = p.held[:last]
	}
}
