package hunt

import (
	"context"
	"slices"
	"strings"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/scenarios"
)

// group puts counterexamples of one bug together: the reproducible one of the deepest anomaly stays, of
// several the least, and the others become its variants. It is called when they are in their order, and the acts
// that they need are known.
func (h *Search) group() {
	heads := []*Counterexample{}
	for _, w := range h.counterexamples {
		i := slices.IndexFunc(heads, func(head *Counterexample) bool { return head.sameBug(w) })
		if i < 0 {
			heads = append(heads, w)
			continue
		}
		if w.heads(heads[i]) {
			w.takeIn(heads[i])
			heads[i] = w
			continue
		}
		heads[i].takeIn(w)
	}
	h.counterexamples = heads
}

// heads says that of two counterexamples of one bug this one stands for both, though it comes after the other in
// the order.
func (w *Counterexample) heads(o *Counterexample) bool {
	switch {
	case w.explained(o) || o.explained(w):
		return o.explained(w)
	case w.withoutFault(o) || o.withoutFault(w):
		return w.withoutFault(o)
	case w.sameMinority(o), o.sameMinority(w):
		return w.Cause == minority && o.Cause != minority
	case w.sameNoServer(o), o.sameNoServer(w):
		return w.Cause == noServer && o.Cause != noServer
	case w.sameCount(o):
		return w.Cause == countedLate && (o.Cause != countedLate || w.Steady() && w.delayShown() && !o.delayShown())
	case w.Cause == rounded != (o.Cause == rounded):
		return o.Cause == rounded
	case w.powerless() && !o.powerless() && w.sameSilence(o):
		return w.Steady()
	case !o.comparable():
		return w.comparable()
	}
	return w.Steady() && verdict.Info(w.Anomaly).Depth < verdict.Info(o.Anomaly).Depth
}

// explained says that the other counterexample tells more of the bug. This one's record shows that tokens or exclusion are broken, and not
// which, and the other one, which needs no more, proves that exclusion is. Or one race breaks both. Or a late renewal took the
// lock back, or may have, or extended what had ended, and the other one shows that the lock extends what another client has.
func (w *Counterexample) explained(o *Counterexample) bool {
	if w.Cause == "renewed-late" || w.Cause == "renewed-ended" || w.Cause == "renewed-meanwhile" {
		return o.Anomaly == "false-belief" && o.Cause == "extended"
	}
	return w.orOverlap() && o.overlaps() && o.needsNoMore(w.Signature) || w.oneRace(o)
}

// takeIn makes another counterexample, and its variants, variants of this one.
func (w *Counterexample) takeIn(o *Counterexample) {
	w.Seen += o.Seen
	w.Variants = append(w.Variants, append([]*Counterexample{o}, o.Variants...)...)
	o.Variants = nil
	if o.FirstSecond < w.FirstSecond {
		w.FirstSecond, w.FirstRun = o.FirstSecond, o.FirstRun
	}
}

// oneBug are the rules by which two counterexamples are one bug whatever acts they need. Each says of one kind of bug what does not matter.
var oneBug = []func(w, o *Counterexample) bool{
	(*Counterexample).explained,
	(*Counterexample).withoutFault,
	func(w, o *Counterexample) bool { return w.Evidence.exposes(o.Evidence) },
	(*Counterexample).sameNoServer,
	func(w, o *Counterexample) bool { return w.neverFreed() != "" && w.neverFreed() == o.neverFreed() },
	(*Counterexample).lostTheSame,
	func(w, o *Counterexample) bool { return w.missedNotice() && o.missedNotice() },
	(*Counterexample).freesLate,
	func(w, o *Counterexample) bool { return w.freesOwn() && o.freesOwn() },
	func(w, o *Counterexample) bool { return w.losesInBetween() && o.losesInBetween() },
	(*Counterexample).freesToo,
	(*Counterexample).stuckLike,
	(*Counterexample).sameSilence,
	(*Counterexample).sameCount,
	(*Counterexample).sameMinority,
	func(w, o *Counterexample) bool { return w.Cause == "renewed-meanwhile" && o.Cause == w.Cause },
	(*Counterexample).sameRenewal,
	(*Counterexample).sameLoss,
	(*Counterexample).sameUnheard,
	func(w, o *Counterexample) bool { return w.drawsLate() && o.drawsLate() && w.mayNeedTheSame(o) },
	(*Counterexample).sameTokens,
	(*Counterexample).sameCrash,
	(*Counterexample).sameClock,
	func(w, o *Counterexample) bool { return w.countedByServer() && o.countedByServer() },
	(*Counterexample).sameMemory,
}

