package checker

import (
	"slices"

	"github.com/picklock/picklock/checker/verdict"
)

// wrote is what is blamed for a write of an older grant, by what the write's cause is.
func (s *suspects) wrote(cause string, old, young *grant, w touch) blamed {
	switch {
	case cause == noNotice && old.hasNoLease():
		return s.overlapped(old, young)
	case cause == "lease-outlived", cause == noNotice:
		return s.outlived(old, w.t)
	}
	switch cause {
	case notRenewed:
		return s.tripped(old)
	case "delayed":
		return s.held(old, interval{w.op.invT, w.t}, w.t-old.promised, false)
	case "after-release":
		return s.held(old, interval{w.op.invT, w.t}, w.t-old.release.invT, false)
	case "given-back": // by its client alone
		return blamed{}
	case "never-held":
		return s.toldLate(old)
	case "renewed-late":
		return s.touched(&stake{service: interval{old.lo, w.t}, parties: []party{{old.process, interval{old.lo, w.t}}}})
	case "ignored-loss":
		// The client knew. What kept it until its lease was over is still what it takes.
		if old.promised == 0 || old.promised > old.lostT {
			return blamed{}
		}
		return s.outlived(old, old.lostT)
	}
	return s.overlapped(old, young)
}

// believed is what is blamed for two clients that believed at once that they held the
// lock; late is the one whose lease was over.
func (s *suspects) believed(cause string, late, older, newer *grant) blamed {
	switch {
	case cause == noNotice && late.hasNoLease():
		return s.overlapped(older, newer)
	case cause == "lease-outlived", cause == noNotice:
		return s.outlived(late, newer.okT)
	}
	switch cause {
	case notRenewed:
		return s.tripped(late)
	case "never-held":
		return s.toldLate(late)
	}
	return s.overlapped(older, newer)
}

// toldLate is what is blamed for a grant whose lease was over when its client learnt of it.
func (s *suspects) toldLate(g *grant) blamed {
	return s.held(g, interval{min(g.since, g.okT), g.okT}, g.okT-g.promised, true)
}

// released is what is blamed for a release by a client that no longer had the lock: what
// kept it until its lease was over.
func (s *suspects) released(w *wrongRelease) blamed {
	switch at := w.release.invT; {
	case w.set != nil, w.by.promised == 0:
		return s.overlapped(w.by, w.victim)
	case w.by.promised <= at:
		return s.outlived(w.by, at)
	default: // it was sent in time
		return s.held(w.by, interval{at, w.next.okT}, w.next.okT-w.by.promised, true)
	}
}

// leftBehind is what is blamed for a lock that nobody holds and nobody gets since a time,
// when g had been the last grant: a client that was killed, or a server that failed, since
// then.
func (s *suspects) leftBehind(g *grant, since int64) blamed {
	var b blamed
	found := s.faults.failed.latest(nil, g.lo, since)
	for _, f := range slices.Backward(found) {
		p := part{fault: f, side: verdict.OnServer}
		if f.clients > 0 {
			p.side = verdict.OnClient
		}
		b.parts = append(b.parts, p)
	}
	if n := len(b.parts); n > 0 {
		b.suspect = &b.parts[n-1]
	}
	return b
}

// unanswered is what is blamed for an acquire whose outcome nobody knows: a fault that kept its answer from its client, one
// of the service before one of the client.
func (s *suspects) unanswered(o *op) blamed {
	asked := interval{o.invT, o.endT}
	b := blamed{parts: s.faults.parts(&stake{lock: true, service: asked, parties: []party{{o.process, asked}}})}
	b.parts = slices.DeleteFunc(b.parts, func(p part) bool { return baseName(p.name) == "clock" })
	for i, p := range slices.Backward(b.parts) {
		if b.suspect == nil || b.suspect.side != verdict.OnServer && p.side == verdict.OnServer {
			b.suspect = &b.parts[i]
		}
	}
	return b
}

// resourceStake is what hangs on what processes did to the resource.
func resourceStake(from, to int64, processes []string) *stake {
	s := &stake{resource: interval{from, to}}
	for _, p := range processes {
		s.parties = append(s.parties, party{p, interval{from, to}})
	}
	return s
}
