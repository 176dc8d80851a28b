package hunt

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"
)

// Part is which schedules of the space a search runs: every Step-th from First on that
// comes before End. The zero Part is all of them. Places in the space are the same on every
// machine, whatever is left out there after what was seen.
type Part struct {
	First int `json:"first,omitempty"`
	Step  int `json:"step,omitempty"` // 0: 1
	End   int `json:"end,omitempty"`  // 0: no end
}

// has says that a place is in the part.
func (p Part) has(place int) bool {
	return place >= p.First && (p.End == 0 || place < p.End) && (place-p.First)%max(1, p.Step) == 0
}

// over says that no later place is in the part.
func (p Part) over(place int) bool { return p.End > 0 && place >= p.End }

// Size is how many places the space of the target has up to a depth.
func (t Target) Size(depth int) int {
	n := 0
	for _, of := range t.Sizes(depth) {
		n += of
	}
	return n
}

// Sizes is how many of those places have no fault, one fault, and so on up to a depth.
func (t Target) Sizes(depth int) []int {
	out := make([]int, max(0, depth+1))
	for p := range space(t, depth) {
		out[p.depth]++
	}
	return out
}

// numbered gives the space, each point with its place. What symmetry leaves out has the place of
// the point before it.
func numbered(t Target, depth int) iter.Seq2[int, point] {
	return func(yield func(int, point) bool) {
		place := -1
		for p := range enumerate(t, depth) {
			if !p.same {
				place++
			}
			if !yield(place, p) {
				return
			}
		}
	}
}

// portionOf gives the schedules of a part of the space, with what symmetry leaves out of it.
func portionOf(t Target, depth int, part Part) iter.Seq[point] {
	return func(yield func(point) bool) {
		for place, p := range numbered(t, depth) {
			if part.over(place) {
				return
			}
			if part.has(place) && !yield(p) {
				return
			}
		}
	}
}

// Portion is what one part of a hunt came to, with all that it takes to put it together
// with others: those of other shards, or of other workers.
type Portion struct {
	Result     Result            `json:"result"`
	States     []uint64          `json:"states,omitempty"`
	Infeasible map[string]string `json:"infeasible,omitempty"` // triggers that never come and faults that could not be done, with the reason
	Confirmed  []string          `json:"confirmed,omitempty"`  // faults that took effect
	// Skipped counts, by fault, the schedules that were passed over since it could not be done.
	Skipped map[string]int `json:"skipped,omitempty"`
	Unable  []string       `json:"unable,omitempty"` // faults that the cluster can never do, and why
}

// Portion is what the search has come to.
func (h *Search) Portion() Portion {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.result
	r.Counterexamples = slices.Clone(h.counterexamples)
	return Portion{
		Result: r, Infeasible: maps.Clone(h.infeasible),
		States: slices.Sorted(maps.Keys(h.corpus.states)), Confirmed: slices.Sorted(maps.Keys(h.confirmed)), Skipped: maps.Clone(h.skipped), Unable: h.o.Target.unable(),
	}
}

// Assemble is the search that all portions together are, as if one machine had made it: its
// counterexamples can be finished. Portions are of different parts: what is given twice counts twice.
func Assemble(o Options, portions []Portion) *Search {
	h := New(o)
	h.stop()
	h.stop, h.spaced = func() {}, map[int]bool{}
	for _, p := range slices.SortedFunc(slices.Values(portions), func(a, b Portion) int { return a.Result.Started.Compare(b.Result.Started) }) {
		h.add(p)
	}
	h.uneven()
	for fault := range h.confirmed {
		delete(h.infeasible, "fault "+fault)
	}
	h.result.Curve = together(portions)
	h.result.States = len(h.corpus.states)
	h.result.Infeasible = h.infeasibleFaults()
	h.merge()
	h.group() // what each knows of the acts that its counterexamples need
	h.name()
	h.result.Counterexamples = h.counterexamples
	return h
}

