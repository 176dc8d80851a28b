package checker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/checker/verdict"
)

// Clocks of several machines. A history is judged twice: with the times as they are, and
// widened (skew_widen.go), where every request is earlier and every answer later by half of
// the skew, so that only what no shift of the clocks could change is left as evidence. What
// is false both ways is false. Everything else is unknown: that no shift could have broken
// the lock is never said.

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
	for name, p := range r.names.All() {
		if p.machine == "" {
			c.of[name] = len(c.of) // a machine of its own
			continue
		}
		if _, known := machines[p.machine]; !known {
			machines[p.machine] = -1 - len(machines)
		}
		c.of[name] = machines[p.machine]
	}
	return c
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

// oneFor says whether all that was done with a lock has the times of one clock.
func (c *clocks) oneFor(k *lock) bool {
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
	doubted := map[string]bool{}
	for k := range wide.tokens.doubted {
		doubted[k.name] = true
	}
	v.Anomalies = plain.certain(read.Anomalies, v.Anomalies, doubted)
	count := map[string]int{}
	for _, a := range v.Anomalies {
		count[a.Property]++
	}
	for _, name := range Properties {
		v.Properties[name] = plain.within(name, read.Properties[name], v.Properties[name], count[name])
	}
	v.Anomalies = slices.DeleteFunc(v.Anomalies, func(a Anomaly) bool { return v.Properties[a.Property].Valid != False })
	v.Stats = read.Stats
	v.Stats.FirstAnomaly = 0
	for _, a := range v.Anomalies {
		if v.Properties[a.Property].Required {
			v.Stats.FirstAnomaly = a.Time
			break
		}
	}
	plain.conclude(&v)
	return v
}

// certain lists what is broken however the clocks are shifted: what the widened history
// shows, with the times as they are where these show it too, and what happened on one machine. It takes
// nothing from the tokens of locks that some shift puts in doubt.
func (an *analysis) certain(read, wide []Anomaly, doubted map[string]bool) []Anomaly {
	out := slices.Clone(wide)
	for i := range out {
		out[i].Explanation += fmt.Sprintf("; with each request %s earlier and each answer as much later than the clocks said", dur((an.clocks.skew+1)/2))
	}
	// The same evidence makes the same anomaly.
	evidenceOf := func(a *Anomaly) string {
		return fmt.Sprintf("%q %q %q %q %d %d", a.Name, a.Key, a.Cause, a.Grants, a.Events, a.Effects)
	}
	indexes := map[string]int{}
	for i := range out {
		indexes[evidenceOf(&out[i])] = i
	}
	for _, a := range read {
		if i, ok := indexes[evidenceOf(&a)]; ok {
			out[i] = a
		} else if an.skewInvariant(a) && (!doubted[a.Key] || !an.orderedByTokens(a)) {
			out = append(out, a)
		}
	}
	sortAnomalies(out)
	return out
}

// skewInvariant says that all the times that an anomaly rests on are of one clock.
func (an *analysis) skewInvariant(a Anomaly) bool {
	if !verdict.Info(a.Name).SkewInvariant || a.Cause == orOverlap || !an.clocks.one(a.Processes) {
		return false
	}
	// A kill, or the history's end, by another clock, ends what a client believes.
	return a.Property != Belief || !an.faults.killed && a.Time < an.last-an.clocks.skew
}

// orderedByTokens says that an anomaly may rest on the order that tokens give: on which grant is the newer one, or on a
// confirmation that they may show false.
func (an *analysis) orderedByTokens(a Anomaly) bool {
	if a.Property != Exclusion || len(a.Grants) != 2 {
		return false
	}
	old, next := an.ids.find(a.Grants[0], nil), an.ids.find(a.Grants[1], nil)
	switch {
	case old == nil || next == nil || old.token == 0 || next.token == 0:
		return false
	case a.Name == "false-belief":
		return old.okT >= next.lo
	}
	return old.promisedBy(next.okT) <= next.okT
}

// within is the verdict on a property, of the one with the times as they are and the one
// of the widened history, in which so many anomalies are certain.
func (an *analysis) within(name string, read, wide Property, anomalies int) Property {
	out := Property{Required: read.Required || wide.Required}
	apart := fmt.Sprintf("clocks that are up to %s apart", dur(an.clocks.skew))
	switch {
	case read.Valid == Unknown:
		out.Why = read.Why
	case name == Register && an.readsInDoubt():
		out.Why = fmt.Sprintf("which reads of unknown outcome are in the register's log, %s leave open", apart)
	case read.Valid == False && anomalies > 0:
		out.Valid, out.Anomalies = False, anomalies
		out.Why = fmt.Sprintf("%s that %s cannot explain; by the times as they are, %s", counted(anomalies), apart, read.Why)
		if strings.Contains(wide.Why, timeOver) && !strings.Contains(read.Why, moreInTime) {
			out.Why += "; " + moreInTime
		}
	case read.Valid == False:
		out.Why = fmt.Sprintf("%s by the times as they are, which %s could explain (%s)", counted(read.Anomalies), apart, read.Why)
	default:
		out.Why = fmt.Sprintf("no anomaly by the times as they are (%s), which %s could hide", read.Why, apart)
	}
	return out
}

// readsInDoubt says that only the times show which reads of unknown outcome are in the
// register's log, whose clock is its own.
func (an *analysis) readsInDoubt() bool {
	return an.log != nil && slices.ContainsFunc(an.locks, func(k *lock) bool {
		return slices.ContainsFunc(k.ops, func(o *op) bool { return o.f == fRead && o.typ == tInfo })
	})
}

// tokensInDoubt says whether some shift of the clocks could put a grant before one with a
// smaller token.
func (c *clocks) tokensInDoubt(k *lock) bool {
	if !k.mutex() || c.oneFor(k) {
		return false
	}
	byOk := slices.DeleteFunc(slices.Clone(k.grants), func(g *grant) bool { return g.token == 0 })
	byLo := slices.Clone(byOk)
	sortBy(byOk, func(g *grant) int64 { return g.okT })
	sortBy(byLo, func(g *grant) int64 { return g.lo })
	greatest, i := int64(0), 0
	for _, g := range byLo {
		for ; i < len(byOk) && byOk[i].okT < g.lo+c.skew; i++ {
			greatest = max(greatest, byOk[i].token)
		}
		if greatest > g.token {
			return true
		}
	}
	return false
}
