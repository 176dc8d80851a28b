package bisect

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A scripted library: it shows the counterexample in some versions, and others cannot be built.
func scripted(shows func(i int) bool, broken func(i int) bool, asked *[]string) func(context.Context, string) (Outcome, error) {
	return func(_ context.Context, version string) (Outcome, error) {
		*asked = append(*asked, version)
		i, err := strconv.Atoi(version)
		o := Outcome{Version: version, Runs: 20}
		switch {
		case err != nil:
			return o, err
		case broken(i):
			return Outcome{Version: version, Skipped: "it cannot be built"}, nil
		case shows(i):
			o.Hits = 20
		}
		return o, nil
	}
}

func numbered(n int) []string {
	var out []string
	for i := range n {
		out = append(out, strconv.Itoa(i))
	}
	return out
}

// Whatever version changes it and whichever cannot be built, what is found is what looking at each would find.
func TestSearchFindsTheChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "versions")
		change := rapid.IntRange(1, n-1).Draw(t, "change")
		mends := rapid.Bool().Draw(t, "mends")
		broken := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "broken")
		broken[0], broken[n-1] = false, false
		before, first := change-1, change
		for broken[before] {
			before--
		}
		for broken[first] {
			first++
		}
		var asked []string
		r, err := Search(context.Background(), numbered(n), scripted(func(i int) bool { return (i < change) == mends }, func(i int) bool { return broken[i] }, &asked))
		if err != nil {
			t.Fatal(err)
		}
		if r.First == nil || r.First.Version != strconv.Itoa(first) || r.Before.Version != strconv.Itoa(before) || len(r.Between) != first-before-1 {
			t.Fatalf("found %+v, want a change from %d to %d", r, before, first)
		}
		if r.First.Shows() == mends {
			t.Fatalf("the first changed one: %+v", r.First)
		}
		slices.Sort(asked)
		if len(slices.Compact(asked)) != len(r.Tried) {
			t.Fatalf("asked for %q, reported %d", asked, len(r.Tried))
		}
	})
}

// Few versions are tried if all can be built.
func TestSearchHalves(t *testing.T) {
	var asked []string
	never := func(int) bool { return false }
	if _, err := Search(t.Context(), numbered(100), scripted(func(i int) bool { return i >= 37 }, never, &asked)); err != nil || len(asked) > 9 {
		t.Errorf("%d tried: %v", len(asked), err)
	}
}

// Without a difference, or with an end that says nothing, nothing is searched.
func TestSearchEnds(t *testing.T) {
	never, always := func(int) bool { return false }, func(int) bool { return true }
	for name, tc := range map[string]struct {
		shows, broken func(int) bool
		tried         int
	}{
		"both":          {always, never, 2},
		"neither":       {never, never, 2},
		"first unbuilt": {always, func(i int) bool { return i == 0 }, 1},
		"last unbuilt":  {always, func(i int) bool { return i == 9 }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			r, err := Search(t.Context(), numbered(10), scripted(tc.shows, tc.broken, &asked))
			if err != nil || r.First != nil || len(r.Tried) != tc.tried {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	broken := errors.New("no servers")
	if _, err := Search(t.Context(), numbered(10), func(context.Context, string) (Outcome, error) { return Outcome{}, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestCompare(t *testing.T) {
	order := []string{"0.9", "1.0.0-alpha.1", "1.0.0-beta.2", "1.0.0-beta.10", "1.0.0-M1", "1.0.0-rc1", "1.0", "1.0.post1", "1.0.1", "1.2.0.Final", "1.10.0", "2.0rc1", "v2.0.0", "3.46.0"}
	for i := range order[:len(order)-1] {
		if Compare(order[i], order[i+1]) >= 0 || Compare(order[i+1], order[i]) <= 0 {
			t.Errorf("%s is not before %s", order[i], order[i+1])
		}
	}
	for _, same := range [][2]string{{"1.0", "1.0.0"}, {"1.2.0", "1.2.0.RELEASE"}, {"v1.0.0", "1.0.0"}, {"1.0.0+build7", "1.0.0"}} {
		if Compare(same[0], same[1]) != 0 {
			t.Errorf("%s is not %s", same[0], same[1])
		}
	}
}

func TestBetween(t *testing.T) {
	all := []string{"3.0.0", "1.0.0", "2.0.0-rc1", "2.0.0", "1.1.0", "1.10.0", "0.9.0"}
	if got, err := Between(all, "1.0.0", "2.0.0"); err != nil || strings.Join(got, " ") != "1.0.0 1.1.0 1.10.0 2.0.0" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Between(all, "2.0.0-rc1", "3.0.0"); err != nil || strings.Join(got, " ") != "2.0.0-rc1 2.0.0 3.0.0" {
		t.Errorf("%q, %v", got, err)
	}
	for _, wrong := range [][2]string{{"1.0.0", "1.0.2"}, {"1.1.0", "1.0.0"}, {"1.0.0", "1.0.0"}} {
		if _, err := Between(all, wrong[0], wrong[1]); err == nil {
			t.Errorf("from %s to %s is none", wrong[0], wrong[1])
		}
	}
}
