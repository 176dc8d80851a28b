package checker

import (
	"slices"
	"strings"
	"testing"
)

// TestFaultsOfAnomalies: each anomaly names the faults that were on between the
// first and the last moment of its evidence, or while the older grant was given, with a part or without, and no others.
func TestFaultsOfAnomalies(t *testing.T) {
	const (
		slowAtFirst = "0.155-0.158 nemesis slow c9\n"
		pauseLater  = "2-3 nemesis pause c9\n"
	)
	for _, c := range []struct{ anomaly, text, want string }{
		{"granted-early", "0.10-0.15 c1 acquire c1.1 lease=1\n0.30-0.40 c2 acquire c2.1 lease=1\n", "slow"},
		{"granted-early", "0.10-0.16 c1 acquire c1.1 lease=1\n0.30-0.40 c2 acquire c2.1 lease=1\n", "slow"},
		{"two-holders", "0.10-0.15 c1 acquire c1.1\n0.30-0.40 c2 acquire c2.1\n0.5-0.6 c1 release c1.1\n", "slow"},
		{"token-regression", "0.10-0.15 c1 acquire c1.1 token=2\n0.30-0.40 c2 acquire c2.1 token=1\n", "slow"},
		{"token-reuse", "0.10-0.15 c1 acquire c1.1 token=2\n0.30-0.40 c2 acquire c2.1 token=2\n", "slow"},
		// The older grant's request on, the newer grant's, the touch and the write's beginning.
		{"stale-write", "0.10-0.15 c1 acquire c1.1 token=1\n0.20-0.21 c2 acquire c2.1 token=2\n0.22-0.23 c2 read c2.1 @0.225\n0.24-0.30 c1 write c1.1 value=a @0.29\n", "slow"},
		{"stale-write", "0.10-0.165 c1 acquire c1.1 token=1\n0.10-0.15 c2 acquire c2.1 token=2\n0.22-0.23 c2 read c2.1 @0.225\n0.24-0.30 c1 write c1.1 value=a @0.29\n", "slow"},
		{"stale-write", "0.10-0.17 c1 acquire c1.1 token=1\n0.10-0.17 c2 acquire c2.1 token=2\n0.22-0.23 c2 read c2.1 @0.225\n0.24-0.30 c1 write c1.1 value=a @0.29\n", "slow"},
		{"stale-write", "0.10-0.17 c1 acquire c1.1\n0.11-0.15 c2 acquire c2.1\n0.18-0.19 c1 write c1.1 value=a @0.185\n0.20-0.21 c2 write c2.1 value=b @0.205\n0.22-0.23 c1 write c1.1 value=c @0.225\n", "slow"},
		{"stale-write", "0.10-0.15 c1 acquire c1.1\n0.11-0.17 c2 acquire c2.1\n0.18-0.19 c1 write c1.1 value=a @0.185\n0.20-0.21 c2 write c2.1 value=b @0.205\n0.22-0.23 c1 write c1.1 value=c @0.225\n", "slow"},
		{"stale-write", "0.10-0.17 c1 acquire c1.1\n0.11-0.17 c2 acquire c2.1\n0.18-0.19 c1 write c1.1 value=a @0.185\n0.20-0.21 c2 write c2.1 value=b @0.205\n0.22-0.23 c1 write c1.1 value=c @0.225\n", "slow"},
		// The lost update's beginning, the other one's, and what that client had seen.
		{"lost-update", "0.10-0.11 c1 acquire c1.1\n0.12-0.13 c2 acquire c2.1\n0.14-0.17 c1 add c1.1 value=a @0.165\n0.20-0.21 c2 add c2.1 value=b @0.205\n", "slow"},
		{"lost-update", "0.10-0.11 c1 acquire c1.1\n0.12-0.13 c2 acquire c2.1\n0.16-0.17 c1 add c1.1 value=a @0.165\n0.14-0.21 c2 add c2.1 value=b @0.205\n", "slow"},
		{"lost-update", "0.10-0.11 c1 acquire c1.1\n0.12-0.13 c2 acquire c2.1\n0.16-0.17 c1 add c1.1 value=a @0.165\n0.18-0.21 c2 add c2.1 value=b @0.205\n", ""},
		{"lost-update", "0.10-0.11 c1 acquire c1.1\n0.12-0.13 c2 acquire c2.1\n0.14-0.15 c2 read c2.1 @0.145\n0.16-0.17 c1 write c1.1 value=a @0.165\n0.18-0.21 c2 write c2.1 value=b @0.205\n", "slow"},
		{"lost-update", "0.10-0.11 c1 acquire c1.1\n0.12-0.13 c2 acquire c2.1\n0.14-0.15 c2 read c2.1\n0.16-0.17 c1 write c1.1 value=a\n0.18-0.21 c2 write c2.1 value=b\n", "slow"},
		{"nonlinearizable", "0.10-0.11 c1 acquire c1.1\n0.14-0.17 c1 write c1.1 value=a @0.165\n0.18-0.21 c1 read c1.1 value=a saw=b @0.205\n", ""},
		{"nonlinearizable", "0.10-0.11 c1 acquire c1.1\n0.12-0.13 c1 write c1.1 value=a @0.125\n0.14-0.17 c1 read c1.1 value=a saw=b @0.165\n", "slow"},
		{"nonlinearizable", "0.10-0.11 c1 acquire c1.1\n0.14-0.17 c1 write c1.1 value=a\n0.18-0.21 c1 read c1.1\n", "slow"},
		{"nonlinearizable", "0.10-0.11 c1 acquire c1.1\n0.16-0.17 c1 write c1.1 value=a\n0.18-0.21 c1 read c1.1\n", ""},
	} {
		v := Check(script(t, slowAtFirst+pauseLater+c.text))
		list := named(v, c.anomaly)
		if len(list) != 1 || strings.Join(slices.Concat(list[0].Faults, list[0].Bystanders), " ") != c.want {
			t.Errorf("%s\nfound %v, %+v, want faults %q", c.text, found(v), list, c.want)
		}
		for _, a := range list {
			if strings.Contains(a.Explanation, "slow") != (c.want != "") || strings.Contains(a.Explanation, "pause") {
				t.Errorf("%s", a.Explanation)
			}
		}
	}
}

// TestTimeOfAnomalies: the harm was done when the last of what contradicts each
// other was answered, where only the clients tell.
func TestTimeOfAnomalies(t *testing.T) {
	v := Check(script(t, "0.10-0.11 c1 acquire c1.1\n0.14-0.17 c1 write c1.1 value=a\n0.18-0.30 c1 read c1.1\n0.20-0.24 c2 read value=a\n"))
	if list := named(v, "nonlinearizable"); len(list) != 1 || list[0].Time != 300e6 {
		t.Errorf("%+v", list)
	}
}
