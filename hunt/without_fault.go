package hunt

// lateRelease is the cause of an early grant during which a delayed release may have been carried out.
const lateRelease = "late-release"

// withoutFault says that this counterexample, with no fault injected, shows a lock that does by itself what the other one shows: that is
// then no evidence of a second bug, whatever was on or under way.
func (w *Counterexample) withoutFault(o *Counterexample) bool {
	switch {
	case w.Faults > 0:
		return false
	case w.Anomaly == "deadlock":
		return w.Cause == "" && !w.once() && o.Anomaly == "deadlock" && (o.Cause == "" || o.once())
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
	return o.Anomaly == "granted-early" && o.Cause == lateRelease
}
