package checker

import (
	"strconv"
	"strings"
)

// ranWrong is how a clock that was set went on: an offset alone leaves it running as it should.
type ranWrong struct {
	rate    float64 // of the fastest one; 0 if the history does not say that one ran wrong
	strobed bool
}

// readRanWrong reads it from the steps that a history gives for the fault: "clock: s1 +2s x1.5; clock: s2 strobe 1s".
func readRanWrong(steps string) (r ranWrong) {
	for step := range strings.SplitSeq(steps, ";") {
		name, rest, _ := strings.Cut(strings.TrimSpace(step), ":")
		words := strings.Fields(rest)
		if name != "clock" || len(words) < 2 {
			continue
		}
		for _, w := range words[1:] { // the first one is the node
			if text, ok := strings.CutPrefix(w, "x"); ok {
				if rate, err := strconv.ParseFloat(text, 64); err == nil {
					r.rate = max(r.rate, rate)
				}
			}
			r.strobed = r.strobed || w == "strobe"
		}
	}
	return r
}

// rateSlack is by how much of a lease more than its rate a fast clock may seem to have taken off: the rate is kept by
// shifting the clock from time to time, and is measured with an error.
const rateSlack = 0.05

// ends says that such a clock, wrong from before a lease until after, ends the lease with so much of it left.
func (r ranWrong) ends(left, lease int64) bool {
	if r.strobed {
		return true
	}
	return r.rate > 1 && float64(left) <= float64(lease)*(1-1/r.rate+rateSlack)
}
