package checker

import "time"

// noNotice is the cause of what a client did after a lease that its library keeps by itself: the library promises to
// report a loss, it could count the lease as well as anybody, and it reported none.
const noNotice = "no-notice"

// leastGrace is how much later than the lease a notice may come, of the shortest leases.
const leastGrace = int64(250 * time.Millisecond)

// lookEvery is how often a library may look whose leases are a second or longer: etcd's client does so once a second
// (https://pkg.go.dev/go.etcd.io/etcd/client/v3, the loop over its deadlines).
const lookEvery = int64(time.Second)

// grace is how long after its lease a grant's library may report the loss: it looks at the lease now and then. A lease of a second may be
// a little shorter here, by what the machine's clock was set.
func (g *grant) grace() int64 {
	if g.lease < lookEvery-lookEvery/10 {
		return max(g.lease/2, leastGrace)
	}
	return max(g.lease/2, lookEvery+leastGrace)
}

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

// slowNotice is how much later than its session's end a loss is reported by a library that looks now and then.
const slowNotice = int64(500 * time.Millisecond)

// unreportedSession says the same of a grant without a lease, which ends with its client's session. The next grant shows that the
// session is over, and bounds its length: clients send three heartbeats a session, so that it lasted at most one and a half times as
// long as from the older acquire to the next grant. A library that counts by its own clock knows of the end two thirds of a session
// later at most: Curator waits for two thirds without an answer, and then for a whole session. Only cuts and pauses of the client may have been
// on it. By another fault on it, or on the service, the service may have ended the session sooner, or the last heartbeat's answer may have come later. A client that was paused has as long from
// when it goes on, and a second more: ZooKeeper's own waits for up to a second before it connects again.
func (an *analysis) unreportedSession(old, young *grant, t int64) bool {
	lasted := young.okT - old.lo
	if !old.hasNoLease() || !old.notifies || old.lostT <= t || satAdd(young.okT, satAdd(lasted, slowNotice)) > t {
		return false
	}
	cutOff := func(f *fault) bool {
		if f.clients == 0 || !f.hits(old.process) || f.onResource() {
			return false
		}
		switch baseName(f.name) {
		case "partition":
			return true
		case "pause":
			return f.ended && f.clients == len(f.nodes) && satAdd(f.end, satAdd(lasted, slowNotice+lookEvery)) <= t
		}
		return false
	}
	other := func(f *fault) bool { return !cutOff(f) && f.mayStop(old.process) }
	return an.faults.anySince(old.lo, young.okT, cutOff) && !an.faults.anySince(old.lo, t, other)
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
