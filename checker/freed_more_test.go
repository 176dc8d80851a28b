package checker

import "testing"

// TestReleaseBesideTwoGrants: two clients that are granted the lock together have looked at once, unless a release that may
// have freed the older grant was under way meanwhile.
func TestReleaseBesideTwoGrants(t *testing.T) {
	for _, c := range []struct {
		name, history string
		atOnce        bool
	}{
		{"a reader leaves", `
0.100-0.110 c2 acquire c2.1 mode=shared lease=1
0.115-0.123 c2 release c2.1
0.114-0.125 c1 acquire c1.1 mode=shared lease=1
0.112-0.128 c3 acquire c3.1 since=0.124 lease=1`, false},
		{"a reader has left", `
0.100-0.105 c2 acquire c2.1 mode=shared lease=1
0.106-0.110 c2 release c2.1
0.114-0.125 c1 acquire c1.1 mode=shared lease=1
0.112-0.128 c3 acquire c3.1 since=0.124 lease=1`, true},
		{"whose lease was over, of a mutex", `
0.100-0.105 c2 acquire c2.1 lease=0.001
0.115-0.123 c2 release c2.1
0.114-0.125 c1 acquire c1.1 lease=1
0.112-0.128 c3 acquire c3.1 since=0.124 lease=1`, false},
		{"who had it before, of a mutex", `
0.100-0.105 c2 acquire c2.1 lease=1
0.110-0.115 c2 release c2.1
0.114-0.125 c1 acquire c1.1 lease=1
0.112-0.128 c3 acquire c3.1 since=0.124 lease=1`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Check(script(t, c.history))
			for _, a := range v.Anomalies {
				if a.Name == "granted-early" {
					if got := a.Sizes["asked_before"] > 0; got != c.atOnce {
						t.Errorf("at once: %v, want %v: %s", got, c.atOnce, a.Explanation)
					}
					return
				}
			}
			t.Errorf("no granted-early: %v", v.Anomalies)
		})
	}
}
