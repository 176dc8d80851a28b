package hunt

import (
	"context"
	"math"
	"time"

	"github.com/picklock/picklock/scenarios"
)

// fine is how exactly the ends of a range of times are found: so many leases, and such a part
// of the time.
const fine = 0.1

// enoughToCenter is how many runs must show the signature until a time counts as one of the
// range; what is chosen in the end has to pass the whole test.
const enoughToCenter = 3

// center gives every time of a schedule that is a number the middle of the range in which the
// signature comes: the steadiest, not the shortest. Beyond twice the shortest it does not look
// for the range's end, so that a run does not last longer than it has to.
func (k *shrinker) center(ctx context.Context, s *scenarios.Scenario) *scenarios.Scenario {
	if k.hitRate > 0 {
		return s // where it comes now and then, a range has no ends that few runs could find
	}
	for i := range times(s) {
		found := times(s)[i].inLeases(s.TTL)
		with := func(leases float64) *scenarios.Scenario {
			c := clone(s)
			times(c)[i].set(leases, s.TTL)
			return k.h.mutator.whole(c)
		}
		if c := with(2 * found); c == nil || key(c) == key(s) {
			continue // it is not written: what it belongs to is over as soon as it was done
		}
		comes := func(leases float64) bool {
			c := with(leases)
			if c == nil || k.runs >= k.budget || ctx.Err() != nil {
				return false
			}
			r, ok := k.h.repeatBeside(ctx, k.runner, c, k.sig, &sequential{}, enoughToCenter, k.runsBeside(enoughToCenter))
			k.runs += r.Runs + r.Discarded
			return ok
		}
		least := bisect(found, 0, comes)
		most := 2 * least
		if most > found && !comes(most) {
			most = bisect(found, most, comes)
		}
		c := with((least + most) / 2)
		if c == nil || key(c) == key(s) || k.runs >= k.budget || !k.same(ctx, c, 0) {
			continue
		}
		k.acceptedSteps = append(k.acceptedSteps, string(s.Write()))
		s = c
	}
	return s
}

// bisect is the last time at which it comes on the way from one at which it does to one at
// which it does not.
func bisect(does, not float64, comes func(float64) bool) float64 {
	for math.Abs(does-not) > max(fine, fine*does) {
		if middle := (does + not) / 2; comes(middle) {
			does = middle
		} else {
			not = middle
		}
	}
	return does
}

// length is a time of a schedule that a number says.
type length struct{ *scenarios.Span }

// times are those of a schedule: how long a client thinks or waits for the lock, and how long
// a fault lasts that no event ends.
func times(s *scenarios.Scenario) []length {
	var out []length
	for _, c := range s.Clients {
		for i := range s.Programs[c] {
			if span := &s.Programs[c][i].Span; *span != (scenarios.Span{}) {
				out = append(out, length{span})
			}
		}
	}
	for i := range s.TriggeredFaults {
		if u := &s.TriggeredFaults[i].Until; u.Await == nil && u.Move.Client == "" && u.Or != (scenarios.Span{}) {
			out = append(out, length{&u.Or})
		}
	}
	return out
}

func (l length) inLeases(ttl time.Duration) float64 { return float64(l.Of(ttl)) / float64(ttl) }

// set gives it so many leases, in the unit that it has.
func (l length) set(leases float64, ttl time.Duration) {
	leases = max(fine, math.Round(leases/fine)*fine)
	if l.Leases > 0 {
		l.Leases = math.Round(leases*100) / 100
		return
	}
	l.Fixed = time.Duration(leases * float64(ttl)).Round(time.Millisecond)
}
