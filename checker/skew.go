package checker

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/picklock/picklock/checker/verdict"
)

// Clocks of several machines. A history is judged twice: with the times as they are, and
// widened (skew_widen.go), where every request is earlier and every answer later by half of
// the skew, so that only what no shift of the clocks could change is left to prove
// anything. What is false both ways is false. What is true both ways is true if, besides,
// no two things on different machines are so near that a shift could make them a break
// (skew_near.go). Everything else is unknown.

// clocks says whose clock the times of a process are of.
type clocks struct {
	skew int64          // 0: there is one clock
	of   map[string]int // process -> machine; nil where the skew is 0
}

func (r *reader) clocks(skew int64) clocks {
	if skew <= 0 {
		return clocks{}
	}
	c := clocks{skew, map[string]int{}}
	machines := map[string]int{}
	for name, p := range r.names.byName {
		if p.machine == "" {
			c.of[name] = len(c.of) // of nobody else's
			continue
		}
		if _, known := machines[p.machine]; !known {
			machines[p.machine] = -1 - len(machines)
		}
		c.of[name] = machines[p.machine]
	}
	return c
}

// apart is the same with a machine for each process.
func (c *clocks) apart() clocks {
	out := clocks{c.skew, map[string]int{}}
	for name := range c.of {
		out.of[name] = len(out.of)
	}
	return out
}

// one says whether all these processes have one clock.
func (c *clocks) one(processes []string) bool {
	for _, p := range processes {
		if c.of[p] != c.of[processes[0]] {
			return false
		}
	}
	return true
}

// together says whether all that was done with a lock has the times of one clock.
func (c *clocks) together(k *lock) bool {
	first, seen := 0, false
	same := func(process string) bool {
		m := c.of[process]
		if !seen {
			first, seen = m, true
		}
		return m == first
	}
	for _, g := range k.grants {
		if !same(g.process) {
			return false
		}
	}
	for _, list := range [][]*op{k.acquires, k.released, k.ops} {
		for _, o := range list {
			if !same(o.process) {
				return false
			}
		}
	}
	return true
}

// widened is the same input, to be judged by what holds within the skew.
func (in Input) widened() Input {
	in.Options.widened, in.Options.SkipCrossCheck = true, true
	return in
}

// verdictWithin draws the verdict from both readings of a history.
func verdictWithin(ctx context.Context, plain, wide *analysis) Verdict {
	read, v := plain.verdict(ctx), wide.verdict(ctx)
	v.Anomalies = plain.certain(read.Anomalies, v.Anomalies)
	count := map[string]int{}
	for _, a := range v.Anomalies {
		count[a.Property]++
	}
	for _, name := range Properties {
		v.Properties[name] = plain.within(name, read.Properties[name], v.Properties[name], count[name])
	}
	v.Anomalies = slices.DeleteFunc(v.Anomalies, func(a Anomaly) bool { return v.Properties[a.Property].Valid != False })
	contested := v.Stats.Contested
	v.Stats = read.Stats
	v.Stats.Contested, v.Stats.FirstAnomaly = contested, 0
	for _, a := range v.Anomalies {
		if v.Properties[a.Property].Required {
			v.Stats.FirstAnomaly = a.Time
			break
		}
	}
	wide.conclude(&v)
	return v
}

// certain lists what is broken however the clocks are shifted: what the widened history
// shows, told with the times as they are, and what happened on one machine.
func (an *analysis) certain(read, wide []Anomaly) []Anomaly {
	out := slices.Clone(wide)
	for i := range out {
		out[i].Explanation += fmt.Sprintf("; told with each request %s earlier and each answer as much later than the clocks said", dur((an.clocks.skew+1)/2))
	}
	same := func(a, b *Anomaly) bool {
		return a.Name == b.Name && a.Key == b.Key && a.Cause == b.Cause && slices.Equal(a.Grants, b.Grants) &&
			slices.Equal(a.Events, b.Events) && slices.Equal(a.Effects, b.Effects)
	}
	seed := maphash.MakeSeed()
	places := map[uint64][]int{}
	for i := range out {
		h := proofHash(seed, &out[i])
		places[h] = append(places[h], i)
	}
	for _, a := range read {
		h := proofHash(seed, &a)
		n := slices.IndexFunc(places[h], func(i int) bool { return same(&a, &out[i]) })
		switch {
		case n >= 0:
			out[places[h][n]] = a
		case an.skewInvariant(a):
			places[h] = append(places[h], len(out))
			out = append(out, a)
		}
	}
	sortAnomalies(out)
	return out
}

