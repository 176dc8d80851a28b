package hunt

import (
	"slices"

	"github.com/picklock/picklock/history"
)

// freesLate says that a delayed release may have freed another client's lock, and that the other counterexample shows a release that did,
// or may have. One that looks at the owner and deletes the key in two steps does so as well as one that does not look, and how it comes
// to be late does not matter.
func (w *Counterexample) freesLate(o *Counterexample) bool {
	return w.Cause == lateRelease && (o.Anomaly == "wrong-release" || o.Cause == lateRelease || o.Cause == "wrong-release")
}

// freesToo says that a third client's release was confirmed while the lease ran that ended too soon, that what the lock had promised the third client
// was over by then, and that the other counterexample proves that such a release frees the lock, whoever has it. This one's record does not prove it: a
// renewal without an answer may have kept the third client's lease alive.
func (w *Counterexample) freesToo(o *Counterexample) bool {
	older, newer, met := w.Evidence.victims()
	if o.Anomaly != "wrong-release" || o.once() || !w.early() || !met {
		return false
	}
	held, by := w.Evidence.grantOf(older), w.Evidence.grantOf(newer)
	if held == nil || by == nil {
		return false
	}
	ends, ended := map[string]int64{}, map[string]bool{} // of grants: when they end by what was promised; and that they had when they were released
	return slices.ContainsFunc(w.Evidence.Events, func(e history.Event) bool {
		switch {
		case e.Type == history.OK && (e.F == history.Acquire || e.F == history.Renew):
			ends[e.Grant] = max(ends[e.Grant], e.Since+e.Lease)
		case e.F == history.Release && e.Type == history.Invoke && e.Process != held.Process && e.Process != by.Process && e.Time >= held.Time:
			ended[e.Grant] = ends[e.Grant] > 0 && ends[e.Grant] <= e.Time
		case e.F == history.Release && e.Type == history.OK:
			return ended[e.Grant] && e.Time < by.Time
		}
		return false
	})
}

// neverFreed is the act after which a lock stayed taken, if nothing befell a server: the release of a holder that was gone or
// whose release was lost, or an acquire that was lost. Else it is "". If the lock itself had answered the holder that it no longer
// held it, whatever befell is one.
func (w *Counterexample) neverFreed() string {
	if w.Anomaly == "deadlock" && w.Cause == "lost-hold" {
		return w.Cause
	}
	act := map[string]string{"crashed-holder": history.Release, "lost-release": history.Release, "lost-acquire": history.Acquire}[w.Cause]
	if w.Anomaly != "deadlock" || !w.onClients() {
		return ""
	}
	return act
}

// missedNotice says that a client waited for a lock that was free, or was granted at once to the client that had it last: by which fault the notice was lost that it waits
// for, or why there was none, does not matter.
func (w *Counterexample) missedNotice() bool {
	return w.Anomaly == "deadlock" && (w.Cause == "lost-wake-up" || w.Cause == "own-again")
}

// lostTheSame says that after a release that was lost nobody gets the lock, and that of one of the two nothing befell a server: by which
// fault the release is lost does not matter then.
func (w *Counterexample) lostTheSame(o *Counterexample) bool {
	lost := func(w *Counterexample) bool { return w.Anomaly == "deadlock" && w.Cause == "lost-release" }
	onClients := func(w *Counterexample) bool { return w.onClients() && !w.once() }
	return lost(w) && lost(o) && (onClients(w) || onClients(o))
}
