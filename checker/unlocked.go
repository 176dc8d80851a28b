package checker

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

// noLock is why a property is not judged where clients share the register without a
// lock.
const noLock = "there is no lock: clients share the register without one"

// speaksOfLock says that a history does, whatever its run was said to be. It is judged as
// any other.
func speaksOfLock(locks []*lock) bool {
	return slices.ContainsFunc(locks, func(k *lock) bool { return len(k.acquires) > 0 || len(k.released) > 0 })
}

// verdictWithoutLock judges the register alone: whether it is linearizable and whether
// acknowledged updates were lost. Whose write is stale, only grants could say.
func verdictWithoutLock(ctx context.Context, an *analysis) Verdict {
	v := Verdict{Properties: map[string]Property{}, Anomalies: []Anomaly{}, Stats: an.stats}
	skipped := false
	// Without the log nobody can say what an update extended: the client may have left
	// that to the register.
	if an.log != nil {
		for _, kind := range Anomalies() {
			switch {
			case !kind.NoLock:
			case an.limit.ended():
				skipped = true
			default:
				v.Anomalies = append(v.Anomalies, an.find(kind)...)
				skipped = skipped || an.limit.over
			}
		}
	}
	for i := range v.Anomalies {
		v.Anomalies[i].Grants = nil
	}
	sortAnomalies(v.Anomalies)
	for _, name := range Properties {
		v.Properties[name] = Property{Why: noLock, Required: slices.Contains(an.opt.Require, name)}
	}
	p := judgeUnlocked(an, len(v.Anomalies))
	if skipped && p.Valid == True {
		p.Valid, p.Why = Unknown, outOfTime
	} else if skipped && p.Valid == False {
		p.Why += "; " + moreInTime
	}
	v.Properties[Register] = p
	if !an.opt.SkipCrossCheck {
		crossCheck(ctx, an, &v)
	}
	if len(v.Anomalies) > 0 {
		v.Stats.FirstAnomaly = v.Anomalies[0].Time
	}
	if an.conclude(&v); v.Valid == True {
		v.Why = noLock + ", so that only the register was judged"
	}
	return v
}

// syntheticGrants gives the operations and effects of a history without grants synthetic ones, one for each process's reads and one for each update, so that they can be joined:
// an operation is found by its process then, and an update by its value as well. They
// have no position in the history. What an update was made of, only it itself
// says: who carried it out may have been another than who asked for it.
func syntheticGrants(locks map[string]*lock, sorted []*lock, effects []*effect) {
	stands := map[[3]string]*grant{}
	stand := func(process string, k *lock, f verb, value string) *grant {
		id := [3]string{process, k.name, value}
		if f == fRead {
			id[2] = ""
		}
		g := stands[id]
		if g == nil {
			g = &grant{process: process, lock: k, inv: -1, ok: int32(-2 - len(stands)), lost: -1, n: int32(len(k.grants))}
			k.grants = append(k.grants, g)
			stands[id] = g
		}
		return g
	}
	for _, k := range sorted {
		for _, o := range k.ops {
			o.grant = stand(o.process, k, o.f, o.value)
		}
	}
	for _, e := range effects {
		if k := locks[e.key()]; k != nil {
			e.g = stand(e.process(), k, e.f, e.value)
		}
	}
}

// contestedUpdates counts the acknowledged updates that another client could have
// spoilt: while theirs was under way, from its look to its answer, another's was.
func contestedUpdates(locks []*lock) int {
	type turn struct {
		process  string
		from, to int64
		ok       bool
	}
	n := 0
	for _, k := range locks {
		var turns []turn
		looked := map[string]int64{} // by process: since when its turn goes on
		for _, o := range k.ops {    // by invoke
			from, ok := looked[o.process]
			if !ok {
				from = o.invT
			}
			if o.f == fRead {
				looked[o.process] = o.invT
				continue
			}
			delete(looked, o.process)
			turns = append(turns, turn{o.process, from, o.endT, o.typ == tOK})
		}
		slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.from, b.from) })
		// Of the turns that begin no later, the one that ends last, and the one that
		// does among those of other processes.
		contested := make([]bool, len(turns))
		var last, other turn
		for i, t := range turns {
			rival := last
			if last.process == t.process {
				rival = other
			}
			contested[i] = rival.process != "" && rival.to > t.from
			switch {
			case t.process == last.process:
				last.to = max(last.to, t.to)
			case t.to >= last.to:
				last, other = t, last
			case t.to > other.to || other.process == "":
				other = t
			}
		}
		// And those that begin later: the next one, unless it is the process's own, which
		// began after this one's answer, as did all that come then.
		for i, t := range turns {
			if i+1 < len(turns) {
				next := turns[i+1]
				contested[i] = contested[i] || (next.process != t.process && next.from < t.to)
			}
			if t.ok && contested[i] {
				n++
			}
		}
	}
	return n
}

func judgeUnlocked(an *analysis, anomalies int) Property {
	p := judgeRegister(an, anomalies)
	if p.Valid == True {
		p.Why = fmt.Sprintf("%s accepted, %s refused; every read saw the latest, and of %s, %s contested, none was lost",
			of(an.stats.Writes, "update"), format.Count(an.stats.Rejected), of(an.stats.Acknowledged, "acknowledged update"), format.Count(an.stats.Contested))
	}
	if anomalies > 0 {
		p.Valid = False
	}
	p.Anomalies = anomalies
	return p
}

// uncontested says why a run without a lock tested nothing; "" if it did.
func uncontested(s *Stats) string {
	switch {
	case s.Acknowledged == 0:
		return "no update was ever acknowledged"
	case s.Contested == 0:
		return "no update was contested: no two clients were at it at once"
	}
	return ""
}
