package report

import (
	"bytes"
	"strings"
	"testing"
)

// A hunt for some anomalies alone says so, and passes no promise that it has not looked at.
func TestSought(t *testing.T) {
	r := clean()
	r.Find, r.Depths[0].Ran = []string{"token-regression"}, 6
	if got := r.Summary(); !strings.HasSuffix(got, "; looked for nothing but token-regression") {
		t.Error(got)
	}
	r.Decided = map[string]int{"exclusion": 6}
	if got := r.Summary(); !strings.HasPrefix(got, "UNKNOWN: no run can have shown token-regression: the lock does not promise what it breaks, or nothing was tried on that") {
		t.Error(got)
	}
	r.Find = []string{"token-regression", "granted-early"}
	if got := r.Summary(); !strings.HasPrefix(got, "PASS: ") || !strings.HasSuffix(got, "; looked for nothing but token-regression and granted-early, of which no run can have shown token-regression") {
		t.Error(got)
	}
	r.Decided["tokens"], r.Find = 1, []string{"token-regression"}
	if got := r.Summary(); !strings.HasPrefix(got, "PASS: ") {
		t.Error(got)
	}
	cases := func() string {
		t.Helper()
		var b bytes.Buffer
		if err := JUnit(&b, r, "dir"); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := cases(); !strings.Contains(got, `tests="4" failures="0"`) || !strings.Contains(got, `skipped="3"`) || strings.Count(got, `<skipped message="looked for nothing but token-regression">`) != 3 {
		t.Error(got)
	}
	r = result()
	r.Counterexamples = r.Counterexamples[:1]
	r.Counterexamples[0].Anomaly, r.Find = "two-holders", []string{"two-holders"}
	if got := cases(); !strings.Contains(got, `tests="5" failures="1"`) || !strings.Contains(got, `name="belief"`) {
		t.Error(got)
	}
	r = clean()
	r.IgnoreHazards = true
	if got := r.Summary(); !strings.HasSuffix(got, "; lease hazards were not looked for") {
		t.Error(got)
	}
}
