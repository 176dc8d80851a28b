package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

func init() { finders["stale-write"] = findStaleWrites }

// findStaleWrites: an accepted write of a grant after a certainly newer grant had
// touched the resource; or, where nobody can say which of two is newer, a write
// between whose grant's first touch and itself another grant wrote: two critical
// sections interleaved, and one of the two writes is stale whichever is older.
// (Had the other one only read, it may be the older one, and harmless.) Longer
// chains show nothing that these two do not: any contradiction between the order
// of effects and an order of grants comes down to a pair.
func findStaleWrites(an *analysis) []Anomaly {
	var out []Anomaly
	for _, k := range an.locks {
		if an.log == nil {
			out = append(out, staleWithoutLog(an, k)...)
			continue
		}
		out = append(out, staleInLog(an, k)...)
	}
	return out
}

func staleInLog(an *analysis, k *lock) []Anomaly {
	var out []Anomaly
	seen := touchedOf(an, k)
	first := make([]*effect, len(k.grants)) // touch
	wrote := make([]int32, len(k.grants))   // position after the last write, or of the first touch
	// Writes so far with falling ok times, so that the latest-granted writer
	// after a position in the log is a binary search: among all grants, and among
	// those without a token.
	var all, tokenless []*effect
	overlapOf := map[grantPair]instant{} // of two grants, whether their leases did: the same two can come again and again
	for e := range inTime(an.limit, an.log.keys[k.name]) {
		if !e.known() {
			continue
		}
		t := touch{e.g, e.op, e, e.t}
		if e.writes() {
			if newer, ok := seen.newer(an, e.g); ok {
				out = append(out, staleWrite(an, t, newer))
			} else if own := first[e.g.n]; own != nil {
				others := all
				if seen.all.sound && e.g.token != 0 {
					others = tokenless
				}
				i, _ := slices.BinarySearchFunc(others, wrote[e.g.n], func(w *effect, pos int32) int { return int(w.pos - pos) })
				if i < len(others) && others[i].g.okT >= e.g.lo && !together(others[i].g, e.g) && !an.eitherOlder(others[i].g, e.g) {
					out = append(out, interleaved(an, own, others[i], e, overlapOf))
				}
			}
			all = pushFalling(all, e)
			if e.g.token == 0 {
				tokenless = pushFalling(tokenless, e)
			}
		}
		seen.add(t)
		if first[e.g.n] == nil {
			first[e.g.n] = e
		}
		if e.writes() || first[e.g.n] == e {
			wrote[e.g.n] = e.pos + 1
		}
	}
	return out
}

func pushFalling(stack []*effect, e *effect) []*effect {
	for len(stack) > 0 && stack[len(stack)-1].g.okT <= e.g.okT {
		stack = stack[:len(stack)-1]
	}
	return append(stack, e)
}

// staleWithoutLog accuses only what real time shows: the touch was answered
// before the write was sent, and both were acknowledged.
func staleWithoutLog(an *analysis, k *lock) []Anomaly {
	var done []*op
	for _, o := range k.ops {
		if o.typ == tOK && o.grant != nil && !an.ids.ambiguous(o.grant.id) {
			done = append(done, o)
		}
	}
	byEnd := slices.Clone(done)
	slices.SortStableFunc(byEnd, func(a, b *op) int { return cmp.Compare(a.endT, b.endT) })
	seen := touchedOf(an, k)
	var out []Anomaly
	i := 0
	for o := range inTime(an.limit, done) { // by invoke
		for ; i < len(byEnd) && byEnd[i].endT < o.invT; i++ {
			seen.add(touch{byEnd[i].grant.ofHold(), byEnd[i], nil, byEnd[i].endT})
		}
		if o.f == fRead {
			continue
		}
		if newer, ok := seen.newer(an, o.grant.ofHold()); ok {
			out = append(out, staleWrite(an, touch{o.grant.ofHold(), o, nil, o.endT}, newer))
		}
	}
	return out
}

