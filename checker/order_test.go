package checker

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestCertainlyOlder: tokens order the grants that have one, where they are sound;
// a grant without one is compared by time, whatever the other's token.
func TestCertainlyOlder(t *testing.T) {
	grants := func(text string) (*analysis, *grant, *grant) {
		an := analysed(script(t, text))
		g := an.lockNamed("k0").grants
		return an, g[0], g[1]
	}
	for _, c := range []struct {
		name, text string
		ab, ba     bool
		evidence   int32 // of a before b, besides the oks
	}{
		{"one after the other", "0.1-0.2 c1 acquire c1.1\n0.3-0.4 c2 acquire c2.1", true, false, 2},
		{"at once", "0.1-0.2 c1 acquire c1.1\n0.15-0.25 c2 acquire c2.1", false, false, 1},
		{"one begins where the other ends", "0.1-0.2 c1 acquire c1.1\n0.2-0.25 c2 acquire c2.1", false, false, 2},
		{"at once, by token", "0.1-0.2 c1 acquire c1.1 token=1\n0.15-0.25 c2 acquire c2.1 token=2", true, false, -1},
		{"at once, by token, the other way", "0.1-0.2 c1 acquire c1.1 token=2\n0.15-0.25 c2 acquire c2.1 token=1", false, true, -1},
		{"one after the other, the first has no token", "0.1-0.2 c1 acquire c1.1\n0.3-0.4 c2 acquire c2.1 token=1", true, false, 2},
		{"one after the other, the second has no token", "0.1-0.2 c1 acquire c1.1 token=1\n0.3-0.4 c2 acquire c2.1", true, false, 2},
		{"at once, the first has no token", "0.1-0.2 c1 acquire c1.1\n0.15-0.25 c2 acquire c2.1 token=1", false, false, 1},
		{"at once, the second has no token", "0.1-0.2 c1 acquire c1.1 token=1\n0.15-0.25 c2 acquire c2.1", false, false, 1},
		{"tokens that fall", "0.1-0.2 c1 acquire c1.1 token=2\n0.3-0.4 c2 acquire c2.1 token=1", true, false, 2},
		{"one token twice", "0.1-0.2 c1 acquire c1.1 token=2\n0.3-0.4 c2 acquire c2.1 token=2", true, false, 2},
		{"a lease begins after the other's ok", "0.1-0.2 c1 acquire c1.1\n0.15-0.4 c2 acquire c2.1 since=0.3 lease=1", true, false, -1},
	} {
		an, a, b := grants(c.text)
		if got := an.tokens.certainlyOlder(a, b); got != c.ab {
			t.Errorf("%s: first before second: %v", c.name, got)
		}
		if got := an.tokens.certainlyOlder(b, a); got != c.ba {
			t.Errorf("%s: second before first: %v", c.name, got)
		}
		if got := an.tokens.orderEvidence(a, b); got != c.evidence {
			t.Errorf("%s: evidence %d, want %d", c.name, got, c.evidence)
		}
	}
}

// TestRegressions compares with looking at all pairs: each grant that some
// certainly earlier one outbids is found with the greatest such token, and no
// other; those without a token take no part.
func TestRegressions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var grants []*grant
		for range rapid.IntRange(0, 7).Draw(t, "grants") {
			lo := rapid.Int64Range(0, 12).Draw(t, "lo")
			grants = append(grants, &grant{lo: lo, okT: lo + rapid.Int64Range(0, 5).Draw(t, "takes"), token: rapid.Int64Range(0, 6).Draw(t, "token")})
		}
		sortBy(grants, func(g *grant) int64 { return g.okT })
		want := map[*grant]int64{}
		for _, b := range grants {
			for _, a := range grants {
				if a.token != 0 && b.token != 0 && a.okT < b.lo && a.token > b.token {
					want[b] = max(want[b], a.token)
				}
			}
		}
		got := map[*grant]int64{}
		for _, p := range regressions(grants) {
			if got[p.newer] = p.older.token; p.older.okT >= p.newer.lo {
				t.Fatalf("%v is not certainly older than %v", p.older, p.newer)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%v, by all pairs %v", got, want)
		}
		for g, token := range want {
			if got[g] != token {
				t.Fatalf("after %d, by all pairs after %d", got[g], token)
			}
		}
		var again []*grant
		for i, b := range grants {
			if b.token != 0 && slices.ContainsFunc(grants[:i], func(a *grant) bool { return a.token == b.token }) {
				again = append(again, b)
			}
		}
		var duplicates []*grant
		for _, p := range reuses(grants) {
			if duplicates = append(duplicates, p.newer); p.older.token != p.newer.token {
				t.Fatalf("tokens %d and %d are not the same", p.older.token, p.newer.token)
			}
		}
		if !slices.Equal(duplicates, again) {
			t.Fatalf("given again %v, by all pairs %v", duplicates, again)
		}
	})
}

// TestReusesInAnyOrder: a client that is given back what it holds, with its token, is no reuse, however the grants are listed.
func TestReusesInAnyOrder(t *testing.T) {
	k := &lock{}
	chain := make([]*grant, 3)
	for i := range chain {
		chain[i] = &grant{lock: k, process: "c1", token: 7, n: int32(i), lo: int64(i), okT: int64(max(1, i)), since: int64(i), lease: 9, lost: -1}
		if i > 0 {
			chain[i-1].anew = chain[i]
		}
	}
	other := &grant{lock: k, process: "c2", token: 7, lo: 5, okT: 5, lost: -1}
	for _, order := range [][]*grant{{chain[0], chain[1], chain[2]}, {chain[2], chain[1], chain[0]}, {chain[1], chain[2], chain[0]}} {
		if found := reuses(order); len(found) > 0 {
			t.Errorf("%d reuses of what one client holds", len(found))
		}
		if found := reuses(append([]*grant{other}, order...)); len(found) != 1 || found[0].newer != other {
			t.Errorf("%v, want the grant of another client", found)
		}
	}
}
