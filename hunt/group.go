package hunt

import (
	"slices"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// group puts counterexamples of one bug together: the least of them stays, and the others become its
// variants. It is called when they are in their order and nothing more can be left away from them.
func (h *Search) group() {
	var heads []*Counterexample
	for _, w := range h.counterexamples {
		i := slices.IndexFunc(heads, func(head *Counterexample) bool { return head.sameBug(w) })
		if i < 0 {
			heads = append(heads, w)
			continue
		}
		head := heads[i]
		head.Seen += w.Seen
		head.Variants = append(head.Variants, append([]*Counterexample{w}, w.Variants...)...)
		w.Variants = nil
		if w.FirstSecond < head.FirstSecond {
			head.FirstSecond, head.FirstRun = w.FirstSecond, w.FirstRun
		}
	}
	h.counterexamples = heads
}

// sameBug says that two counterexamples show one bug by different faults: the same anomaly has the
// same cause, and of what nothing more can be left away from, the same acts on the service remain.
// Of one that may not be minimal, nobody knows what it needs.
func (w *Counterexample) sameBug(o *Counterexample) bool {
	if w.root() != o.root() || w.Larger != "" || o.Larger != "" || !w.Steady() || !o.Steady() {
		return false
	}
	needs, other := w.needs(), o.needs()
	return len(needs) > 0 && slices.Equal(needs, other)
}

// needs are the acts by which a minimal schedule ends or changes a grant: a release, a renewal. An
// acquire and a critical section are in every schedule, and say nothing.
func (w *Counterexample) needs() []string {
	s, err := w.scenario()
	if err != nil {
		return nil
	}
	var out []string
	for _, p := range s.Programs {
		for _, m := range p {
			if m.Do == history.Release || m.Do == history.Renew {
				out = append(out, m.Do)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// once says that the counterexample never came again.
func (w *Counterexample) once() bool {
	return w.Search.Hits+w.Alone.Hits == 1 && w.Search.Runs+w.Alone.Runs > 1
}

// Once is what a counterexample that never came again came after, on the same servers and clients:
// what that left behind may be its cause. "" if it came again.
func (w *Counterexample) Once() string {
	if !w.once() {
		return ""
	}
	if w.After == "" {
		return "the first schedule of its testbed"
	}
	return w.After
}

// described is a schedule in a line: its faults.
func described(s *scenarios.Scenario) string {
	if s == nil {
		return ""
	}
	if len(s.TriggeredFaults) == 0 {
		return "a schedule without faults"
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
