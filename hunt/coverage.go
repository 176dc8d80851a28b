package hunt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/scenarios"
)

// Depth is the coverage of the schedules with so many faults. It adds up:
//
//	Space = Ran + Discarded + Failed + Infeasible + Implied + NotReached
type Depth struct {
	Faults int `json:"faults"`
	// Space is how many schedules there are, of the part that was searched. Those that are the
	// same but for the names of equal clients count once; Same are the others of them.
	Space int `json:"space"`
	Same  int `json:"same,omitempty"`

	Ran        int `json:"ran"`         // as planned
	Discarded  int `json:"discarded"`   // run, but not as planned: they prove nothing
	Failed     int `json:"failed"`      // picklock failed to run them, each time that it tried
	Infeasible int `json:"infeasible"`  // left out: their trigger does not come, or their fault or an act of a client cannot be done
	Implied    int `json:"implied"`     // left out: they contain a fault that breaks the lock by itself
	NotReached int `json:"not_reached"` // there was no time for them

	Broke int  `json:"broke"` // those that were run and broke the lock, as planned or not
	Done  bool `json:"done"`  // none is left to run
}

// sum is what became of all schedules together.
func (d Depth) sum() int {
	return d.Ran + d.Discarded + d.Failed + d.Infeasible + d.Implied + d.NotReached
}

// All reports whether every schedule was run as planned.
func (d Depth) All() bool { return d.Done && d.Ran == d.Space }

// What became of schedules that were not run as planned, in Uncovered.
const (
	WasDiscarded  = "discarded"
	WasFailed     = "failed"
	WasInfeasible = "infeasible"
	WasImplied    = "implied"
)

// Uncovered is why schedules with so many faults prove nothing.
type Uncovered struct {
	Faults    int    `json:"faults"`
	What      string `json:"what"` // WasDiscarded and the like
	Why       string `json:"why"`
	Schedules int    `json:"schedules"`
}

// CheckCoverage is the error that the coverage does not add up: then the hunt's own account of
// what it did is wrong, and nothing can be concluded from it.
func (r *Result) CheckCoverage() error {
	why := map[Uncovered]int{}
	for _, u := range r.Uncovered {
		why[Uncovered{Faults: u.Faults, What: u.What}] += u.Schedules
	}
	ran := 0
	for _, d := range r.Depths {
		of := fmt.Sprintf("the coverage of schedules with %d faults does not add up: %+v", d.Faults, d)
		for _, n := range []int{d.Space, d.Same, d.Ran, d.Discarded, d.Failed, d.Infeasible, d.Implied, d.NotReached, d.Broke} {
			if n < 0 {
				return fmt.Errorf("%s: a count is negative", of)
			}
		}
		ran += d.Ran + d.Discarded
		switch {
		case d.sum() != d.Space:
			return fmt.Errorf("%s: together %d", of, d.sum())
		case d.Broke > d.Ran+d.Discarded:
			return fmt.Errorf("%s: more broke the lock than were run", of)
		case d.Done && (d.NotReached > 0 || d.Failed > 0):
			return fmt.Errorf("%s: it is not done", of)
		}
		for what, n := range map[string]int{WasDiscarded: d.Discarded, WasFailed: d.Failed, WasInfeasible: d.Infeasible, WasImplied: d.Implied} {
			if why[Uncovered{Faults: d.Faults, What: what}] != n {
				return fmt.Errorf("%s: %d %s, with reasons for %d", of, n, what, why[Uncovered{Faults: d.Faults, What: what}])
			}
		}
	}
	if ran+r.Guided > r.Runs {
		return fmt.Errorf("the coverage does not add up: %d schedules of the space and %d guided ones were run, in %d runs", ran, r.Guided, r.Runs)
	}
	return nil
}

// placed is a schedule of the space that the search has come to, as far as its coverage needs it.
type placed struct {
	id, workload string
	programs     map[string]scenarios.Program
	triggered    []scenarios.TriggeredFault
}

// fate is what became of a schedule of the space that was run; "" in what: it ran as planned.
type fate struct {
	what, why string
	broke     bool
}

// reach takes the next schedule of the space; false: there is none. h.mu is held.
func (h *Search) reach() (point, bool) {
	for {
		p, more := h.points()
		switch {
		case !more:
			h.exhausted = true
			return point{}, false
		case p.same:
			h.result.Depths[p.depth].Same++
		default:
			h.reached = append(h.reached, placed{p.id, p.workload, p.schedule.Programs, p.schedule.TriggeredFaults})
			return p, true
		}
	}
}

