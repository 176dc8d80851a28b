package checker

import (
	"fmt"
	"testing"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"github.com/picklock/picklock/history"
)

// smallGrant is a grant on a small clock, where ties are frequent.
type smallGrant struct{ inv, since, ok, lease, release int64 }

func drawGrants(t *rapid.T) []smallGrant {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) smallGrant {
		var g smallGrant
		g.inv = rapid.Int64Range(1, 14).Draw(t, "inv")
		g.ok = g.inv + rapid.Int64Range(0, 6).Draw(t, "wait")
		g.since = rapid.Int64Range(max(1, g.inv-2), g.ok).Draw(t, "since")
		g.lease = rapid.Int64Range(0, 6).Draw(t, "lease")
		if rapid.Bool().Draw(t, "releases") {
			g.release = g.ok + rapid.Int64Range(0, 5).Draw(t, "hold")
		}
		return g
	}), 1, 6).Draw(t, "grants")
}

// events writes each grant under a process of its own.
func grantEvents(grants []smallGrant, tokens []int64) []history.Event {
	var ev []history.Event
	for i, g := range grants {
		p, id := fmt.Sprintf("c%d", i+1), fmt.Sprintf("c%d.1", i+1)
		ev = append(ev, history.Event{Time: g.inv, Process: p, Type: history.Invoke, F: history.Acquire, Key: "k"})
		ok := history.Event{Time: g.ok, Process: p, Type: history.OK, F: history.Acquire, Key: "k", Grant: id}
		if g.lease > 0 {
			ok.Since, ok.Lease = g.since, g.lease
		}
		if tokens != nil {
			ok.Token = tokens[i]
		}
		ev = append(ev, ok)
		if g.release > 0 {
			ev = append(ev, history.Event{Time: g.release, Process: p, Type: history.Invoke, F: history.Release, Key: "k", Grant: id})
		}
	}
	for i := range ev {
		ev[i].Index = int64(i)
	}
	history.Sort(ev)
	for i := range ev {
		ev[i].Index = int64(i)
	}
	return ev
}

// possible tries every order of the grants: each is given at the first instant
// that its window and its predecessor allow, and ends when it first can.
func possible(grants []smallGrant) bool {
	type job struct{ lo, ok, end int64 }
	var jobs []job
	for _, g := range grants {
		j := job{lo: g.inv, ok: g.ok}
		j.end = j.lo
		if g.lease > 0 {
			j.lo = max(g.inv, g.since)
			j.end = g.since + g.lease
			if g.release > 0 {
				j.end = min(j.end, g.release)
			}
		}
		jobs = append(jobs, j)
	}
	used := make([]bool, len(jobs))
	var try func(at int64, left int) bool
	try = func(at int64, left int) bool {
		if left == 0 {
			return true
		}
		for i, j := range jobs {
			if used[i] {
				continue
			}
			start := max(at, j.lo)
			if start > j.ok {
				continue
			}
			used[i] = true
			ok := try(max(start, j.end), left-1)
			used[i] = false
			if ok {
				return true
			}
		}
		return false
	}
	return try(0, len(jobs))
}

func TestExclusionIsExact(t *testing.T) {
	bad, good := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		small := drawGrants(t)
		an := analyse(Input{Events: grantEvents(small, nil)})
		grants := an.lockNamed("k").grants
		exact := len(earlyOf(grants)) == 0
		brute := possible(small)
		if exact != brute {
			t.Fatalf("exact %v, brute force %v", exact, brute)
		}
		if arbiter := porcupine.CheckOperations(lockModel(true, false), lockCalls(grants, true)); arbiter != exact {
			t.Fatalf("exact %v, Porcupine %v", exact, arbiter)
		}
		parts := true
		sorted := byLo(grants)
		for s := range partition(sorted, grantBegin, grantEnd) {
			part := sorted[s.from:s.to]
			parts = parts && porcupine.CheckOperations(lockModel(true, false), lockCalls(part, true))
		}
		if parts != exact {
			t.Fatalf("exact %v, Porcupine on the parts %v", exact, parts)
		}
		if exact {
			good++
		} else {
			bad++
		}
	})
	if min(good, bad) == 0 && !testing.Short() {
		t.Errorf("%d good and %d bad histories: the test sees one side only", good, bad)
	}
}

func TestTokensAreExact(t *testing.T) {
	bad, good := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		small := drawGrants(t)
		tokens := make([]int64, len(small))
		for i := range tokens {
			// Mostly in the order of the oks, so that both answers occur.
			tokens[i] = small[i].ok + rapid.Int64Range(0, 4).Draw(t, "token")
		}
		an := analyse(Input{Events: grantEvents(small, tokens)})
		grants := an.lockNamed("k").grants
		exact := len(regressions(grants)) == 0 && len(reuses(grants)) == 0
		if arbiter := porcupine.CheckOperations(lockModel(false, true), lockCalls(grants, false)); arbiter != exact {
			t.Fatalf("exact %v, Porcupine %v", exact, arbiter)
		}
		brute := true
		for i, a := range small {
			for j, b := range small {
				lo := b.inv
				if b.lease > 0 {
					lo = max(lo, b.since)
				}
				if (i != j && tokens[i] == tokens[j]) || (a.ok < lo && tokens[i] > tokens[j]) {
					brute = false
				}
			}
		}
		if brute != exact {
			t.Fatalf("exact %v, all pairs %v", exact, brute)
		}
		if exact {
			good++
		} else {
			bad++
		}
	})
	if min(good, bad) == 0 && !testing.Short() {
		t.Errorf("%d good and %d bad histories: the test sees one side only", good, bad)
	}
}
