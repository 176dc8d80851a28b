package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

func init() { finders["lost-update"] = findLostUpdates }

// findLostUpdates finds acknowledged updates that a client overwrote without having seen
// them; see overwrites. One anomaly reports all that one write cut off.
func findLostUpdates(an *analysis) []Anomaly {
	if an.log == nil {
		return lostWithoutLog(an)
	}
	var out []Anomaly
	for _, k := range an.locks {
		for o := range inTime(an.limit, an.register.overwritten[k]) {
			out = append(out, lostUpdate(an, o))
		}
	}
	return out
}

// lostUpdate reports all that one write overwrote unseen, with the evidence of the
// first: with another victim in its position it would be the same.
func lostUpdate(an *analysis, o overwrite) Anomaly {
	victim, by, seen := o.victims[0], o.by, o.seen
	a := Anomaly{
		Key: victim.key(), Time: by.t,
		Effects: []int64{victim.seq, by.seq},
		Sizes:   map[string]int64{"after": by.t - victim.t},
	}
	refs := []int32{victim.op.inv, victim.op.comp, by.op.inv, victim.op.entryEvidence(), by.op.entryEvidence()}
	from := min(victim.t, victim.op.invT, by.op.invT)
	basis := "had not seen it"
	if seen != nil && seen.seq < victim.seq {
		basis = fmt.Sprintf("had last looked at %s", format.Instant(seen.t))
		if by.f != fAdd { // an add names its base itself
			a.Effects = append(a.Effects, seen.seq)
		}
		from = min(from, seen.t)
		a.Sizes["blind"] = by.t - seen.t
		if seen.op != nil && by.f != fAdd {
			refs = append(refs, seen.op.inv, seen.op.entryEvidence())
		}
	}
	var late string
	var why blamed
	for _, e := range []*effect{victim, by} {
		if e.g == nil {
			continue
		}
		refs = append(refs, e.g.ok)
		if !slices.Contains(a.Grants, e.g.id) {
			a.Grants = append(a.Grants, e.g.id)
		}
	}
	if by.g != nil && victim.g != nil {
		switch {
		case by.g != victim.g && an.tokens.certainlyOlder(by.g, victim.g):
			w := touch{by.g, by.op, by, by.t}
			a.Cause = an.staleCause(by.g, victim.g, w)
			why = an.suspects.wrote(a.Cause, by.g, victim.g, w)
			if late = by.g.leaseWords("its", by.t) + an.libraryWords(a.Cause, by.g); a.Cause == "given-back" {
				late = w.givenBackWords()
			}
			if a.Cause == notRenewed {
				refs = append(refs, an.notRenewedEvents(by.g)...)
			}
		case by.g != victim.g && an.tokens.certainlyOlder(victim.g, by.g) && victim.t > by.g.lo:
			// The older grant wrote between the newer one's look and its write. What it wrote before that was in order.
			w := touch{victim.g, victim.op, victim, victim.t}
			a.Cause = an.staleCause(victim.g, by.g, w)
			why = an.suspects.wrote(a.Cause, victim.g, by.g, w)
			if a.Cause == notRenewed {
				refs = append(refs, an.notRenewedEvents(victim.g)...)
			}
		}
	}
	a.Events = an.evidence.at(refs...)
	a.Explanation = fmt.Sprintf("the update of %s (%s, acknowledged) at %s was overwritten %s later by %s%s, which %s%s",
		victim.process(), shown(victim.value), format.Instant(victim.t), dur(by.t-victim.t), by.process(), with(by.g), basis, late)
	for _, v := range o.victims {
		a.Victims = append(a.Victims, v.seq)
	}
	switch n := len(o.victims) - 1; {
	case n == 1:
		a.Explanation += "; another update was overwritten with it"
	case n > 1:
		a.Explanation += fmt.Sprintf("; %d more updates were overwritten with it", n)
	}
	return an.evidence.finish(a, from, why, victim.process(), by.process())
}

func with(g *grant) string {
	if g == nil {
		return ""
	}
	return g.with()
}

// lostWithoutLog accuses only what real time shows: another client's write was
// sent after the critical section's last look was answered, and acknowledged
// before the section's own write was sent.
func lostWithoutLog(an *analysis) []Anomaly {
	var out []Anomaly
	for _, k := range an.locks {
		var writes []*op // ok, by invoke
		for _, o := range k.ops {
			if o.f != fRead && o.typ == tOK {
				writes = append(writes, o)
			}
		}
		soonest := make([]*op, len(writes)+1) // of writes[i:], the first to be answered
		for i := len(writes) - 1; i >= 0; i-- {
			soonest[i] = writes[i]
			if s := soonest[i+1]; s != nil && s.endT < writes[i].endT {
				soonest[i] = s
			}
		}
		lost := map[*op]bool{}
		look := map[*grant]*op{}
		for o := range inTime(an.limit, k.ops) {
			if o.typ != tOK || o.grant == nil {
				continue
			}
			hold := o.grant.ofHold()
			seen := look[hold]
			look[hold] = o
			if seen == nil || o.f == fRead || seen.endT > o.invT {
				continue
			}
			i, _ := slices.BinarySearchFunc(writes, seen.endT+1, func(w *op, t int64) int { return cmp.Compare(w.invT, t) })
			v := soonest[i]
			if v == nil || v.endT >= o.invT || v.grant == nil || v.grant.ofHold() == hold || together(v.grant, hold) || lost[v] {
				continue
			}
			lost[v] = true
			a := Anomaly{
				Key: k.name, Time: o.endT,
				Events: an.evidence.at(hold.ok, o.grant.ok, v.grant.ok, seen.inv, seen.comp, v.inv, v.comp, o.inv, o.comp, seen.entryEvidence()),
				Grants: []string{o.grant.id, v.grant.id}, Sizes: map[string]int64{"after": o.endT - v.endT, "blind": o.endT - seen.endT},
				Explanation: fmt.Sprintf("the update of %s (%s, acknowledged) at %s was overwritten %s later by %s%s, which had last looked at %s",
					v.process, shown(v.value), format.Instant(v.endT), dur(o.endT-v.endT), o.process, o.grant.with(), format.Instant(seen.endT)),
			}
			out = append(out, an.evidence.finish(a, seen.invT, blamed{}, v.process, o.process))
		}
	}
	return out
}
