package hunt

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/scenarios"
)

// retry is a schedule that is run again after so many runs of the search.
type retry struct {
	point
	after int
}

// again takes the next schedule that is to be run again; with any even one whose time has not
// come.
func (h *Search) again(any bool) (point, bool) {
	for i, r := range h.retry {
		if any || r.after <= h.result.Runs {
			h.retry = slices.Delete(h.retry, i, i+1)
			return r.point, true
		}
	}
	return point{}, false
}

// next is what to run now. What is not ready is put off, and comes as soon as it is; nil: all is ready.
func (h *Search) next(ready func(*scenarios.Scenario) bool) (_ point, guided, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p, ok := h.again(h.gone()); ok {
		return p, p.guided, true
	}
	if p, ok := h.resume(ready); ok {
		return p, p.guided, true
	}
	if h.mutates() {
		if p, ok := h.guided(); ok && !h.putOff(p, ready) {
			return p, true, true
		}
	}
	for h.o.Strategy != Random && !h.exhausted {
		p, more := h.reach()
		if !more {
			break
		}
		if _, known := h.fates[p.id]; known || h.pointless(p) || h.putOff(p, ready) {
			continue
		}
		h.depth = p.depth
		h.played[key(p.schedule)] = true
		return p, false, true
	}
	if p, ok := h.again(true); ok {
		return p, p.guided, true
	}
	if len(h.waiting) > 0 && (h.o.Strategy == Exhaustive || len(h.waiting) > mostGuidedWaiting) {
		if p, ok := h.resume(nil); ok {
			return p, p.guided, true
		}
	}
	if h.o.Strategy == Exhaustive {
		return point{}, false, false
	}
	for range mostGuidedWaiting {
		if p, ok := h.guided(); !ok || !h.putOff(p, ready) {
			return p, true, ok
		}
	}
	p, ok := h.resume(nil)
	return p, p.guided, ok
}

// mostGuidedWaiting is how many schedules wait at most when the space has been gone through: those that can begin now are
// not endless, and a runner may as well wait.
const mostGuidedWaiting = 64

// putOff says that a schedule would have to wait, and keeps it for later: guided ones before those of the space, of which
// they are to have their share. h.mu is held.
func (h *Search) putOff(p point, ready func(*scenarios.Scenario) bool) bool {
	if ready == nil || ready(p.schedule) {
		return false
	}
	if p.guided {
		h.waiting = slices.Insert(h.waiting, 0, p)
	} else {
		h.waiting = append(h.waiting, p)
	}
	return true
}

// gone says that nothing of the space is left to begin. h.mu is held.
func (h *Search) gone() bool {
	return h.exhausted && !slices.ContainsFunc(h.waiting, func(p point) bool { return !p.guided })
}

// resume takes the first of those that were put off, if it is ready. h.mu is held.
func (h *Search) resume(ready func(*scenarios.Scenario) bool) (point, bool) {
	for len(h.waiting) > 0 {
		p := h.waiting[0]
		if p.id != "" {
			if _, known := h.fates[p.id]; known || h.pointless(p) {
				h.waiting = h.waiting[1:]
				continue
			}
		}
		if ready != nil && !ready(p.schedule) {
			return point{}, false
		}
		h.waiting = h.waiting[1:]
		h.depth = p.depth
		h.played[key(p.schedule)] = true
		return p, true
	}
	return point{}, false
}

// guidedShare is the part of the runs that is given to guided schedules from the first fault on: the
// space may take longer than there is time.
const guidedShare = 0.3

// mutates says that a guided schedule is next, though the space is not run yet.
func (h *Search) mutates() bool {
	return h.o.Strategy == Guided && !h.gone() && h.depth > 0 && len(h.corpus.entries) > 0 && h.mutator.rng.Float64() < guidedShare
}

