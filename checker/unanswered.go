package checker

import (
	"fmt"

	"github.com/picklock/picklock/internal/format"
)

// patientPart is the part of the bound that a client may wait for a free lock at the end of
// the record, whatever the waits before came to: some time goes by before each grant.
const patientPart = 10

// unanswered says who was still waiting, when the record ended, for a lock that nobody held,
// longer than any wait before that was rewarded; "" if nobody was. The record is too short
// then to distinguish a lock that was about to be granted from one that never would have been.
func unanswered(an *analysis) string {
	broken, well := joined(disturbed(an), an.opt.Bound), int64(0)
	if n := len(broken); n > 0 {
		well = broken[n-1].to
	}
	for _, k := range an.locks {
		free := interval{well, an.last}
		for _, s := range busy(an, k, broken) {
			free.from = max(free.from, s.to)
		}
		if free.to-free.from <= an.opt.Bound/patientPart {
			continue
		}
		enough := max(an.opt.Bound/patientPart, 2*longestRewarded(k))
		var longest *wait
		newRequests(k, brokenFor{}, 0, pollGap(an.opt.Bound)).waits(free, func(w *wait) bool {
			if w.to > an.last-pollGap(an.opt.Bound) && w.to-w.from > enough && (longest == nil || w.from < longest.from) {
				longest = w
			}
			return true
		})
		if longest != nil {
			return fmt.Sprintf("%s had waited %s for the lock %s, which nobody held, when the record ended at %s: too short to tell whether it would have been granted within the bound of %s",
				longest.ops[0].process, dur(longest.to-longest.from), k.name, format.Instant(an.last), dur(an.opt.Bound))
		}
	}
	return ""
}

// longestRewarded is the longest that a grant came after it was asked for and its predecessors
// had given the lock back.
func longestRewarded(k *lock) int64 {
	longest, until := int64(0), int64(0)
	for _, g := range k.grants { // by ok
		if g.inv >= 0 {
			longest = max(longest, g.okT-max(g.invT, min(until, g.okT)))
		}
		until = max(until, g.heldUntil())
	}
	return longest
}

// keptForGood says who waited, until the record ended, for a lock without leases that only an acquire of unknown outcome can have taken; "" for none. That
// is no deadlock, and no evidence either that the lock comes back.
func keptForGood(an *analysis) string {
	if an.maxLease > 0 {
		return ""
	}
	broken := joined(disturbed(an), an.opt.Bound)
	for _, k := range an.locks {
		unknown := k.unknownAcquires(an.last)
		if len(unknown) == 0 {
			continue
		}
		held := k.held((*grant).mayHold)
		sortBy(held, func(s interval) int64 { return s.from })
		for _, w := range waitsInVain(an, k, broken, held, newRequests(k, an.brokenFor(), an.opt.Bound, pollGap(an.opt.Bound))) {
			if lost := lastBy(unknown, w.to); lost != nil && k.grantedBy(w.from) == len(k.grants) {
				return fmt.Sprintf("%s waited %s for the lock %s, and was not granted it: the acquire of %s at %s has no known outcome, and may have taken the lock, which has no lease that would end",
					w.ops[0].process, dur(w.to-w.from), k.name, lost.process, format.Instant(lost.invT))
			}
		}
	}
	return ""
}

// askedSeldom says which client was refused a free lock again and again for longer than the bound, without asking often enough for a deadlock to show;
// "" if there is none.
func askedSeldom(an *analysis) string {
	broken := joined(disturbed(an), an.opt.Bound)
	for _, k := range an.locks {
		for _, w := range waitsInVain(an, k, broken, busy(an, k, broken), newRequests(k, an.brokenFor(), an.opt.Bound, never)) {
			if len(w.ops) >= seldom {
				return fmt.Sprintf("%s was refused the lock %s, which nobody held, %s within %s, but asked too seldom to tell that it waited all that time",
					w.ops[0].process, k.name, of(len(w.ops), "time"), dur(w.to-w.from))
			}
		}
	}
	return ""
}

// seldom is how many requests at least must have been refused.
const seldom = 3
