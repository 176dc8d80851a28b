package checker

// mayHold is when a grant can have had the lock.
func (g *grant) mayHold() interval { return interval{g.lo, g.heldUntil()} }

// heldUntil is the latest instant at which a grant can still have had the lock. A hold without a lease
// need not end if its client asked for the lock again and had never given it back.
func (g *grant) heldUntil() int64 {
	end := g.believedEnd
	if g.kept && g.watchdog && g.anew == nil { // its library renews it until it is given back
		if g.releasedBy(never) {
			return max(end, g.release.endT)
		}
		return never
	}
	if g.kept && g.lease == 0 && g.renewed == nil {
		if g.anew == nil || g.mode == shared { // each time that it shares the lock counts
			return never
		}
		end = max(end, g.anew.okT)
	}
	if until, ok := g.notSharedUntil(); ok && g.lease == 0 && g.renewed == nil {
		return max(end, until)
	}
	longest := g.lease
	switch {
	case g.lease > 0:
		end = max(end, satAdd(g.okT, g.lease))
	case g.mode == nested && g.first != nil && g.first.lease > 0: // it may begin the hold's lease anew, and does not say for how long
		end = max(end, satAdd(g.okT, g.lock.longest))
	}
	for _, r := range g.renewals() {
		if longest = max(longest, r.lease); r.lease > 0 {
			end = max(end, satAdd(r.okT, r.lease))
		} else if g.lock.longest > 0 { // it does not say for how long
			end = max(end, satAdd(r.okT, g.lock.longest))
		}
	}
	if g.unsure != nil && len(*g.unsure) > 0 { // a renewal may have been carried out whose answer never came
		longest = max(longest, g.lock.longest)
	} else if !g.watchdog {
		longest = 0
	}
	if longest > 0 {
		end = max(end, satAdd(g.believedEnd, longest))
	}
	if g.releasedBy(never) && !g.lingers && !g.goesOnBeside() {
		end = g.release.endT
	}
	return max(end, g.okT)
}

// mostRestarts bounds how often a lease is taken to have begun anew.
const mostRestarts = 8

// restarted is until when a grant that was not given back can have had the lock, if a fault of the service was on in that time: a server that starts
// again, and one that takes over, may begin its lease anew, as etcd's do.
func (an *analysis) restarted(g *grant, s interval) interval {
	if g.lock.longest == 0 || g.releasedBy(never) {
		return s
	}
	for range mostRestarts {
		end := s.to
		for _, f := range an.faults.service.latest(nil, s.from, s.to) {
			if f.concernsOthers() && baseName(f.name) != "clock" {
				end = max(end, satAdd(f.end, g.lock.longest))
			}
		}
		if end == s.to {
			break
		}
		s.to = end
	}
	return s
}
