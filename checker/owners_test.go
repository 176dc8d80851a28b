package checker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"github.com/picklock/picklock/history"
)

// ownedGrant is a smallGrant, and whose it is.
type ownedGrant struct {
	process string
	smallGrant
}

// drawOwned draws clients that ask for the lock again and again, and mostly, as ones that were
// killed do, without a release.
func drawOwned(t *rapid.T) []ownedGrant {
	var out []ownedGrant
	for p := range rapid.IntRange(1, 3).Draw(t, "clients") {
		at := int64(1)
		for range rapid.IntRange(1, 3).Draw(t, "grants") {
			g := ownedGrant{process: fmt.Sprintf("c%d", p+1)}
			g.inv = at + rapid.Int64Range(0, 4).Draw(t, "idle")
			g.ok = g.inv + rapid.Int64Range(0, 6).Draw(t, "wait")
			g.since = rapid.Int64Range(g.inv, g.ok).Draw(t, "since")
			g.lease = rapid.Int64Range(1, 8).Draw(t, "lease")
			at = g.ok + 1
			if rapid.IntRange(0, 3).Draw(t, "releases") == 0 {
				g.release = g.ok + rapid.Int64Range(0, 5).Draw(t, "hold")
				at = g.release + 1
			}
			out = append(out, g)
		}
	}
	return out
}

// goesOn is the client's next grant, if it came while the older lease lasted, or may have. One of which its client learnt late may have begun late,
// and whether a release was carried out is not known.
func (g ownedGrant) goesOn(grants []ownedGrant) *ownedGrant {
	i, end := slices.Index(grants, g)+1, g.since+g.lease
	if g.ok > g.since {
		end = g.ok + g.lease
	}
	if i == len(grants) || grants[i].process != g.process || end <= max(grants[i].inv, grants[i].since) {
		return nil
	}
	return &grants[i]
}

// ownedEvents writes each grant under its client.
func ownedEvents(grants []ownedGrant, tokens []int64) []history.Event {
	var ev []history.Event
	n := map[string]int{}
	for i, g := range grants {
		n[g.process]++
		var token []int64
		if tokens != nil {
			token = tokens[i : i+1]
		}
		for _, e := range grantEvents([]smallGrant{g.smallGrant}, token) {
			if e.Process = g.process; e.Grant != "" {
				e.Grant = fmt.Sprintf("%s.%d", g.process, n[g.process])
			}
			ev = append(ev, e)
		}
	}
	slices.SortStableFunc(ev, func(a, b history.Event) int { return int(a.Time - b.Time) })
	for i := range ev {
		ev[i].Index = int64(i)
	}
	return ev
}

// possibleForOwners tries every order of the grants, each given at the first instant that it can
// be: a client that has the lock may be given it anew, which is all that it has from then on.
func possibleForOwners(grants []ownedGrant) bool {
	type hold struct {
		process   string
		since, to int64
	}
	used := make([]bool, len(grants))
	var try func(now hold, left int) bool
	try = func(now hold, left int) bool {
		if left == 0 {
			return true
		}
		for i, g := range grants {
			start := max(now.to, g.inv, g.since)
			if g.process == now.process {
				start = max(now.since, g.inv, g.since)
			}
			if used[i] || start > g.ok {
				continue
			}
			end := g.since + g.lease
			if g.release > 0 {
				end = min(end, g.release)
			}
			used[i] = true
			ok := try(hold{g.process, start, max(start, end)}, left-1)
			used[i] = false
			if ok {
				return true
			}
		}
		return false
	}
	return try(hold{}, len(grants))
}

// TestOwners: where clients are granted again what they had, none is accused if some order of the
// grants explains them, and one is if none does. There is one exception: a lease that was over
// before its client learnt of it may lie between what another client had and was given again.
// Porcupine is asked the same.
func TestOwners(t *testing.T) {
	seen := map[bool]int{} // of those with a client that was granted what it had
	rapid.Check(t, func(t *rapid.T) {
		owned := drawOwned(t)
		grants := analysed(Input{Events: ownedEvents(owned, nil)}).lockNamed("k").grants
		exact := len((&kind{}).earlyOf(grants)) == 0
		brute := possibleForOwners(owned)
		over := slices.ContainsFunc(owned, func(g ownedGrant) bool { return g.since+g.lease <= g.ok || g.release == g.ok })
		if exact != brute && (brute || !over) {
			t.Fatalf("exact %v, brute force %v: %+v", exact, brute, owned)
		}
		if arbiter := porcupine.CheckOperations(lockModel(true, false), lockCalls(grants, true)); arbiter != exact {
			t.Fatalf("exact %v, Porcupine %v: %+v", exact, arbiter, owned)
		}
		if slices.ContainsFunc(owned, func(g ownedGrant) bool { return g.goesOn(owned) != nil }) {
			seen[exact]++
		}
	})
	if min(seen[true], seen[false]) == 0 && !testing.Short() {
		t.Errorf("the test sees only %v", seen)
	}
}

// TestTokensOfOwners: a client that is given back what it holds may be given its token, too, and nobody else may.
func TestTokensOfOwners(t *testing.T) {
	seen := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		owned := drawOwned(t)
		tokens := make([]int64, len(owned))
		again := false
		for i, g := range owned {
			tokens[i] = g.ok + rapid.Int64Range(0, 3).Draw(t, "token")
			if i > 0 && owned[i-1].process == g.process && rapid.Bool().Draw(t, "the same") {
				tokens[i] = tokens[i-1]
				again = again || owned[i-1].goesOn(owned) != nil
			}
		}
		grants := analysed(Input{Events: ownedEvents(owned, tokens)}).lockNamed("k").grants
		exact := len(regressions(grants)) == 0 && len(reuses(grants)) == 0
		if arbiter := porcupine.CheckOperations(lockModel(false, true), lockCalls(grants, false)); arbiter != exact {
			t.Fatalf("exact %v, Porcupine %v: %+v, tokens %v", exact, arbiter, owned, tokens)
		}
		brute := true
		for i, a := range owned {
			for j, b := range owned {
				// Of three in a row, the first and the third.
				chain := a.process == b.process && i < j && !slices.ContainsFunc(owned[i:j], func(g ownedGrant) bool { return g.goesOn(owned) == nil })
				for k := i; k <= j && chain; k++ {
					chain = tokens[k] == tokens[i]
				}
				if i != j && tokens[i] == tokens[j] && (i < j && !chain) || a.ok < max(b.inv, b.since) && tokens[i] > tokens[j] {
					brute = false
				}
			}
		}
		if brute != exact {
			t.Fatalf("exact %v, all pairs %v: %+v, tokens %v", exact, brute, owned, tokens)
		}
		if again {
			seen[exact]++
		}
	})
	if min(seen[true], seen[false]) == 0 && !testing.Short() {
		t.Errorf("the test sees only %v", seen)
	}
}