// proofHash is the same of anomalies that are proved alike.
func proofHash(seed maphash.Seed, a *Anomaly) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, text := range []string{a.Name, a.Key, a.Cause} {
		maphash.WriteComparable(&h, text)
	}
	for _, id := range a.Grants {
		maphash.WriteComparable(&h, id)
	}
	for _, list := range [][]int64{a.Events, a.Effects} {
		for _, n := range list {
			maphash.WriteComparable(&h, n)
		}
	}
	return h.Sum64()
}

// skewInvariant says that all the times that an anomaly rests on are of one clock.
func (an *analysis) skewInvariant(a Anomaly) bool {
	if !verdict.Info(a.Name).SkewInvariant || !an.clocks.one(a.Processes) {
		return false
	}
	// A kill, or the history's end, by another clock, ends what a client believes.
	return a.Property != Belief || !an.kills() && a.Time < an.last-an.clocks.skew
}

// kills says whether clients were killed.
func (an *analysis) kills() bool { return an.faults.killed }

// within is the verdict on a property, of the one with the times as they are and the one
// of the widened history, in which so many anomalies are certain.
func (an *analysis) within(name string, read, wide Property, anomalies int) Property {
	out := wide
	out.Required, out.Anomalies = read.Required || wide.Required, 0
	apart := fmt.Sprintf("clocks that are up to %s apart", dur(an.clocks.skew))
	near := func() string { return an.near(name) }
	switch {
	case read.Valid == Unknown:
		out.Valid, out.Why, out.Required = Unknown, read.Why, read.Required
		if name == Exclusion && !out.Required && near() != "" {
			// What was not tried, by the times as they are, may have been.
			out.Required, out.Why = true, fmt.Sprintf("%s; and %s leave open whether it broke: %s", read.Why, apart, near())
		}
	case name == Register && an.readsInDoubt():
		out.Valid, out.Why = Unknown, fmt.Sprintf("which reads of unknown outcome are in the register's log, %s leave open", apart)
	case read.Valid == False && anomalies > 0:
		out.Valid, out.Anomalies = False, anomalies
		out.Why = fmt.Sprintf("%s that %s cannot explain; by the times as they are, %s", counted(anomalies), apart, read.Why)
		if strings.Contains(wide.Why, timeOver) && !strings.Contains(read.Why, moreInTime) {
			out.Why += "; " + moreInTime
		}
	case read.Valid == False:
		out.Valid, out.Why = Unknown, fmt.Sprintf("%s by the times as they are, which %s could explain (%s)", counted(read.Anomalies), apart, read.Why)
	case wide.Valid != True:
		out.Valid = Unknown
		out.Why = fmt.Sprintf("with %s: %s", apart, wide.Why)
	default:
		if why := near(); why != "" {
			out.Valid, out.Why = Unknown, fmt.Sprintf("%s leave it open: %s", apart, why)
			break
		}
		out.Why += fmt.Sprintf("; so it is with %s, too", apart)
	}
	return out
}

// furthest keeps the greatest value, and the greatest of those of other machines.
type furthest struct {
	top, other     int64
	clock          int
	seen, seenElse bool
}

func (f *furthest) add(clock int, v int64) {
	switch {
	case !f.seen:
		f.top, f.clock, f.seen = v, clock, true
	case clock == f.clock:
		f.top = max(f.top, v)
	case v > f.top:
		f.top, f.clock, f.other, f.seenElse = v, clock, f.top, true
	case !f.seenElse || v > f.other:
		f.other, f.seenElse = v, true
	}
}

// besides is the greatest value of the machines other than this one.
func (f *furthest) besides(clock int) (int64, bool) {
	if f.seen && f.clock != clock {
		return f.top, true
	}
	return f.other, f.seenElse
}

// nearTokens says whether some shift of the clocks could put a grant before one with a
// smaller token.
func (c *clocks) nearTokens(k *lock) bool {
	if !k.mutex() || c.together(k) {
		return false
	}
	byOk := slices.DeleteFunc(slices.Clone(k.grants), func(g *grant) bool { return g.token == 0 })
	byLo := slices.Clone(byOk)
	sortBy(byOk, func(g *grant) int64 { return g.okT })
	slices.SortStableFunc(byLo, func(a, b *grant) int { return cmp.Compare(a.lo, b.lo) })
	var tokens furthest
	i := 0
	for _, g := range byLo {
		for ; i < len(byOk) && byOk[i].okT < g.lo+c.skew; i++ {
			tokens.add(c.of[byOk[i].process], byOk[i].token)
		}
		if top, ok := tokens.besides(c.of[g.process]); ok && top > g.token {
			return true
		}
	}
	return false
}
