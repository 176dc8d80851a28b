package report

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/results"
)

// TestJUnitPassesOverWhatNoRunDecided: a promise that the lock does not make, or that nothing tried, does not pass.
func TestJUnitPassesOverWhatNoRunDecided(t *testing.T) {
	skipped := func(decided map[string]int) string {
		r := &hunt.Result{Lock: "mine", Runs: 40, Granted: 40, Decided: decided, FaultRuns: map[string]int{"pause": 20},
			Depths: []hunt.Depth{{Space: 20, Ran: 20, Done: true}, {Faults: 1, Space: 20, Ran: 20, Done: true}}}
		var out bytes.Buffer
		if err := JUnit(&out, r, "x"); err != nil {
			t.Fatal(err)
		}
		var s results.JUnitSuite
		if err := xml.Unmarshal(out.Bytes(), &s); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		var names []string
		for _, c := range s.Cases {
			if c.Skipped != nil {
				names = append(names, c.Name)
			}
		}
		return strings.Join(names, " ")
	}
	if got := skipped(map[string]int{"exclusion": 30, "liveness": 1}); got != "register tokens" {
		t.Errorf("skipped %q", got)
	}
	if got := skipped(nil); got != "" { // a result that does not say it
		t.Errorf("skipped %q", got)
	}
}
