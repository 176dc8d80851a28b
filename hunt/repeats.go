package hunt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/scenarios"
)

// Broken is one way in which a run broke the lock.
type Broken struct {
	Signature Signature // without the faults
	Anomaly   string    // by which it shows first
	Anomalies []int     // places of those among the verdict's
}

// BrokenBy lists the ways in which a verdict says that the lock was broken, the deepest cause
// first: those of find, or of every required property where that is nil.
func BrokenBy(v verdict.Verdict, find []string) []Broken {
	o := Options{Find: find}
	var out []Broken
	for _, sig := range o.signatures(v, &scenarios.Scenario{}) {
		for _, g := range v.Groups() {
			if sig.of(g) {
				out = append(out, Broken{sig, g.Name, g.Members})
				break
			}
		}
	}
	return out
}

// of says that a group of a verdict is what the signature stands for.
func (s Signature) of(g verdict.Group) bool {
	return (Signature{Anomaly: g.Name, Cause: g.Cause}).root() == s.root() || s.LeaseHazard() && late(g)
}

// Repeated is the schedule of several that shows what a run did.
type Repeated struct {
	Place     int       // among those that could be run
	Signature Signature // what it shows: the run's, or the same anomaly from another cause
	Rate      Rate      // of its runs
	Steady    bool      // it passed the sequential test
	Tried     int       // how many were run
	Runs      int       // of all of them together
}

// onceMore is how often each schedule is run again before the search reports that none shows it:
// two runs miss what comes now and then.
const onceMore = 3

// ErrNever is that none of the schedules showed what was looked for.
var ErrNever = errors.New("it did not come again")

// Repeats runs schedules in their order until one steadily breaks the lock as a run did.
// Where none does it returns one that steadily shows the same anomaly from another cause, and
// after that the one that showed either most often; the error is ErrNever where there is none
// of these. tell is called with each.
func Repeats(ctx context.Context, t Target, p Runner, all []*scenarios.Scenario, like Broken, find []string, tell func(place int, r Rate)) (Repeated, error) {
	h := New(Options{Target: t, Find: find})
	defer h.stop()
	best, other := Repeated{Place: -1}, Repeated{Place: -1}
	runs := 0
	for i, s := range all {
		// What is seen besides is what may be come back to.
		alike := map[string]*Repeated{}
		watched := watch{p, func(out *Outcome) {
			for _, sig := range h.o.signatures(out.Verdict, s) {
				if !slices.ContainsFunc(out.Verdict.Groups(), func(g verdict.Group) bool { return g.Name == like.Anomaly && sig.of(g) }) {
					continue
				}
				if alike[sig.root()] == nil {
					alike[sig.root()] = &Repeated{Place: i, Signature: sig}
				}
				alike[sig.root()].Rate.Hits++
			}
		}}
		rate, steady := h.repeat(ctx, watched, s, like.Signature, &sequential{}, 0)
		if err := ctx.Err(); err != nil {
			return best, err
		}
		tell(i, rate)
		best.Tried++
		runs += rate.Runs + rate.Discarded
		if r := (Repeated{i, like.Signature, rate, steady, best.Tried, 0}); rate.Hits > 0 && (best.Place < 0 || rate.hitRate() > best.Rate.hitRate()) {
			best = r
		}
		for _, r := range alike {
			if r.Rate.Runs = rate.Runs; other.Place < 0 || r.Rate.hitRate() > other.Rate.hitRate() {
				other = *r
			}
		}
		if steady {
			break
		}
	}
	tried := best.Tried
	if !best.Steady && other.Place >= 0 {
		rate, steady := h.repeat(ctx, p, all[other.Place], other.Signature, &sequential{}, 0)
		runs += rate.Runs + rate.Discarded
		if other.Rate, other.Steady = rate, steady; rate.Hits > 0 && (steady || best.Place < 0) {
			best = other
		}
	}
	for i := 0; best.Place < 0 && i < len(all) && ctx.Err() == nil; i++ {
		rate := h.rate(ctx, p, all[i], like.Signature, onceMore)
		if runs += rate.Runs + rate.Discarded; rate.Hits > 0 {
			tell(i, rate)
			best = Repeated{Place: i, Signature: like.Signature, Rate: rate}
		}
	}
	best.Tried, best.Runs = tried, runs
	if best.Place < 0 {
		return best, fmt.Errorf("%d schedules were run %d times: %w", tried, runs, ErrNever)
	}
	return best, ctx.Err()
}