func staleWrite(an *analysis, w, newer touch) Anomaly {
	old, young := w.g, newer.g
	a := Anomaly{
		Key: old.lock.name, Time: w.t,
		Grants: []string{old.id, young.id}, Cause: an.staleCause(old, young, w),
		Sizes: map[string]int64{"after_grant": w.t - young.okT, "after_touch": w.t - newer.t},
	}
	if old.promised > 0 && old.dated() {
		a.Sizes["late"] = w.t - old.promised
	}
	refs := []int32{old.ok, young.ok, w.op.inv, newer.op.inv, an.tokens.orderEvidence(old, young), w.op.entryEvidence(), newer.op.entryEvidence()}
	if a.Cause == "" && old.lease > 0 && !old.dated() { // nothing says from when that counts, but nothing began before it was asked for
		refs = append(refs, old.inv)
	}
	switch a.Cause {
	case "granted-early":
		if old.aliveAt(young.okT) {
			refs = append(refs, old.evidenceAt(young.okT)...)
		} else { // its client learnt of it last
			_, why := old.overAt(young.okT)
			refs = append(append(refs, young.evidenceAt(old.okT)...), old.promiseEvidence(w.op.invT))
			refs = append(refs, old.unbroken(why, young.okT)...)
		}
	case "delayed", "renewed-late":
		refs = append(refs, old.promiseEvidence(w.op.invT))
	case "lease-outlived", noNotice:
		refs = append(refs, old.promiseEvidence(old.okT))
	case notRenewed:
		refs = append(append(refs, old.promiseEvidence(old.okT)), an.notRenewedEvents(old)...)
	case "after-release", "given-back":
		refs = append(refs, old.release.inv)
	case "ignored-loss":
		refs = append(refs, old.lost)
	}
	if w.eff != nil {
		a.Effects = []int64{newer.eff.seq, w.eff.seq}
	} else {
		refs = append(refs, newer.op.comp, w.op.comp)
	}
	a.Events = an.evidence.at(refs...)
	a.Explanation = fmt.Sprintf("%s wrote%s at %s, %s after %s", old.process, old.with(), format.Instant(w.t), dur(w.t-young.okT), young.got())
	if newer.t > young.okT && newer.t <= w.t {
		a.Explanation += fmt.Sprintf(" and %s after %s had %s", dur(w.t-newer.t), young.process, past(newer.op.f))
	}
	switch a.Cause {
	case "delayed":
		a.Explanation += fmt.Sprintf("; it had sent the write at %s with %s of its lease left, and the write was held up on the way",
			format.Instant(w.op.invT), dur(old.promised-w.op.invT))
		a.Sizes["delay"] = w.t - w.op.invT
	case "renewed-late":
		a.Explanation += "; its lease was renewed only after that"
	case "after-release":
		unanswered := "never learnt its outcome and released the lock at %[2]s"
		if w.op.typ == tOK {
			unanswered = "and released the lock at %[2]s, before the write was answered"
		}
		a.Explanation += fmt.Sprintf("; it had sent the write at %[1]s, "+unanswered, format.Instant(w.op.invT), format.Instant(old.release.invT))
		a.Sizes["delay"] = w.t - w.op.invT
	case "given-back":
		a.Explanation += w.givenBackWords()
	case "ignored-loss":
		a.Explanation += fmt.Sprintf("; it had learnt of the loss at %s", format.Instant(old.lostT))
	default:
		a.Explanation += old.leaseWords("its", w.t)
		a.Explanation += an.libraryWords(a.Cause, old)
	}
	return an.evidence.finish(a, min(old.okT, young.okT, newer.t, w.op.invT), an.suspects.wrote(a.Cause, old, young, w), old.process, young.process)
}

// givenBackWords say that the client had given the lock back when it sent what it did.
func (w touch) givenBackWords() string {
	r := w.g.release
	return fmt.Sprintf("; it had sent the lock's release at %s, and the write %s later", format.Instant(r.invT), dur(w.op.invT-r.invT))
}

func past(f verb) string {
	switch f {
	case fRead:
		return "read"
	case fWrite:
		return "written"
	}
	return "updated it"
}

// heeds is how long before a write a client must have learnt of the loss for it to have ignored that. A client that
// was stopped can learn of it at the moment at which it goes on and writes.
const heeds = 20e6

// staleCause says how a stale write came about.
func (an *analysis) staleCause(old, young *grant, w touch) string {
	r := old.release
	over := old.promised > 0 && old.promised <= old.okT // when its client learnt of it
	undated := old.lease > 0 && !old.dated()
	switch {
	case old.aliveAt(young.okT), young.aliveAt(old.okT) && old.aliveAt(old.okT):
		return "granted-early"
	case old.okT > young.okT && old.grantedBeyond(young.okT): // and it had been granted before
		return "granted-early"
	case r != nil && w.op.invT < r.invT && w.t > r.invT:
		return "after-release"
	case r != nil && w.op.invT >= r.invT && r.maybeDone():
		return "given-back"
	case old.lostT < w.op.invT-heeds:
		return "ignored-loss"
	case old.promised == 0 && an.unreportedSession(old, young, w.op.invT):
		return noNotice
	case old.promised == 0, undated:
		return ""
	case over:
		return "never-held"
	case w.op.invT >= min(old.promised, old.promisedAt(w.op.invT)):
	case old.lostT < min(w.op.invT, young.okT): // the lock went on only when it was given up
		return "ignored-loss"
	case young.okT < w.op.invT:
		if over, _ := old.overAt(young.okT); !over && !an.renewalHeldBack(old, young.okT) {
			return "granted-early" // the service went on with the older grant
		}
		return "renewed-late" // it was not alive in between
	default:
		return "delayed"
	}
	return an.causeOfOutlived(old, w.op.invT)
}

