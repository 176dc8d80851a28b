package checker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cutLess are what a record that ends with an anomaly's own evidence need not show: it takes what came later to tell.
var cutLess = map[string]string{
	"renewed-shorter-held granted-early": "the lock's word at the later release undoes a renewal for less",
}

// TestCutAfterTheEvidence: a record that ends with the last event that an anomaly names shows that anomaly, as far as it
// is about who held the lock. A record may end at any instant; what it shows by then is not undone by that.
func TestCutAfterTheEvidence(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	tried := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		in := script(t, string(text))
		for _, a := range Check(in).Anomalies {
			if !slices.Contains([]string{"two-holders", "granted-early", "double-grant", "wrong-release"}, a.Name) || len(a.Events) == 0 {
				continue
			}
			tried++
			cut := in
			cut.Events = in.Events[:slices.Max(a.Events)+1]
			found := slices.ContainsFunc(Check(cut).Anomalies, func(b Anomaly) bool {
				return b.Name == a.Name && b.Grants[len(b.Grants)-1] == a.Grants[len(a.Grants)-1] // with another of those who had it before
			})
			id := strings.TrimSuffix(filepath.Base(file), ".txt") + " " + a.Name
			if _, known := cutLess[id]; found == known {
				t.Errorf("%s of %v: found %v in a record that ends with event %d: %s", id, a.Grants, found, slices.Max(a.Events), a.Explanation)
			}
		}
	}
	if tried < 100 {
		t.Errorf("%d anomalies tried", tried)
	}
}
