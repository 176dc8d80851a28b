package checker

import (
	"strings"
	"testing"
)

// TestRenewalsOfUnsaidLength: if a renewal does not say for how long it is, nobody knows when the lease ends. Then no library is accused: neither
// of letting the lease end, nor of keeping silent about it.
func TestRenewalsOfUnsaidLength(t *testing.T) {
	const history = `
0.100-0.110 c1 acquire c1.1 lease=20 watchdog notifies
-10.000 c1 renew c1.1LEASE
-19.000 c1 renew c1.1LEASE
30.000-39.200 c2 acquire c2.1 lease=20 since=39.100
39.300-39.310 c2 read c2.1 @39.305
69.350-69.360 c1 write c1.1 value=b @69.355
69.600-69.700 c2 release c2.1`
	for lease, want := range map[string]struct{ cause, says string }{
		"":          {"lease-outlived", "its lease of 20 s had been renewed 50.4 s before, and the history does not say for how long"},
		" lease=20": {"not-renewed", "its lease of 20 s had ended 49.3 s before"},
	} {
		found := false
		for _, a := range Check(script(t, strings.ReplaceAll(history, "LEASE", lease))).Anomalies {
			if a.Name == "stale-write" {
				found = true
				if a.Cause != want.cause || !strings.Contains(a.Explanation, want.says) {
					t.Errorf("%q: %s: %s", lease, a.Cause, a.Explanation)
				}
			}
		}
		if !found {
			t.Errorf("%q: no stale write", lease)
		}
	}
}