// interleaved accuses one of two writes without saying which. Where one of them came when
// its own client no longer had the lock, and the two leases were never alive at once, that
// client is given as the cause: whether the order of the grants is certain hangs only on
// when the other one began to wait, and the service is not accused.
func interleaved(an *analysis, own, between, w *effect, overlapOf map[grantPair]instant) Anomaly {
	a := Anomaly{
		Key: w.key(), Time: w.t, Cause: "interleaved",
		Grants:  []string{w.g.id, between.g.id},
		Effects: []int64{own.seq, between.seq, w.seq},
		Sizes:   map[string]int64{"after_touch": w.t - between.t},
		Explanation: fmt.Sprintf("%s wrote%s at %s, %s after %s had written%s in the middle of %s's critical section: whichever of the two grants is older, one of these writes is stale",
			w.g.process, w.g.with(), format.Instant(w.t), dur(w.t-between.t), between.g.process, between.g.with(), w.g.process),
	}
	refs := []int32{w.g.ok, between.g.ok, own.op.inv, between.op.inv, w.op.inv, own.op.entryEvidence(), between.op.entryEvidence(), w.op.entryEvidence()}
	guilty, other := w, between.g
	late, cause, renewalRefs := lateOf(w, between, overlapOf)
	if cause == "lease-outlived" {
		cause = an.causeOfOutlived(late.g, late.op.invT)
	}
	if cause != "" {
		a.Cause = cause
		if guilty = late; late == between {
			other = w.g
		}
		a.Sizes["late"] = late.t - late.g.promised
		a.Explanation += late.g.leaseWords(late.g.process+"'s", late.t)
		if cause == notRenewed {
			refs = append(refs, an.notRenewedEvents(late.g)...)
		}
		a.Explanation += an.libraryWords(cause, late.g)
	}
	refs = append(refs, renewalRefs...)
	a.Events = an.evidence.at(refs...)
	return an.evidence.finish(a, min(w.g.okT, between.g.okT, own.t), an.suspects.wrote(a.Cause, guilty.g, other, touch{guilty.g, guilty.op, guilty, guilty.t}), w.g.process, between.g.process)
}

// bothAlive returns the first instant at which both leases were certainly alive, and whether there
// is one.
func (g *grant) bothAlive(o *grant) (int64, bool) {
	few, many := g.intervals(), o.intervals()
	if len(few) > len(many) {
		few, many = many, few
	}
	for _, s := range few {
		n, _ := slices.BinarySearchFunc(many, s.from, func(m interval, t int64) int { return cmp.Or(cmp.Compare(m.to, t), -1) })
		if n < len(many) && many[n].from < s.to { // the first that ends after s begins
			return max(s.from, many[n].from), true
		}
	}
	return 0, false
}

// instant is one at which two leases were alive at once, if there is one.
type instant struct {
	t   int64
	yes bool
}

// lateOf returns the first of two grants' writes that came after its own lease, and how;
// no cause where none did, or where the two leases were alive at once. The refs are those
// of the renewals without which it would be another.
func lateOf(w, between *effect, overlapOf map[grantPair]instant) (late *effect, cause string, renewalRefs []int32) {
	pair := grantPair{w.g, between.g}
	m, known := overlapOf[pair]
	if !known {
		m.t, m.yes = w.g.bothAlive(between.g)
		overlapOf[pair] = m
	}
	both := []*effect{w, between}
	if m.yes {
		if slices.ContainsFunc(both, func(e *effect) bool { return e.g.promised > 0 && !e.g.grantedBeyond(e.t) }) {
			renewalRefs = append(w.g.evidenceAt(m.t), between.g.evidenceAt(m.t)...)
		}
		return nil, "", renewalRefs
	}
	for _, e := range both {
		switch g := e.g; {
		case g.promised == 0, !g.dated():
		case e.t < g.promised:
			renewalRefs = append(renewalRefs, g.promiseEvidence(e.t))
		case g.promised <= g.okT:
			return e, "never-held", renewalRefs
		case e.op.invT < g.promised:
			return e, "delayed", append(renewalRefs, g.promiseEvidence(e.op.invT))
		default:
			return e, "lease-outlived", append(renewalRefs, g.promiseEvidence(g.okT))
		}
	}
	return nil, "", renewalRefs
}
