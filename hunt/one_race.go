package hunt

import (
	"slices"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// oneRace says that one token was given twice because two clients had the lock at once, which the other counterexample shows as an overlap: both
// found it free in one race and counted on from the same token, or the lock took one of them for the other, and gave it what that had.
func (w *Counterexample) oneRace(o *Counterexample) bool {
	return w.Anomaly == "token-reuse" && o.Anomaly == "granted-early" && o.needsNoMore(w.Signature) && w.Evidence.overlap() && o.Evidence.overlap()
}

// drawsLate says that tokens do not follow the order of the grants, or that two clients held the lock at once, if a client's messages are late or
// lost, or it is stopped: as where a token is drawn in another request than the lock. By which fault does not matter.
func (w *Counterexample) drawsLate() bool {
	s, err := w.scenario()
	return w.orOverlap() && err == nil && len(s.TriggeredFaults) > 0 && !slices.ContainsFunc(s.TriggeredFaults, func(st scenarios.TriggeredFault) bool {
		return !slices.Contains(delaying, st.Fault.Word) || !onClient(s, st)
	})
}

// delaying are the faults that stop a client, or by which its messages are late or lost.
var delaying = []string{"pause", "cut", "hold", "withhold", "slow", "reset", "loss", "flap"}

// overlap says that the evidence is of two grants to two clients, and that the second came while the first one's lease ran and had not been given back.
func (e *Evidence) overlap() bool {
	if e == nil || len(e.Anomaly.Grants) != 2 {
		return false
	}
	first, ok := e.granted(e.Anomaly.Grants[0])
	second, both := e.granted(e.Anomaly.Grants[1])
	if !ok || !both || first.Process == second.Process {
		return false
	}
	if second.Time < first.Time {
		first, second = second, first
	}
	return second.Time < first.Since+first.Lease && !slices.ContainsFunc(e.Events, func(r history.Event) bool {
		return r.F == history.Release && r.Type == history.Invoke && r.Grant == first.Grant && r.Time < second.Time
	})
}

// granted is the answer that a grant came with, of one that says since when its lease can run.
func (e *Evidence) granted(id string) (history.Event, bool) {
	i := slices.IndexFunc(e.Events, func(g history.Event) bool {
		return g.F == history.Acquire && g.Type == history.OK && g.Grant == id && g.Since > 0
	})
	if i < 0 {
		return history.Event{}, false
	}
	return e.Events[i], true
}