// guided is a schedule beyond the space: a change of one that brought something, or one drawn at
// random.
func (h *Search) guided() (point, bool) {
	h.exchange()
	for range 1000 {
		var s *scenarios.Scenario
		if from := h.corpus.choose(h.mutator.rng); from != nil && h.o.Strategy == Guided && (!h.gone() || h.mutator.rng.IntN(10) > 0) {
			if !from.asked {
				from.asked = true
				return point{schedule: from.schedule, depth: len(from.schedule.TriggeredFaults), guided: true, again: from}, true
			}
			if from.proven {
				s = h.mutator.mutate(from.schedule)
			}
		} else {
			s = h.mutator.random()
		}
		if s == nil {
			continue
		}
		p := point{schedule: s, depth: len(s.TriggeredFaults), guided: true, arms: h.mutator.used}
		if k := key(s); !h.played[k] && h.lacking(s.Programs) == "" && h.hopeless("", s.TriggeredFaults) == "" {
			h.played[k] = true
			return p, true
		}
	}
	return point{}, false
}

// pointless says that a schedule of the space need not be run after what was seen. h.mu
// is held.
func (h *Search) pointless(p point) bool {
	for _, st := range p.schedule.TriggeredFaults {
		if h.undoable(st) {
			h.skipped[st.Fault.Text]++
		}
	}
	return h.lacking(p.schedule.Programs) != "" || h.hopeless(p.workload, p.schedule.TriggeredFaults) != "" || h.implied(p.workload, p.schedule.TriggeredFaults) != ""
}

// lacking is why a client cannot do what one of the programs wants of it; "" if nothing is known against it.
func (h *Search) lacking(programs map[string]scenarios.Program) string {
	for _, p := range programs {
		for _, m := range p {
			if why := h.infeasible[actPrefix+m.Do]; why != "" {
				return why
			}
		}
	}
	return ""
}

// actPrefix begins the names of acts that a lock cannot do, among what is infeasible.
const actPrefix = "act "

// hopeless is why one of the faults cannot be injected here, or that its trigger does not come; ""
// if nothing is known against them. Triggers are known by the workload; "" for none of the space.
func (h *Search) hopeless(workload string, triggered []scenarios.TriggeredFault) string {
	for _, st := range triggered {
		if h.undoable(st) {
			return fmt.Sprintf("%s: %s", st.Fault.Text, reason(st.Fault.Text, cmp.Or(h.infeasible["fault "+st.Fault.Word], h.infeasible["fault "+st.Fault.Text])))
		}
		if workload == "" {
			if !h.reachable(st.When) {
				return st.When.String() + ": no message before it ever came"
			}
			continue
		}
		for when := st.When; ; when.N-- { // a message comes only after those before it
			k := workload + "|" + when.String()
			if why := h.infeasible[k]; why != "" {
				return why
			}
			if r := h.rates[k]; when.N < st.When.N && r != nil && r.Hits == 0 && (r.Runs >= enoughMissed || h.passed[messagesOf(when)] < when.N) {
				return h.whyMissed(k, workload, r)
			}
			if when.N <= 1 {
				break
			}
		}
	}
	return ""
}

// enoughMissed is in how many runs of a program a message has to stay away until those after it are not tried;
// one is enough if it came in no other program either.
const enoughMissed = 2

// reachable says that a trigger may come, in whatever program: it is no message of an act, or the message
// before it came at least once.
func (h *Search) reachable(a scenarios.Trigger) bool {
	return a.N <= 1 || h.passed[messagesOf(a)] >= a.N-1
}

// messagesOf names the messages of an act, of whichever client.
func messagesOf(a scenarios.Trigger) string { return a.Do + "|" + string(a.At) }

// triggerKey names a trigger in a workload.
func triggerKey(workload string, st scenarios.TriggeredFault) string {
	return workload + "|" + st.When.String()
}

// undoable says that a fault could not be done here.
func (h *Search) undoable(st scenarios.TriggeredFault) bool {
	return h.infeasible["fault "+st.Fault.Word] != "" || h.infeasible["fault "+st.Fault.Text] != ""
}

// faultKey is one text for a fault in a workload and for all that are the same but for the
// names of clients that do the same.
func (h *Search) faultKey(workload string, st scenarios.TriggeredFault) string {
	for _, w := range h.mutator.workloads {
		if w.name == workload {
			return workload + "|" + w.same([]scenarios.TriggeredFault{st})
		}
	}
	return "|" + st.String()
}
