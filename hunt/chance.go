package hunt

import (
	"math"
	"slices"
)

// mayBeChance is the probability from which on what a schedule showed may have come by chance.
const mayBeChance = 0.05

// byChance puts counterexamples with faults under one without any that shows the same, if they came no more often
// than that anomaly comes in whatever schedule: their faults are no part of it. What comes now and then without a
// fault comes now and then beside each of them, too.
func (h *Search) byChance() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.order()
	all := slices.Clone(h.counterexamples) // the deletion moves them
	h.counterexamples = slices.DeleteFunc(h.counterexamples, func(w *Counterexample) bool {
		if w.Faults == 0 || w.Hazard() {
			return false
		}
		i := slices.IndexFunc(all, func(o *Counterexample) bool {
			return o.Faults == 0 && len(o.Kinds) == 0 && o.root() == w.root()
		})
		if i < 0 || float64(w.others+1)*w.Search.beyond(h.usual(w)) < mayBeChance { // of several schedules the one is kept that shows it most often
			return false
		}
		o := all[i]
		o.Seen += w.Seen
		if !slices.Contains(o.ByChance, w.Takes()) {
			o.ByChance = append(o.ByChance, w.Takes())
		}
		return true
	})
}

// usual is in which part of all other schedules the search saw what a counterexample shows.
func (h *Search) usual(w *Counterexample) float64 {
	// Without its own. What another part of the hunt has found, this one may never have seen.
	r := Rate{Hits: max(0, h.showed[w.root()]-1), Runs: h.judged - 1}
	return r.hitRate()
}

// beyond is how probable it is that a schedule shows something as often as it did, or more often, when it was run again,
// if it shows it in that part of its runs. The run that it was found in does not count: it was chosen for what
// it showed.
func (r Rate) beyond(part float64) float64 {
	n, k := r.Runs-1, r.Hits-1
	if k <= 0 {
		return 1
	}
	// The binomial distribution's tail.
	p := 0.0
	for i := k; i <= n; i++ {
		p += choose(n, i) * math.Pow(part, float64(i)) * math.Pow(1-part, float64(n-i))
	}
	return p
}

// choose is the number of ways to take k of n.
func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c *= float64(n-i) / float64(i+1)
	}
	return c
}
