package hunt

import (
	"slices"
	"time"

	"github.com/picklock/picklock/history"
)

// unhearing are the faults by which a client's request, or its answer, is lost or late, as a history names them.
var unhearing = []string{"hold", "withhold", "slow", "reset", "partition", "loss", "flap"}

// blocking are those during which no answer comes at all.
var blocking = []string{"hold", "withhold", "partition"}

const (
	// justBefore is how long before an acquire a fault may have ended that made its first request fail: the connection was gone.
	justBefore = 10 * time.Millisecond
	// noFailover is within which time after a crash no other server has taken over: the shortest time-outs for that are longer.
	noFailover = 100 * time.Millisecond
	// toCount is by how much a lease that is counted from the answer may end earlier than the acquire took.
	toCount = 5 * time.Millisecond
)

// unheard says that of two leases that overlap one was granted to a client whose requests or answers failed while it acquired the
// lock: faults were on its links, the service refused what it asked, or servers had crashed right before and were down. If that
// client's lease was the earlier one, it ended too soon even if its client counts it from the answer.
func (w *Counterexample) unheard() bool {
	older, newer, met := w.Evidence.victims()
	if !w.early() || w.Cause == rounded || w.Faults == 0 || !met {
		return false
	}
	return w.grantedUnheard(newer, 0) || w.grantedUnheard(older, w.Evidence.Anomaly.Sizes["remaining"])
}

// grantedUnheard says it of one of the two, of whose lease so much was left.
func (w *Counterexample) grantedUnheard(grant string, left int64) bool {
	ok := w.Evidence.grantOf(grant)
	if ok == nil {
		return false
	}
	asked := w.Evidence.askedFor(ok)
	counted := left > 0 && left <= ok.Time-asked+int64(toCount) // the lease may be counted from the answer
	some := false
	for _, begin := range w.Evidence.Events {
		if begin.Process != history.Nemesis || begin.Phase != history.Begin || !begin.Confirmed || begin.Time > ok.Time {
			continue
		}
		end := w.Evidence.endOf(begin)
		down := slices.Contains([]string{"kill", "powerloss"}, begin.F) && end > ok.Time && ok.Time-begin.Time < int64(noFailover)
		failed := down || begin.F == "refuse" || slices.Contains(unhearing, begin.F) && slices.Contains(begin.Nodes, ok.Process)
		if !failed || end < asked-int64(justBefore) {
			return false
		}
		if counted && (end <= ok.Time || !slices.Contains(blocking, begin.F)) {
			return false
		}
		some = true
	}
	return some
}

// askedFor is when the acquire was invoked that was granted.
func (e *Evidence) askedFor(ok *history.Event) int64 {
	asked := ok.Time
	for _, a := range e.Events {
		if a.Process == ok.Process && a.F == history.Acquire && a.Type == history.Invoke && a.Key == ok.Key && a.Time <= ok.Time {
			asked = a.Time
		}
	}
	return asked
}

// endOf is when the fault ended that began so; if it did not, after all else.
func (e *Evidence) endOf(begin history.Event) int64 {
	i := slices.IndexFunc(e.Events, func(end history.Event) bool {
		return end.Process == history.Nemesis && end.Phase == history.End && end.F == begin.F && end.Time >= begin.Time && slices.Equal(end.Nodes, begin.Nodes)
	})
	if i < 0 {
		return e.Events[len(e.Events)-1].Time + 1
	}
	return e.Events[i].Time
}

// sameUnheard says that two counterexamples show a client that is granted the lock although its acquire failed. By which fault it
// failed does not matter.
func (w *Counterexample) sameUnheard(o *Counterexample) bool {
	return w.unheard() && o.unheard() && w.mayNeedTheSame(o)
}
