package checker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picklock/picklock/internal/format"
)

// ranWrong is how a clock was set, and how it went on: an offset alone leaves it running as it should.
type ranWrong struct {
	said    bool    // the history says all of it
	rate    float64 // of the fastest one; 0 if the history does not say that one ran wrong
	slowest float64 // the same of the slowest one
	strobed bool
	ahead   int64 // ns: by how much the one that was set forward most was set
	behind  bool  // one was set back
	back    int64 // ns: by how much at most
}

// readRanWrong reads it from the steps that a history gives for the fault: "clock: s1 +2s x1.5; clock: s2 strobe 1s".
func readRanWrong(steps string) (r ranWrong) {
	unread := false
	for step := range strings.SplitSeq(steps, ";") {
		name, rest, _ := strings.Cut(strings.TrimSpace(step), ":")
		words := strings.Fields(rest)
		if name != "clock" || len(words) < 2 {
			continue
		}
		r.said = true
		for _, w := range words[1:] { // the first one is the node
			unread = !r.read(w) || unread
		}
	}
	r.said = r.said && !unread
	return r
}

// read takes one word of how a clock was set; false if it is not understood.
func (r *ranWrong) read(w string) bool {
	if text, ok := strings.CutPrefix(w, "x"); ok {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil || rate <= 0 {
			return false
		}
		if r.rate = max(r.rate, rate); r.slowest == 0 || rate < r.slowest {
			r.slowest = rate
		}
		return true
	}
	if w == "strobe" {
		r.strobed = true
		return true
	}
	by, err := time.ParseDuration(w)
	switch {
	case err != nil:
		return false
	case w[0] == '+': // a strobe's jumps have no sign
		r.ahead = max(r.ahead, int64(by))
	case by < 0:
		r.behind, r.back = true, max(r.back, -int64(by))
	}
	return true
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

// settling is how long it may take from when a clock is to be set until it is.
const settling = 50e6

// setOnly says that the fault set clocks of the service, which then ran as they should until they were set right.
func (f *fault) setOnly() bool {
	return f.name == "clock" && f.clients == 0 && f.confirmed && !f.clock.strobed && f.clock.rate <= 1
}

// forward lists when such a fault set a clock forward: only that ends a lease early that is counted by it.
func (f *fault) forward() []interval {
	unsaid := f.clock.ahead == 0 && !f.clock.behind
	var out []interval
	if f.clock.ahead > 0 || unsaid {
		out = append(out, interval{f.begin, min(f.end, f.begin+settling)})
	}
	if f.clock.behind || unsaid {
		out = append(out, interval{max(f.begin, f.end-settling), f.end})
	}
	return out
}

// setForward is the fault that set a clock of the service forward in [from, to], and did it at no other time. If it did
// so when it began, it began in there, too.
func (l *faultLog) setForward(from, to int64) *fault {
	for _, f := range slices.Backward(l.service.latest(nil, from, to)) {
		if when := f.forward(); f.setOnly() && len(when) == 1 && when[0].from <= to && when[0].to >= from && (f.clock.behind || f.begin >= from) {
			return f
		}
	}
	return nil
}

// mayDrop says whether a fault of the service can have ended a grant by some time: any but that of a clock that was set
// before the grant, or set back, and any but one on another client's links. A bound keeps a hostile history from making
// this quadratic.
func (l *faultLog) mayDrop(g *grant, to int64, before *fault) bool {
	within := func(s interval) bool { return s.from <= to && s.to >= g.lo }
	list := l.service.latest(nil, g.lo, to)
	return len(list) == maxTouched || slices.ContainsFunc(list, func(f *fault) bool {
		return f != before && !f.onResource() && (f.concernsOthers() || f.hits(g.process)) && (!f.setOnly() || slices.ContainsFunc(f.forward(), within))
	})
}

// keptByClock is the fault of a clock by which g's lease, or an expiry that the library keeps to itself, may have gone on after that was to
// end, and throughout the wait: a clock of the service that was set right while g had the lock, until it has caught up; or that of g's own
// client, which was ahead when it was granted the lock.
func keptByClock(an *analysis, g *grant, w *wait) *fault {
	end := satAdd(g.believedEnd, an.opt.TTL) // what was asked for is not over sooner
	if g.lease > 0 {
		end = g.heldUntil()
	}
	for i := range an.faults.list {
		f := &an.faults.list[i]
		if f.name != "clock" || !f.confirmed || !f.setBackDuring(g, end) && !f.aheadDuring(g) {
			continue
		}
		if until := satAdd(end, f.ahead()); until >= w.from+an.opt.Bound && w.to <= satAdd(until, an.opt.Bound) {
			return f
		}
	}
	return nil
}

// lengthen notes by how much the leases may last longer whose clients were given the same token again, as a clock of the service was set back while they ran.
func (l *faultLog) lengthen(k *lock) {
	for _, g := range k.grants {
		if g.anew == nil || g.token == 0 || g.token != g.anew.token {
			continue
		}
		end := g.heldUntil()
		for _, f := range l.service.latest(nil, g.lo, end) {
			if f.name == "clock" && f.setBackDuring(g, end) {
				g.longer = max(g.longer, f.ahead())
			}
		}
	}
}

// setBackDuring says that it was a clock of the service that was set right while g had the lock, until end.
func (f *fault) setBackDuring(g *grant, end int64) bool {
	return f.clients == 0 && f.end >= g.lo && f.end <= end
}

// aheadDuring says that the clock of g's client was wrong from before its grant to after it.
func (f *fault) aheadDuring(g *grant) bool {
	return f.clients > 0 && f.hits(g.process) && f.begin < g.lo && f.end > g.okT
}

// ahead is by how much the clock was ahead when the fault ended: of one that ran fast, also what it had gained until then. It
// is 0 if that is not known.
func (f *fault) ahead() int64 {
	if f.clock.behind {
		return f.clock.ahead
	}
	gained := max(0, f.clock.rate-1) * float64(f.end-f.begin)
	return satAdd(f.clock.ahead, int64(min(gained, float64(never/2))))
}

// setBackWords say that a clock of the service was set back, and when.
func (f *fault) setBackWords() string {
	return fmt.Sprintf("; a clock of the service was set back by %s at %s, while that ", dur(f.ahead()), format.Instant(f.end))
}
