package hunt

import (
	"slices"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// silencing are the faults that keep a client from being heard. A reset is none: it ends a connection, which a service
// may take for the end of the client.
var silencing = []string{"pause", "kill", "cut", "hold", "withhold", "slow", "loss", "flap"}

// takenEarly says that a client was granted the lock while the lease of a silent holder ran: faults silenced the holder half a
// lease before or earlier, and touched no other client. How the holder came to be silent does not matter then. What
// ends the lease at once, as a closed connection may, is not meant.
func (w *Counterexample) takenEarly() bool {
	older, newer, met := w.Evidence.victims()
	s, err := w.scenario()
	if w.Anomaly != "granted-early" || w.Cause != "granted-early" || !met || err != nil || len(s.TriggeredFaults) == 0 {
		return false
	}
	of, by := w.Evidence.grantOf(older), w.Evidence.grantOf(newer)
	silenced := slices.IndexFunc(w.Evidence.Events, func(e history.Event) bool {
		return e.Process == history.Nemesis && e.Phase == history.Begin && e.Confirmed
	})
	if of == nil || by == nil || silenced < 0 || of.Lease == 0 || by.Time-w.Evidence.Events[silenced].Time < of.Lease/2 {
		return false
	}
	return !slices.ContainsFunc(s.TriggeredFaults, func(st scenarios.TriggeredFault) bool {
		return !slices.Contains(silencing, st.Fault.Word) || !onClient(s, st) || slices.ContainsFunc(s.Clients, func(c string) bool {
			return c != of.Process && (slices.Contains(st.Fault.Nodes, c) || slices.Contains(st.Fault.Peers, c))
		})
	})
}

// grantOf is the answer that was a grant; nil if the evidence has it not.
func (e *Evidence) grantOf(grant string) *history.Event {
	i := slices.IndexFunc(e.Events, func(g history.Event) bool {
		return g.F == history.Acquire && g.Type == history.OK && g.Grant == grant
	})
	if i < 0 {
		return nil
	}
	return &e.Events[i]
}

// sameSilence says that two counterexamples are one early grant behind two silences of the holder.
func (w *Counterexample) sameSilence(o *Counterexample) bool {
	known := w.comparable() && o.comparable()
	return w.takenEarly() && o.takenEarly() && w.InAcquire == o.InAcquire && (!known || slices.Equal(w.necessary(), o.necessary()))
}
