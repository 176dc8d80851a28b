package checker

import (
	"cmp"
	"slices"
	"time"
)

// inFlight is for how long a request may be under way after its client was killed or gave up its answer, where no fault
// holds it back: it is in the network, or the server has read it and not carried it out.
const inFlight = int64(time.Second)

// lastSent is until when a process can have sent what it was about to send at t: until the end of the kill that was
// on then, or of the first one after it. It is never where there is none.
func (l *faultLog) lastSent(process string, t int64) int64 {
	list := l.kills[process]
	i, _ := slices.BinarySearchFunc(list, t, func(k kill, t int64) int { return cmp.Compare(k.reach, t) })
	switch {
	case i == len(list):
		return never
	case !list[i].fault.ended:
		return max(list[i].from, t)
	}
	return list[i].reach
}

// endOpen ends a release that its client had not been answered when it was killed: it is under way no longer.
func (an *analysis) endOpen(o *op) {
	if o.endT == never {
		o.endT = min(an.last, satAdd(an.faults.lastSent(o.process, o.invT), inFlight))
	}
}

// carriedOutBy is until when a request of which no answer is known may be carried out: for a while after its client gave it up,
// or after the last fault that held it back.
func (l *faultLog) carriedOutBy(o *op) int64 {
	end := satAdd(o.endT, inFlight)
	for _, f := range l.byNode[o.process].latest(l.general.latest(nil, o.invT, end), o.invT, end) {
		if name := baseName(f.name); name != "kill" && name != "clock" {
			end = max(end, satAdd(f.felt(), inFlight))
		}
	}
	return end
}
