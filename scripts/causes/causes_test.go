package main

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/results"
)

// TestCausesOfRealRuns: what is said of recorded runs of real servers is what was done to
// them. Each root cause of what broke a required property must be one that is true of the
// run; a run of which anything else is said is wrong. Nothing was tuned on the holdout.
func TestCausesOfRealRuns(t *testing.T) {
	for _, set := range []string{"tuned", "holdout"} {
		t.Run(set, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join("testdata", set, "*.json.gz"))
			if err != nil || len(files) < 40 {
				t.Fatalf("%d recorded runs, want 40 at least: %v", len(files), err)
			}
			right := 0
			for _, file := range files {
				c := load(t, file)
				v := checker.Check(checker.Input{Events: c.Events, Effects: c.Effects, Options: c.Run.Asked()})
				if wrong := wrongCauses(c, v); len(wrong) > 0 {
					t.Logf("%s: %s\n%s", filepath.Base(file), c.Args, strings.Join(wrong, "\n"))
					continue
				}
				right++
			}
			t.Logf("%d of %d right", right, len(files))
			if 100*right < 95*len(files) {
				t.Errorf("the causes of %d of %d runs are right, want 95 %%", right, len(files))
			}
		})
	}
}

func load(t *testing.T, file string) recorded {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var c recorded
	if err := json.NewDecoder(z).Decode(&c); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return c
}

// wrongCauses lists what is said of a run and not true of it.
func wrongCauses(c recorded, v checker.Verdict) []string {
	var wrong []string
	if v.Valid != checker.False {
		return []string{"it did not break: " + v.Why}
	}
	says := results.Causes(c.Run, v)
	i := 0
	for _, g := range v.Groups() {
		if !g.Required {
			continue
		}
		told, _, _ := strings.Cut(says[i].String(), "; mitigation")
		i++
		if !slices.ContainsFunc(c.Causes, func(ok cause) bool { return g.Suspect == ok.Suspect && strings.Contains(told, ok.Says) }) {
			wrong = append(wrong, "  "+told+" ["+g.Suspect+"]\n    "+v.Anomalies[g.First].Explanation)
		}
	}
	return wrong
}
