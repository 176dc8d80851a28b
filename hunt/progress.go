package hunt

import (
	"slices"
	"time"
)

// Progress is the search as it goes.
type Progress struct {
	Runs, Discarded, States, Depth int
	Searched                       int // runs of this search, without those of one that it goes on with
	Guided                         int
	Beyond                         bool // the space is run: all that follows is guided
	Counterexamples                []*Counterexample
	Elapsed, Left                  time.Duration
}

// sampleEvery is how often the curve gets a point.
const sampleEvery = time.Second

func (h *Search) sample(now bool) {
	if !now && time.Since(h.lastSample) < sampleEvery {
		return
	}
	h.lastSample = time.Now()
	h.result.Curve = append(h.result.Curve, Sample{time.Since(h.began).Seconds(), h.result.Runs, len(h.corpus.states), len(h.counterexamples)})
}

// progress tells how it goes. h.mu is held.
func (h *Search) progress() {
	h.sample(false)
	if h.o.Progress == nil {
		return
	}
	p := Progress{Runs: h.result.Runs, Searched: h.result.Runs - h.before, Discarded: h.result.Discarded, States: len(h.corpus.states), Guided: h.result.Guided, Counterexamples: slices.Clone(h.counterexamples), Elapsed: time.Since(h.began)}
	p.Left = h.o.Time - p.Elapsed
	p.Depth, p.Beyond = h.depth, h.gone()
	h.o.Progress(p)
}
