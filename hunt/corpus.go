package hunt

import (
	"math/rand/v2"
	"slices"

	"github.com/picklock/picklock/scenarios"
)

// entry is a schedule that showed something new. It is changed only after it has shown it
// again: what one run brought may have been the machine's doing.
type entry struct {
	schedule *scenarios.Scenario
	gained   []uint64           // new states that it brought
	closest  map[string]float64 // margins that no other had, by property
	chosen   int
	asked    bool // it is being run again
	proven   bool // it showed something of that again
}

// corpus is what guided mutation starts from. There is one archive for each property's
// margin: a schedule that comes close to one is not lost behind those close to another.
type corpus struct {
	entries  []*entry
	states   map[uint64]bool
	archives map[string]*archive
}

type archive struct {
	margin float64
	entry  *entry
}

func newCorpus() *corpus {
	return &corpus{states: map[uint64]bool{}, archives: map[string]*archive{}}
}

// add takes what a run showed, and says whether anything of it is new.
func (c *corpus) add(s *scenarios.Scenario, f feedback) bool {
	e := &entry{schedule: s, closest: map[string]float64{}}
	for _, st := range f.states {
		if !c.states[st] {
			c.states[st] = true
			e.gained = append(e.gained, st)
		}
	}
	for property, m := range f.margins {
		a := c.archives[property]
		if a == nil || m < a.margin*closer {
			c.archives[property] = &archive{m, e}
			e.closest[property] = m
		}
	}
	if len(e.gained) > 0 || len(e.closest) > 0 {
		c.entries = append(c.entries, e)
		return true
	}
	return false
}

// closer is what a margin has to be of another to count as closer.
const closer = 0.9

// again takes what an entry showed when it was run once more: it stays if that was some
// of what was new about it.
func (c *corpus) again(e *entry, f feedback) {
	e.proven = slices.ContainsFunc(e.gained, func(st uint64) bool { return slices.Contains(f.states, st) })
	for property, m := range e.closest {
		if have, ok := f.margins[property]; ok && have*closer <= m {
			e.proven = true
		} else if a := c.archives[property]; a != nil && a.entry == e {
			delete(c.archives, property)
		}
	}
	if !e.proven {
		c.entries = slices.DeleteFunc(c.entries, func(o *entry) bool { return o == e })
	}
}

// choose draws a schedule to change: half of the time one that is close to a violation,
// else one in favour of what was new and has not been chosen often.
func (c *corpus) choose(rng *rand.Rand) *entry {
	if len(c.entries) == 0 {
		return nil
	}
	if rng.IntN(2) == 0 {
		var closest []*entry
		for _, property := range []string{"exclusion", "belief", "register"} {
			if a := c.archives[property]; a != nil {
				closest = append(closest, a.entry)
			}
		}
		if len(closest) > 0 {
			return closest[rng.IntN(len(closest))]
		}
	}
	best := c.entries[rng.IntN(len(c.entries))]
	for range 4 {
		e := c.entries[rng.IntN(len(c.entries))]
		if e.worth() > best.worth() {
			best = e
		}
	}
	best.chosen++
	return best
}

func (e *entry) worth() float64 { return float64(len(e.gained)+1) / float64(e.chosen+1) }
