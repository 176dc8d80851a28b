package hunt

import (
	"fmt"
	"slices"

	"github.com/picklock/picklock/scenarios"
)

// name numbers the counterexamples, and writes their schedules anew.
func (h *Search) name() { h.number(h.signNamed) }

// number gives the counterexamples their names; named is called with each of them.
func (h *Search) number(named func(w *Counterexample)) {
	for i, w := range h.counterexamples {
		w.Name = fmt.Sprintf("counterexample-%d-%s", i+1, w.Anomaly)
		named(w)
		for j, v := range w.Variants {
			v.Name = fmt.Sprintf("%s-variant-%d", w.Name, j+1)
			named(v)
		}
	}
}

// rename gives a counterexample's schedule its name, and changes nothing else in it.
func rename(w *Counterexample) {
	if s, err := w.scenario(); err == nil { // what was written can be read
		s.Name = w.Name
		w.Schedule = string(s.Write())
	}
}

func (h *Search) signNamed(w *Counterexample) {
	if s, err := w.scenario(); err == nil { // what was written can be read
		h.sign(w, s)
	}
}

// sign makes a schedule the scenario of the counterexample, as its file has it: with its name, what
// was found, how often it came, and what is to be seen.
func (h *Search) sign(w *Counterexample, s *scenarios.Scenario) {
	s.Name = w.Name
	s.About = fmt.Sprintf("Found by picklock hunt. %s: %s", w.Signature, w.Explanation)
	s.Lease = 0
	if !w.Evidence.showsLease() {
		s.Lease = h.lease
	}
	r := w.rate()
	s.Replay = fmt.Sprintf("%d of %d", r.Hits, r.Runs)
	s.Expect = []scenarios.Expectation{{Lock: h.o.Target.Lock, Fencing: scenarios.Every, Must: w.mustSee(), May: others(w.mustSee())}}
	w.Schedule = string(s.Write())
}

// mustSee are the anomalies that make the counterexample.
func (w *Counterexample) mustSee() []string {
	if w.LeaseHazard() {
		return w.Anomalies[:min(1, len(w.Anomalies))]
	}
	return []string{w.Anomaly}
}

// Forbid are the anomalies that must not appear any more once the lock is mended: all that the
// counterexample came to.
func (w *Counterexample) Forbid() []string {
	if w.LeaseHazard() {
		return slices.Clone(w.Anomalies)
	}
	return []string{w.Anomaly}
}

// others are the anomalies that may come of it besides.
func others(must []string) []string {
	var out []string
	for _, a := range scenarios.Anomalies {
		if !slices.Contains(must, a) {
			out = append(out, a)
		}
	}
	return out
}
