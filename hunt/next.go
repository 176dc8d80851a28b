package hunt

import (
	"github.com/picklock/picklock/scenarios"
)

// next is what to run now.
func (h *Search) next() (_ point, guided, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.retry) > 0 {
		p := h.retry[0]
		h.retry = h.retry[1:]
		return p, p.guided, true
	}
	for h.o.Strategy != Random && !h.exhausted {
		p, more := h.points()
		if !more {
			h.exhausted = true
			for i := range h.result.Depths {
				h.result.Depths[i].Done = true
			}
			break
		}
		for d := range p.depth {
			h.result.Depths[d].Done = true
		}
		if k := key(p.schedule); !h.played[k] {
			h.played[k] = true
			return p, false, true
		}
	}
	if h.o.Strategy == Exhaustive {
		return point{}, false, false
	}
	h.exchange()
	for range 1000 {
		var s *scenarios.Scenario
		if from := h.corpus.choose(h.mutator.rng); from != nil && h.o.Strategy == Guided && h.mutator.rng.IntN(10) > 0 {
			if !from.asked {
				from.asked = true
				return point{schedule: from.schedule, depth: len(from.schedule.TriggeredFaults), guided: true, again: from}, true, true
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
		p := point{schedule: s, depth: len(s.TriggeredFaults), guided: true}
		if k := key(s); !h.played[k] && !h.hopeless(p) {
			h.played[k] = true
			return p, true, true
		}
	}
	return point{}, false, false
}

// pointless says that a schedule of the space need not be run after what was seen. h.mu
// is held.
func (h *Search) pointless(p point) bool {
	for _, st := range p.schedule.TriggeredFaults {
		if h.undoable(st) {
			h.skipped[st.Fault.Text]++
		}
	}
	if h.hopeless(p) {
		return true
	}
	if p.depth < 2 {
		return false
	}
	// Skip pairs that contain a fault that suffices by itself.
	for _, st := range p.schedule.TriggeredFaults {
		if h.breaking[h.faultKey(p.workload, st)] {
			return true
		}
	}
	return false
}

// hopeless says that one of the faults cannot be done here, or that its trigger never comes.
func (h *Search) hopeless(p point) bool {
	for _, st := range p.schedule.TriggeredFaults {
		if h.undoable(st) || p.workload != "" && h.infeasible[p.workload+"|"+st.When.String()] != "" {
			return true
		}
	}
	return false
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
