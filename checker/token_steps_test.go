package checker

import "testing"

// TestSuspectsOfSteps: what is blamed for a token is what made the tokens go back last, not what was on since the greatest one of all.
func TestSuspectsOfSteps(t *testing.T) {
	const run = `
0.01-0.02 c3 acquire !timeout
0.10-0.11 c1 acquire c1.1 token=9 lease=0.1
0.12-0.13 c1 release c1.1
1.00-1.05 nemesis kill s1
1.06-1.07 c2 acquire c2.1 token=1 lease=0.1
1.08-1.09 c2 release c2.1
1.20-1.21 c1 acquire c1.2 token=2 lease=0.1
1.22-1.23 c1 release c1.2
2.00-2.05 nemesis powerloss s1
2.06-2.07 c2 acquire c2.2 token=1 lease=0.1
2.08-2.09 c2 release c2.2
2.20-2.21 c1 acquire c1.3 token=2 lease=0.1
2.22-2.23 c1 release c1.3
`
	// Two at once, of which the one with the greater token is the older of the next one.
	const together = `
3.20-3.25 c2 acquire c2.3 token=12 lease=0.01
3.22-3.30 c1 acquire c1.4 token=3 lease=0.01
3.40-3.41 c4 acquire c4.1 token=4 lease=0.1
`
	want := map[string]string{"c2.1": "kill of a server", "c1.2": "kill of a server", "c2.2": "powerloss of a server", "c1.3": "powerloss of a server", "c4.1": ""}
	got := map[string]string{}
	for _, a := range named(Check(script(t, run+together)), "token-regression") {
		got[a.Grants[len(a.Grants)-1]] = a.Suspect.Kind()
	}
	for g, w := range want {
		if k, ok := got[g]; !ok || k != w {
			t.Errorf("%s: suspect %q, want %q", g, k, w)
		}
	}
}
