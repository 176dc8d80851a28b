package checker

import "time"

// noNotice is the cause of what a client did after a lease that its library keeps by itself: the library promises to
// report a loss, it could count the lease as well as anybody, and it reported none.
const noNotice = "no-notice"

// leastGrace is how much later than the lease a notice may come, of the shortest leases.
const leastGrace = int64(250 * time.Millisecond)

// grace is how long after its lease a grant's library may report the loss: it looks at the lease now and then.
func (g *grant) grace() int64 { return max(g.lease/2, leastGrace) }

// unreported says that the lease of a grant was over for longer than a library needs to notice, and that the one that
// promises to report it had not by t, though its client ran all the time since the last promise. Messages that were lost
// or late are no excuse: how long the lease lasts, the library knows without them.
func (an *analysis) unreported(g *grant, t int64) bool {
	if !g.notifies || g.promised == 0 || satAdd(g.promised, g.grace()) > t || g.lostT <= t {
		return false
	}
	from, _ := lastPromise(g)
	return !an.faults.stoppedSince(g.process, from, t)
}

// stoppedSince says that some fault may have kept a client itself from running, or set its clock, at some time in
// [from, to], confirmed or not.
func (l *faultLog) stoppedSince(process string, from, to int64) bool {
	return l.anySince(from, to, func(f *fault) bool {
		return baseName(f.name) == Stall || len(f.nodes) == 0 || f.hits(process) && !f.onLinks() && !f.losesPackets()
	})
}

// noNoticeWords says what was to be reported.
const noNoticeWords = "; its library had promised to report the loss, and had not, though nothing kept the client itself from running"
