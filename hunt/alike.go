package hunt

import (
	"slices"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// Involved are the faults of s, the counterexample's schedule, without those that its record shows no part of, as long as it is
// not known that nothing can be left away: they may only have been on, or not any more, or not yet.
func (w *Counterexample) Involved(s *scenarios.Scenario) []scenarios.TriggeredFault {
	if w.Larger == "" || w.Evidence == nil || len(w.Evidence.Anomaly.Faults) == 0 {
		return s.TriggeredFaults
	}
	of := w.Evidence.Anomaly
	parts := slices.DeleteFunc(slices.Clone(s.TriggeredFaults), func(st scenarios.TriggeredFault) bool {
		name := st.Fault.Word
		if name == "cut" {
			name = "partition" // as a history has it
		}
		return !slices.Contains(of.Faults, name)
	})
	if len(parts) == 0 { // what had a part is none of the schedule's
		return s.TriggeredFaults
	}
	return parts
}

// silencing are the faults that keep a client from being heard. A reset is none: it ends a connection, which a service
// may take for the end of the client.
var silencing = []string{"pause", "kill", "cut", "hold", "withhold", "slow", "loss", "flap"}

// silence is a silent holder whose lease was cut short: after which share of it, in percent, and whether the holder had been
// silent for half of it.
type silence struct {
	share int64
	long  bool
}

// sameShare is by how many percent of a lease two silences may differ that end at one share of it.
const sameShare = 15

// takenEarly says that a client was granted the lock while the lease of a silent holder ran: faults silenced the holder a tenth of a
// lease before or earlier, and touched no other client. How the holder came to be silent does not matter then. What
// ends the lease at once, as a closed connection may, is not meant.
func (w *Counterexample) takenEarly() (of silence, ok bool) {
	older, newer, met := w.Evidence.victims()
	s, err := w.scenario()
	if !w.early() || !met || err != nil || len(s.TriggeredFaults) == 0 {
		return of, false
	}
	held, by := w.Evidence.grantOf(older), w.Evidence.grantOf(newer)
	silenced := slices.IndexFunc(w.Evidence.Events, func(e history.Event) bool {
		return e.Process == history.Nemesis && e.Phase == history.Begin && e.Confirmed
	})
	if held == nil || by == nil || silenced < 0 || held.Lease == 0 {
		return of, false
	}
	length := by.Time - w.Evidence.Events[silenced].Time
	of.long = length >= held.Lease/2
	if sizes := w.Evidence.Anomaly.Sizes; sizes["lease"] > 0 {
		of.share = 100 - 100*sizes["remaining"]/sizes["lease"]
	}
	return of, length >= held.Lease/10 && !slices.ContainsFunc(w.Involved(s), func(st scenarios.TriggeredFault) bool {
		return !slices.Contains(silencing, st.Fault.Word) || !onlyOn(held.Process, s, st)
	})
}

// early says that a client was granted the lock while another one's lease had time left, and nothing else is known of the cause.
func (s Signature) early() bool {
	return s.Anomaly == "granted-early" && slices.Contains([]string{"granted-early", endedEarly, rounded}, s.Cause)
}

// onlyOn says that a fault is on a client or its links, and on no other client.
func onlyOn(client string, s *scenarios.Scenario, st scenarios.TriggeredFault) bool {
	return onClient(s, st) && !slices.ContainsFunc(s.Clients, func(c string) bool {
		return c != client && (slices.Contains(st.Fault.Nodes, c) || slices.Contains(st.Fault.Peers, c))
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

// sameSilence says that two counterexamples are one early grant behind two silences of the holder: long ones, or ones that end
// at the same share of the lease.
func (w *Counterexample) sameSilence(o *Counterexample) bool {
	a, ok := w.takenEarly()
	b, both := o.takenEarly()
	apart := max(a.share-b.share, b.share-a.share)
	return ok && both && (a.long && b.long || a.share > 0 && b.share > 0 && apart <= sameShare) && w.InAcquire == o.InAcquire && w.mayNeedTheSame(o)
}

// rounded is the cause of an early grant before which less than a millisecond was left: another one, before which more was left, refutes it.
const rounded = "rounded"

// endedEarly is the cause of an early grant before which no client had asked for anything: what ended the lease is not known.
const endedEarly = "ended-early"

// countedLate is the cause of an early grant before which the lease was over, had its client counted it from the request.
const countedLate = "counted-late"

// sameCount says that both leases ended early since their clients count them from later than the request, or that one may have. What kept the
// answer back does not matter.
func (w *Counterexample) sameCount(o *Counterexample) bool {
	counts := func(w *Counterexample) bool { return w.Cause == countedLate }
	return counts(w) && (counts(o) || o.mayCountLate()) || counts(o) && w.mayCountLate()
}

// mayCountLate says that a lease ended early by so little that it may have been counted from later than the request: by less than a
// millisecond, or, if it comes seldom, by less than its client waited for the grant. Which of that client's requests was granted is not known.
// If that client waited for a whole lease, its grant was over when it learnt of it, had it counted from the request. So it is with a token that
// is smaller than another client's, which was granted in between.
func (w *Counterexample) mayCountLate() bool {
	older, newer, met := w.Evidence.victims()
	waited := func(ok *history.Event) int64 { return ok.Since - w.Evidence.askedFor(ok) }
	switch {
	case w.Cause == rounded:
		return true
	case !met:
		return false
	case w.Anomaly == "token-regression":
		first, later := w.Evidence.grantOf(older), w.Evidence.grantOf(newer)
		return first != nil && later != nil && later.Lease > 0 && waited(later) >= later.Lease && w.Evidence.askedFor(later) < first.Time
	case !w.early():
		return false
	}
	ok, sizes := w.Evidence.grantOf(older), w.Evidence.Anomaly.Sizes
	if _, renewed := sizes["since_renewal"]; ok == nil || renewed {
		return false
	}
	return ok.Lease > 0 && waited(ok) >= ok.Lease || !w.Steady() && waited(ok) >= sizes["remaining"]
}

// delayShown says that its record shows the fault that kept the answer back from which a client counts its lease.
func (w *Counterexample) delayShown() bool {
	return w.Cause == countedLate && w.Evidence != nil && w.Evidence.Anomaly.Suspect != nil
}

// losing are the faults on a client's links by which messages are lost in both directions.
var losing = []string{"cut", "reset", "loss", "flap"}

// loses is the one fault that befell the run if messages of one client were lost by it, and when it began; "" if not.
func (w *Counterexample) loses() string {
	s, err := w.scenario()
	if err != nil {
		return ""
	}
	parts := w.Involved(s)
	if len(parts) != 1 || !slices.Contains(losing, parts[0].Fault.Word) {
		return ""
	}
	of := slices.DeleteFunc(slices.Concat(parts[0].Fault.Nodes, parts[0].Fault.Peers), func(n string) bool { return !slices.Contains(s.Clients, n) })
	if len(of) != 1 {
		return ""
	}
	return of[0] + ", " + parts[0].When.String()
}

// sameLoss says that one harm is done if messages of the same client are lost from the same moment on, and of no other: how they are
// lost does not matter, if the same acts are needed.
func (w *Counterexample) sameLoss(o *Counterexample) bool {
	return w.harm() == o.harm() && w.loses() != "" && w.loses() == o.loses() && w.mayNeedTheSame(o)
}

// powerless says that its record shows the holder stopped or dead, so that nothing that it did can have ended its lease.
func (w *Counterexample) powerless() bool {
	return w.Evidence != nil && w.Evidence.Anomaly.Sizes["stopped"] > 0
}

// mayNeedTheSame says that two counterexamples need the same acts, or that it is not known of one of them what it needs.
func (w *Counterexample) mayNeedTheSame(o *Counterexample) bool {
	return !w.comparable() || !o.comparable() || slices.Equal(w.necessary(), o.necessary())
}

// cutShort says that a client was granted the lock while an earlier lease, which had been renewed, had time left, and that no client but the
// earlier one, and no server, was touched.
func (w *Counterexample) cutShort() bool {
	older, newer, met := w.Evidence.victims()
	s, err := w.scenario()
	if !w.early() || !met || err != nil {
		return false
	}
	by := w.Evidence.grantOf(newer)
	renewed := slices.IndexFunc(w.Evidence.Events, func(r history.Event) bool {
		return r.F == history.Renew && r.Type == history.OK && r.Grant == older && by != nil && r.Time < by.Time
	})
	return renewed >= 0 && !slices.ContainsFunc(w.Involved(s), func(st scenarios.TriggeredFault) bool {
		return !onlyOn(w.Evidence.Events[renewed].Process, s, st)
	})
}

// sameRenewal says that two counterexamples show renewals that do not last as long as they promise. How long they do last, and
// what keeps the next one from the service, does not matter.
func (w *Counterexample) sameRenewal(o *Counterexample) bool {
	return w.cutShort() && o.cutShort() && w.mayNeedTheSame(o)
}

// sameCrash says that two counterexamples do one harm after servers crashed: a loss of power, or of a disk, loses what a
// crash loses, and more. Of a deadlock it does not matter what else was under way.
func (w *Counterexample) sameCrash(o *Counterexample) bool {
	stuck := w.Anomaly == "deadlock" && o.Anomaly == "deadlock"
	return w.afterCrash() && o.afterCrash() && (stuck || w.harm() == o.harm()) && w.mayNeedTheSame(o)
}

// afterCrash says that nothing but crashes of servers befell the run.
func (w *Counterexample) afterCrash() bool {
	s, err := w.scenario()
	return err == nil && len(s.TriggeredFaults) > 0 && !w.Hazard() && !slices.ContainsFunc(w.Involved(s), func(st scenarios.TriggeredFault) bool {
		return st.Fault.Word != "kill" && st.Fault.Word != "powerloss" || onClient(s, st)
	})
}

// sameClock says that wrong clocks do one harm, each time clients' or each time servers': a lock compares times of machines whose
// clocks differ. Whose clock goes wrong, and when, does not matter, if they need the same acts.
func (w *Counterexample) sameClock(o *Counterexample) bool {
	return w.harm() == o.harm() && !w.Hazard() && !o.Hazard() && w.byClocksOf() != "" && w.byClocksOf() == o.byClocksOf() && w.mayNeedTheSame(o)
}

// countedByServer says that a lease ended too early or too late by a server's clock, as the record shows. One that is counted by
// that clock does both: if the clock is set forward, and if it is set back. What else befell the run does not matter.
func (w *Counterexample) countedByServer() bool {
	if w.Evidence == nil || w.Hazard() || !slices.Contains([]string{"granted-early", "revoked-early", "deadlock"}, w.Anomaly) {
		return false
	}
	suspect := w.Evidence.Anomaly.Suspect
	return suspect != nil && suspect.Fault == "clock" && suspect.On == verdict.OnServer
}

// forgot says how servers that failed lost grants, or the counter of tokens, as the record shows: by a crash, or as a replica took over; "" if
// they did not. One that came back without a grant that was given meanwhile had not lost that.
func (w *Counterexample) forgot() string {
	if w.Evidence == nil || w.Hazard() || !slices.Contains([]string{"granted-early", "revoked-early", "token-regression", "token-reuse"}, w.Anomaly) {
		return ""
	}
	switch s := w.Evidence.Anomaly.Suspect; {
	case s == nil, s.On != verdict.OnServer, s.Earlier:
		return ""
	case s.Fault == "kill", s.Fault == "powerloss": // a loss of power loses what a crash loses, and more
		return "kill"
	case s.Fault == "failover":
		return s.Fault
	}
	return ""
}

// sameMemory says that both show what servers lost in the same way. Of what is lost at once, the grants and the counter, it does not matter which one
// shows, nor what else befell the run.
func (w *Counterexample) sameMemory(o *Counterexample) bool {
	return w.forgot() != "" && w.forgot() == o.forgot()
}

// sameTokens says that both show tokens that do not rise with the grants, and that neither record tells why: no fault has a part in it. Which one brings two grants so near to each other, or
// sends a client to another server, does not matter, if they need the same acts.
func (w *Counterexample) sameTokens(o *Counterexample) bool {
	untold := func(w *Counterexample) bool {
		general := w.Cause == "" || w.Cause == w.Anomaly
		return verdict.Info(w.Anomaly).Property == verdict.Tokens && general && w.Evidence != nil && w.Evidence.Anomaly.Suspect == nil && (w.byClocksOf() == "" || w.once())
	}
	return untold(w) && untold(o) && w.Anomaly == o.Anomaly && w.mayNeedTheSame(o)
}

// byClocksOf says whose clocks are all that befell the run: a client's, or a server's; "" if there was more.
func (w *Counterexample) byClocksOf() string {
	s, err := w.scenario()
	if err != nil {
		return ""
	}
	whose := ""
	for _, st := range w.Involved(s) {
		of := "server"
		if onClient(s, st) {
			of = "client"
		}
		if st.Fault.Word != "clock" || whose != "" && whose != of {
			return ""
		}
		whose = of
	}
	return whose
}
