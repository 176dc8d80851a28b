package hunt

// lateRelease is the cause of an early grant during which a delayed release may have been carried out.
const lateRelease = "late-release"

// ownRelease is the cause of an early grant before which the holder had released an earlier grant, without an answer.
const ownRelease = "own-release"

// freesOwn says that an earlier release of its own may have freed a client's grant. How the answer to that was lost does not matter.
func (w *Counterexample) freesOwn() bool {
	return w.Anomaly == "granted-early" && w.Cause == ownRelease
}

// downgradeGap is the cause of two writers' grants of which one goes on to read.
const downgradeGap = "downgrade-gap"

// losesInBetween says that a writer that goes on to read has not got the lock in between. What makes that longer does not matter.
func (w *Counterexample) losesInBetween() bool { return w.Cause == downgradeGap }

// comesOfOverlap says that it is what two clients did to the resource that had the lock at once: how they came to that shows in another
// counterexample.
func (s Signature) comesOfOverlap() bool {
	return (s.Anomaly == "stale-write" || s.Anomaly == "lost-update") && s.Cause == "granted-early"
}

// withoutFault says that this counterexample, with no fault injected, shows a lock that does by itself what the other one shows: that is
// then no evidence of a second bug, whatever was on or under way.
func (w *Counterexample) withoutFault(o *Counterexample) bool {
	switch {
	case w.Faults > 0:
		return false
	case o.comesOfOverlap():
		return w.overlaps() && w.Steady()
	case w.Anomaly == "deadlock":
		// If the lock is granted to none but the client that had it last, other clients may be left with no cause at all.
		named := w.Cause == "own-again"
		return (w.Cause == "" || named) && !w.once() && o.Anomaly == "deadlock" && (o.Cause == "" || named && o.Cause == w.Cause || o.once())
	case w.Anomaly == "double-grant" && w.Cause == "":
		return w.Steady() && o.Anomaly == "double-grant" && o.Cause == lateRelease
	case !w.early() || !w.Steady():
		return false
	case o.Anomaly == "revoked-early":
		return o.Cause == "" || o.Cause == "noticed" // nothing more is known of it than that a lease ended early
	case o.Anomaly == "wrong-release":
		return !o.Steady()
	}
	// That a delayed release freed the lock is only one explanation of a grant that came too soon.
	return o.Anomaly == "granted-early" && (o.Cause == lateRelease || o.Cause == ownRelease)
}
