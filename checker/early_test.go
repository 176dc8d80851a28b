package checker

import (
	"fmt"
	"slices"
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
		an := analysed(Input{Events: grantEvents(small, nil)})
		grants := an.lockNamed("k").grants
		exact := len((&kind{}).earlyOf(grants)) == 0
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
		an := analysed(Input{Events: grantEvents(small, tokens)})
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

// TestTogetherIsExact: the walk by token finds what Porcupine finds by searching, for
// exclusion and rising tokens at once.
func TestTogetherIsExact(t *testing.T) {
	seen := map[string]int{}
	// What only the two together break is rare: 100 draws need not have it.
	check := func(t *rapid.T) {
		small := drawGrants(t)
		tokens := make([]int64, len(small))
		for i := range tokens {
			tokens[i] = small[i].ok + rapid.Int64Range(0, 4).Draw(t, "token")
		}
		distinct := slices.Clone(tokens)
		slices.Sort(distinct)
		if len(slices.Compact(distinct)) < len(tokens) {
			t.Skip("two grants have one token")
		}
		grants := analysed(Input{Events: grantEvents(small, tokens)}).lockNamed("k").grants
		exact := len(jointBreaks(grants)) == 0
		if arbiter := porcupine.CheckOperations(lockModel(true, true), lockCalls(grants, true)); arbiter != exact {
			t.Fatalf("exact %v, Porcupine %v", exact, arbiter)
		}
		switch {
		case exact:
			seen["whole"]++
		case len((&kind{}).earlyOf(grants)) == 0 && len(regressions(grants)) == 0:
			seen["broken only together"]++
		default:
			seen["broken"]++
		}
	}
	for n := 0; n < 20 && len(seen) < 3 && !t.Failed(); n++ {
		rapid.Check(t, check)
	}
	if len(seen) < 3 && !testing.Short() {
		t.Errorf("the test sees only %v", seen)
	}
}

// TestTogetherAnywhere: where in a long history the break lies makes no difference.
func TestTogetherAnywhere(t *testing.T) {
	const n = 10_000
	for _, tt := range []struct {
		at   int64 // the grants that are swapped, -1 for none
		want Validity
	}{{-1, True}, {0, False}, {7_000, False}, {7_150, False}, {n - 2, False}} {
		var events []history.Event
		add := func(at int64, process string, typ history.Type, f, grant string, token, since, lease int64) {
			events = append(events, history.Event{Index: int64(len(events)), Time: at, Process: process, Type: typ, F: f, Key: "k", Grant: grant, Token: token, Since: since, Lease: lease})
		}
		for i := int64(0); i < n/2; i++ {
			at, a, b := 1000*(i+1), fmt.Sprintf("a.%d", i+1), fmt.Sprintf("b.%d", i+1)
			first, second := 2*i+1, 2*i+2
			if i == tt.at/2 && tt.at >= 0 {
				first, second = second, first
			}
			// b can have been granted when a's lease had run out: if its token is the greater.
			add(at+100, "a", history.Invoke, history.Acquire, "", 0, 0, 0)
			add(at+101, "b", history.Invoke, history.Acquire, "", 0, 0, 0)
			add(at+300, "a", history.OK, history.Acquire, a, first, at+150, 200)
			add(at+400, "b", history.OK, history.Acquire, b, second, at+200, 1000)
			add(at+500, "b", history.Invoke, history.Release, b, 0, 0, 0)
			add(at+510, "b", history.OK, history.Release, b, 0, 0, 0)
		}
		v := Check(Input{Events: events, Options: Options{SkipCrossCheck: true}})
		exclusion := True
		if tt.want == False {
			exclusion = Unknown // it may be that
		}
		if e, got := v.Properties[Exclusion], v.Properties[Tokens]; e.Valid != exclusion || got.Valid != tt.want {
			t.Errorf("swapped at %d: exclusion %v (%s), tokens %v (%s)", tt.at, e.Valid, e.Why, got.Valid, got.Why)
		}
	}
}
