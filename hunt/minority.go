package hunt

import (
	"slices"

	"github.com/picklock/picklock/scenarios"
)

// minority is the cause of an early grant by so few servers that a fault kept the others from answering.
const minority = "minority"

// noServer is the cause of a grant that no server can have given: whichever fault kept them from it does not matter.
const noServer = "no-server"

// sameNoServer says that this one shows a lock that grants itself while no server can answer, and the other one two clients that had it at once while
// a client had no good answer: whether its record shows that, too, or not.
func (w *Counterexample) sameNoServer(o *Counterexample) bool {
	if w.Cause != noServer || !o.overlaps() {
		return false
	}
	general := slices.Contains([]string{"", o.Anomaly, countedLate}, o.Cause)
	return o.Cause == noServer || w.Steady() && general && o.lacksAnswer()
}

// lacksAnswer says that by all faults that befell the run clients had no answer, a late one or an error, and that nothing was forgotten.
func (w *Counterexample) lacksAnswer() bool {
	s, err := w.scenario()
	if err != nil {
		return false
	}
	parts := w.Involved(s)
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(st scenarios.TriggeredFault) bool {
		stopped := st.Fault.Word == "pause" && !onClient(s, st)
		return !stopped && !slices.Contains([]string{"cut", "hold", "withhold", "refuse", "reset", "loss", "flap", "slow"}, st.Fault.Word)
	})
}

// unanswering are the faults by which servers do not answer, and forget nothing.
var unanswering = []string{"cut", "hold", "withhold", "pause", "refuse"}

// sameMinority says that this one shows a lock that too few servers grant, and the other one a grant that is early while as many servers did not answer:
// whether its record shows that, too, or not.
func (w *Counterexample) sameMinority(o *Counterexample) bool {
	if w.Cause != minority || !w.Steady() || o.Anomaly != w.Anomaly {
		return false
	}
	if o.Cause == minority {
		return true
	}
	if !slices.Contains([]string{"granted-early", countedLate}, o.Cause) {
		return false
	}
	least := w.silenced()
	return least > 1 && o.silenced() >= least || o.mayBeLate()
}

// mayBeLate says that it comes now and then, and that it is not known of any fault that it needs that: answers may have been late.
func (w *Counterexample) mayBeLate() bool {
	return w.Cause == "granted-early" && !w.Steady() && !w.Confirmed()
}

// silenced is how many servers did not answer by the one fault that befell the run; 0 if more befell it, or another fault.
func (w *Counterexample) silenced() int {
	s, err := w.scenario()
	if err != nil {
		return 0
	}
	parts := w.Involved(s)
	if len(parts) != 1 || !slices.Contains(unanswering, parts[0].Fault.Word) && w.Cause != minority {
		return 0
	}
	nodes := slices.Concat(parts[0].Fault.Nodes, parts[0].Fault.Peers)
	if slices.Contains(nodes, scenarios.Servers) {
		return everyServer
	}
	return len(slices.DeleteFunc(nodes, func(n string) bool { return slices.Contains(s.Clients, n) }))
}

// everyServer stands for all servers, however many there are.
const everyServer = 1 << 16