// sameBug says that two counterexamples show one bug by different faults. They do the same harm, and without the same acts on
// the service neither does any. If neither needs an act, the same faults do it. If it is not known which acts they need, nobody can say it.
// What comes too seldom to be run without its acts is of the same bug if its one history shows the acts under way that the other
// needs, and no others, or if the other has the same schedule. A lease hazard is the same by whatever fault.
func (w *Counterexample) sameBug(o *Counterexample) bool {
	switch {
	case slices.ContainsFunc(oneBug, func(same func(w, o *Counterexample) bool) bool { return same(w, o) || same(o, w) }):
		return true
	case w.harm() != o.harm(), w.Hazard() != o.Hazard():
		return false
	case w.Hazard():
		return w.root() == o.root()
	}
	switch {
	case w.Evidence.claimed() != "" && o.Evidence.claimed() != "":
		return w.Evidence.claimed() == o.Evidence.claimed()
	case w.comparable() && o.comparable():
		return sameActs(w.necessary(), o.necessary()) || w.sameFaults(o)
	case w.sameSchedule(o):
		return true
	case w.comparable():
		return w.countedByServer() == o.countedByServer() && len(w.necessary()) > 0 && slices.Equal(w.necessary(), o.Evidence.underWay())
	}
	return o.comparable() && o.sameBug(w)
}

// onClients says that nothing befell a server.
func (w *Counterexample) onClients() bool {
	s, err := w.scenario()
	return err == nil && !slices.ContainsFunc(s.TriggeredFaults, func(st scenarios.TriggeredFault) bool { return !onClient(s, st) })
}

// stuckLike says that it is a deadlock of which no cause is known, and that nothing befell a server. So is the other one, or it never came
// again.
func (w *Counterexample) stuckLike(o *Counterexample) bool {
	unknown := func(w *Counterexample) bool { return w.Anomaly == "deadlock" && w.Cause == "" && w.onClients() }
	return unknown(w) && !w.once() && (unknown(o) || o.Anomaly == "deadlock" && o.once())
}

// sameSchedule says that two counterexamples are two anomalies of one schedule.
func (w *Counterexample) sameSchedule(o *Counterexample) bool {
	a, err := w.scenario()
	b, berr := o.scenario()
	return err == nil && berr == nil && key(a) == key(b)
}

// sameActs says that one bug explains what needs these acts and what needs those: they are the same, or
// the fewer are all of a client that does not hold the lock. Such an act is to have no effect: who
// mends that has taken it away from what needs another act besides, too.
func sameActs(a, b []string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == 0 || len(a) == len(b) {
		return len(a) > 0 && slices.Equal(a, b)
	}
	return !slices.ContainsFunc(a, func(act string) bool { return !strings.HasSuffix(act, ofAnother) || !slices.Contains(b, act) })
}

// sameFaults says that the same faults do what two counterexamples show, and no act of a client has a part in it.
func (w *Counterexample) sameFaults(o *Counterexample) bool {
	return w.byFaults() && o.byFaults() && w.InAcquire == o.InAcquire && slices.Equal(w.Kinds, o.Kinds)
}

// byFaults says that a counterexample was run without each of its releases and renewals, and needs none.
func (w *Counterexample) byFaults() bool {
	s, err := w.scenario()
	known := err == nil && len(w.Acts) == len(actsIn(s, w.Evidence)) && !slices.ContainsFunc(w.Acts, w.open)
	return known && w.Faults > 0 && len(w.necessary()) == 0
}

// compare finds out which acts counterexamples need that may be one bug, and puts together those that are.
func (h *Search) compare(ctx context.Context, p *team, o FinishOptions) {
	if rivals := h.rivals(); len(rivals) > 0 {
		ctx, cancel := o.within(ctx, askShare)
		defer cancel()
		o.tell("compare %d counterexamples: which acts they need", len(rivals))
		h.findActs(ctx, p, rivals)
	}
	h.order()
	h.group()
}

// once says that the counterexample never came again.
func (w *Counterexample) once() bool {
	return len(w.ByChance) == 0 && w.Search.Hits+w.Alone.Hits == 1 && w.Search.Runs+w.Alone.Runs > 1
}

// Once is, of a counterexample that never came again, which schedule it came in or after: what that
// left behind on the same servers and clients may be its cause. "" if it came again.
func (w *Counterexample) Once() string {
	switch {
	case !w.once():
		return ""
	case w.After == "":
		return "in the first schedule on its servers and clients"
	}
	return "after " + w.After + " on the same servers and clients"
}

// withoutFaults describes a schedule that no fault was in.
const withoutFaults = "a schedule without faults"

// NoFaultNear says that no fault was in the counterexample's schedule, nor in the one before it on its servers and clients.
func (w *Counterexample) NoFaultNear() bool {
	return w.Faults == 0 && (w.After == "" || w.After == withoutFaults)
}

// described is a schedule that ran, in a line: its faults.
func described(s *scenarios.Scenario, out *Outcome) string {
	if out.Discarded != "" {
		return "a schedule that was discarded"
	}
	if len(s.TriggeredFaults) == 0 {
		return withoutFaults
	}
	text := "a schedule with "
	for i, st := range s.TriggeredFaults {
		if i > 0 {
			text += " and "
		}
		text += st.String()
	}
	return text
}
