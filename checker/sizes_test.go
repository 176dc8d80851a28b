package checker

import (
	"maps"
	"testing"
)

// TestSizes: the figures that the explanations speak of, in ms; a length that
// nothing is known of is not there.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		name, text, anomaly string
		want                map[string]int64
	}{
		{"stale, with a lease", `
2.500-2.501 c1 acquire c1.1 token=33 lease=1
2.700-3.520 c2 acquire c2.1 token=34 since=3.510 lease=2
3.590-3.610 c2 read c2.1 @3.600
4.811-4.813 c1 write c1.1 value=a @4.812`, "stale-write", map[string]int64{"after_grant": 1292, "after_touch": 1212, "late": 1312}},
		{"stale, without a lease", `
2.500-2.501 c1 acquire c1.1 token=33
2.700-3.520 c2 acquire c2.1 token=34
3.590-3.610 c2 read c2.1 @3.600
4.811-4.813 c1 write c1.1 value=a @4.812`, "stale-write", map[string]int64{"after_grant": 1292, "after_touch": 1212}},
		{"two holders, the older one's lease is over", `
0.100-0.110 c1 acquire c1.1 lease=0.1
0.200-0.300 c2 acquire c2.1 lease=1
0.500-0.510 c1 release c1.1
0.600-0.610 c2 release c2.1`, "two-holders", map[string]int64{"overlap": 200, "late": 100}},
		{"two holders, no leases", `
0.100-0.110 c1 acquire c1.1
0.200-0.300 c2 acquire c2.1
0.500-0.510 c1 release c1.1
0.600-0.610 c2 release c2.1`, "two-holders", map[string]int64{"overlap": 200}},
		{"lost, and seen before", `
0.100-0.200 c1 acquire c1.1
0.100-0.200 c2 acquire c2.1
0.210-0.220 c1 read c1.1 @0.215
0.230-0.240 c2 write c2.1 value=b @0.235
0.250-0.260 c1 write c1.1 value=c @0.255`, "lost-update", map[string]int64{"after": 20, "blind": 40}},
		{"tokens fall", "0.1-0.2 c1 acquire c1.1 token=2\n0.3-0.5 c2 acquire c2.1 token=1", "token-regression", map[string]int64{"apart": 100}},
		{"one token twice", "0.1-0.2 c1 acquire c1.1 token=2\n0.3-0.5 c2 acquire c2.1 token=2", "token-reuse", map[string]int64{"apart": 300}},
	} {
		v := Check(script(t, c.text))
		list := named(v, c.anomaly)
		if len(list) != 1 {
			t.Errorf("%s: found %v", c.name, found(v))
			continue
		}
		got := map[string]int64{}
		for name, ns := range list[0].Sizes {
			got[name] = (ns + 500e3) / 1e6
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