// settle counts what became of each schedule of the space. It goes through those that the
// search did not come to. h.mu is held.
func (h *Search) settle() {
	if h.exhausted = h.exhausted || h.o.Depth < 0; !h.exhausted {
		for _, more := h.reach(); more; _, more = h.reach() {
		}
	}
	why := map[Uncovered]int{}
	for i := range h.result.Depths {
		d := &h.result.Depths[i]
		*d = Depth{Faults: d.Faults, Same: d.Same}
	}
	for _, p := range h.reached {
		d := &h.result.Depths[len(p.triggered)]
		d.Space++
		f := h.fateOf(p)
		if f.broke {
			d.Broke++
		}
		switch f.what {
		case "":
			d.Ran++
		case WasDiscarded:
			d.Discarded++
			h.result.couldRun(p.triggered)
		case WasFailed:
			d.Failed++
			h.result.couldRun(p.triggered)
		case WasInfeasible:
			d.Infeasible++
		case WasImplied:
			d.Implied++
		default:
			d.NotReached++
			h.result.couldRun(p.triggered)
			continue
		}
		if f.what != "" {
			why[Uncovered{Faults: d.Faults, What: f.what, Why: f.why}]++
		}
	}
	for i := range h.result.Depths {
		d := &h.result.Depths[i]
		d.Done = d.NotReached == 0 && d.Failed == 0
	}
	h.result.Uncovered = listed(why)
}

// listed are reasons, those of the most schedules first.
func listed(why map[Uncovered]int) []Uncovered {
	var out []Uncovered
	for u, n := range why {
		u.Schedules = n
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b Uncovered) int {
		return cmp.Or(a.Faults-b.Faults, strings.Compare(a.What, b.What), b.Schedules-a.Schedules, strings.Compare(a.Why, b.Why))
	})
	return out
}

// notReached is the fate of a schedule for which there was no time.
const notReached = "not reached"

// fateOf is what became of a schedule that the search came to, or passed over.
func (h *Search) fateOf(p placed) fate {
	if f, ok := h.fates[p.id]; ok {
		return f
	}
	if why := cmp.Or(h.lacking(p.programs), h.hopeless(p.workload, p.triggered)); why != "" {
		return fate{what: WasInfeasible, why: why}
	}
	if why := h.implied(p.workload, p.triggered); why != "" {
		return fate{what: WasImplied, why: why}
	}
	return fate{what: notReached}
}

// implied is the fault of several that reproducibly breaks the lock by itself, so that a schedule with
// others beside it shows nothing new; "" if there is none.
func (h *Search) implied(workload string, triggered []scenarios.TriggeredFault) string {
	if len(triggered) < 2 {
		return ""
	}
	for _, st := range triggered {
		if slices.ContainsFunc(h.breaking[h.faultKey(workload, st)], h.reproducible) {
			return fmt.Sprintf("with %s alone the lock broke", st.Fault.Text)
		}
	}
	return ""
}

// reproducible says that a counterexample of a signature is known, and did not only come by chance.
func (h *Search) reproducible(sig Signature) bool {
	return slices.ContainsFunc(h.counterexamples, func(w *Counterexample) bool {
		return w.Steady() && (w.within(sig) || pendingKey(w.Signature) == pendingKey(sig))
	}) || slices.ContainsFunc(h.o.FoundElsewhere, func(known Signature) bool { return known.within(sig) })
}

// Complete counts as not reached what no portion has of a space: sizes are how many schedules it has without a fault, with one, and so on.
func (r *Result) Complete(sizes []int) {
	for i := range r.Depths {
		d := &r.Depths[i]
		if d.Faults >= len(sizes) || sizes[d.Faults] <= d.Space {
			continue
		}
		d.NotReached += sizes[d.Faults] - d.Space
		d.Space, d.Done = sizes[d.Faults], false
	}
}

// addCoverage adds the coverage of another part of the same space.
func (d *Depth) addCoverage(e Depth) {
	d.Space += e.Space
	d.Same += e.Same
	d.Ran += e.Ran
	d.Discarded += e.Discarded
	d.Failed += e.Failed
	d.Infeasible += e.Infeasible
	d.Implied += e.Implied
	d.NotReached += e.NotReached
	d.Broke += e.Broke
}

// mergeUncovered are the reasons of several parts of a space.
func mergeUncovered(lists ...[]Uncovered) []Uncovered {
	why := map[Uncovered]int{}
	for _, list := range lists {
		for _, u := range list {
			n := u.Schedules
			u.Schedules = 0
			why[u] += n
		}
	}
	return listed(why)
}
