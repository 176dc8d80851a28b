package checker

import "slices"

// shift is by how much two clocks that count one lease may differ in what they count of it, one of which the fault set: the lease ends
// no earlier than that. false if the history does not say how the clock was set.
func (f *fault) shift() (by int64, known bool) {
	c := f.clock
	if !c.said || c.strobed {
		return 0, false
	}
	spread := max(0, c.rate-1)
	if c.slowest > 0 {
		spread += max(0, 1-c.slowest)
	}
	drift := spread * float64(f.end-f.begin)
	return satAdd(satAdd(c.ahead, c.back), int64(min(drift, float64(never/2)))), true
}

// withoutSmallClocks drops the clocks from parts of a stake if all of them together cannot have ended its lease with so much of it left.
func (s *stake) withoutSmallClocks(parts []part) []part {
	if s.lease <= 0 || s.shortest <= 0 {
		return parts
	}
	total := max(settling, int64(rateSlack*float64(s.lease)))
	ofClock := func(p part) bool { return baseName(p.name) == "clock" }
	for _, p := range parts {
		if !ofClock(p) {
			continue
		}
		by, known := p.shift()
		if !known {
			return parts
		}
		total = satAdd(total, by)
	}
	if s.shortest <= total {
		return parts
	}
	return slices.DeleteFunc(parts, ofClock)
}
