package hunt

import (
	"math/rand/v2"

	"github.com/picklock/picklock/scenarios"
)

// entry is a schedule that showed something new.
type entry struct {
	schedule *scenarios.Scenario
	gain     int // new states that it brought
	close    bool
	chosen   int
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

// add takes what a play showed; it says how many states were new.
func (c *corpus) add(s *scenarios.Scenario, f feedback) int {
	e := &entry{schedule: s}
	for _, st := range f.states {
		if !c.states[st] {
			c.states[st] = true
			e.gain++
		}
	}
	for property, m := range f.margins {
		a := c.archives[property]
		if a == nil || m < a.margin*0.9 {
			c.archives[property] = &archive{m, e}
			e.close = true
		}
	}
	if e.gain > 0 || e.close {
		c.entries = append(c.entries, e)
	}
	return e.gain
}

// choose draws a schedule to change: half of the time one that is close to a violation,
// else one in favour of what was new and has not been chosen often.
func (c *corpus) choose(rng *rand.Rand) *scenarios.Scenario {
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
			return closest[rng.IntN(len(closest))].schedule
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
	return best.schedule
}

func (e *entry) worth() float64 { return float64(e.gain+1) / float64(e.chosen+1) }
