package checker

import (
	"fmt"
	"strings"
	"testing"
)

// TestSoonAfterLoss: a grant that came at once after a server had failed came of that, although as many of the others would have been touched by
// such failures by chance. If it came some time later, nothing says so.
func TestSoonAfterLoss(t *testing.T) {
	const odd = 38
	for _, c := range []struct {
		name  string
		since int // ms from the failure's end to the grant
		want  string
	}{
		{"at once", 1, "kill of a server"},
		{"after 90 ms", 90, ""},
	} {
		var b strings.Builder
		b.WriteString("0.01-0.02 c3 acquire !timeout\n")
		// After other shares of the lease each time: one share were a habit of the lock.
		for i, at := range []int{8, 22, odd, 52, 66, 80} {
			failed, down := 920, 10
			if at == odd {
				failed, down = 10*at-c.since, 250
			}
			fmt.Fprintf(&b, `
%[1]d.000-%[1]d.001 c1 acquire c1.%[2]d lease=0.9
%[1]d.%03[3]d-%[1]d.%03[4]d nemesis kill s1
%[1]d.%02[2]d-%[1]d.%02[2]d1 c2 acquire c2.%[2]d lease=0.05
%[1]d.%02[2]d2-%[1]d.%02[2]d3 c2 release c2.%[2]d
`, i+1, at, failed-down, failed)
		}
		seen := 0
		for _, a := range named(Check(script(t, b.String())), "granted-early") {
			want := ""
			if a.Grants[len(a.Grants)-1] == fmt.Sprintf("c2.%d", odd) {
				want, seen = c.want, seen+1
			}
			if got := a.Suspect.Kind(); got != want {
				t.Errorf("%s: %v: suspect %q, want %q", c.name, a.Grants, got, want)
			}
		}
		if seen != 1 {
			t.Errorf("%s: %d grants after the failure, want 1", c.name, seen)
		}
	}
}

// TestFailureAtTheBeginning: a server fails when the record begins, and the only grant that may have come of it ends the record: such a grant comes by chance in every case.
func TestFailureAtTheBeginning(t *testing.T) {
	v := Check(script(t, `
0.100- nemesis kill s1
0.100-0.200 c1 acquire c1.1 lease=5
0.300-0.600 c2 acquire c2.1 lease=5
`))
	if got := len(named(v, "granted-early")); got != 1 {
		t.Errorf("%d grants were early, want 1: %+v", got, v.Anomalies)
	}
}