// uneven says which faults some of those who ran could do and others passed over: what
// these left out was run by nobody, and nothing is whole.
func (h *Search) uneven() {
	for _, fault := range slices.Sorted(maps.Keys(h.skipped)) {
		if h.confirmed[fault] {
			h.result.Uneven = append(h.result.Uneven, fmt.Sprintf("%s: passed over in %d schedules", fault, h.skipped[fault]))
		}
	}
	if len(h.result.Uneven) == 0 {
		return
	}
	for i := range h.result.Depths {
		if d := &h.result.Depths[i]; d.Faults > 0 {
			d.Done = false
		}
	}
}

// Result is what the search has come to, for what is read of it.
func (h *Search) Result() *Result { return &h.result }

func (h *Search) add(p Portion) {
	r, q := &h.result, p.Result
	if r.Started.IsZero() {
		r.Started = q.Started
	}
	r.Seconds += q.Seconds
	r.Runs += q.Runs
	r.Searched += q.Searched
	r.Discarded += q.Discarded
	r.Busy += q.Busy
	r.Failed += q.Failed
	r.FailedWhy = cmp.Or(r.FailedWhy, q.FailedWhy)
	r.Granted += q.Granted
	r.Guided += q.Guided
	r.GuidedDiscarded += q.GuidedDiscarded
	for property, n := range q.Decided {
		r.decide(nil)
		r.Decided[property] += n
	}
	for kind, n := range q.FaultRuns {
		r.FaultRuns[kind] += n
	}
	r.CPU += q.CPU
	r.Processors = max(r.Processors, q.Processors)
	r.Starts += q.Starts
	r.CutShort = r.CutShort || q.CutShort
	r.Stopped = cmp.Or(r.Stopped, q.Stopped)
	r.TTL = max(r.TTL, q.TTL)
	for i := range r.Depths {
		d := &r.Depths[i]
		for _, e := range q.Depths {
			if e.Faults == d.Faults {
				d.Done = (d.Done || !h.spaced[d.Faults]) && e.Done
				h.spaced[d.Faults] = true
				d.addCoverage(e)
			}
		}
	}
	r.Uncovered = mergeUncovered(r.Uncovered, q.Uncovered)
	for _, st := range p.States {
		h.corpus.states[st] = true
	}
	maps.Copy(h.infeasible, p.Infeasible)
	for _, f := range p.Confirmed {
		h.confirmed[f] = true
	}
	for f, n := range p.Skipped {
		h.skipped[f] += n
	}
	h.unable = append(h.unable, p.Unable...)
	for _, w := range q.Counterexamples {
		c := *w
		h.counterexamples = append(h.counterexamples, &c)
	}
}

// curvePoints is how many points a curve of several portions has at most.
const curvePoints = 500

// together adds the curves of all portions up, by the clock. New states that two of them
// saw cannot be distinguished: the curve has the most that one had seen.
func together(portions []Portion) []Sample {
	type at struct {
		when    time.Time
		portion int
		sample  Sample
	}
	var all []at
	for i, p := range portions {
		for _, s := range p.Result.Curve {
			all = append(all, at{p.Result.Started.Add(time.Duration(s.Seconds * float64(time.Second))), i, s})
		}
	}
	slices.SortStableFunc(all, func(a, b at) int { return cmp.Or(a.when.Compare(b.when), a.portion-b.portion) })
	curve := []Sample{}
	last, sum := map[int]Sample{}, Sample{}
	for i, a := range all {
		before := last[a.portion]
		last[a.portion] = a.sample
		sum.Seconds = a.when.Sub(portions[all[0].portion].Result.Started).Seconds()
		sum.Runs += a.sample.Runs - before.Runs
		sum.Counterexamples += a.sample.Counterexamples - before.Counterexamples
		sum.States = max(sum.States, a.sample.States)
		if i%max(1, len(all)/curvePoints) == 0 || i == len(all)-1 {
			curve = append(curve, sum)
		}
	}
	return curve
}
