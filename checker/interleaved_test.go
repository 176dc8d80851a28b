package checker

import (
	"strings"
	"testing"
)

// TestInterleavedLate: whether the order of two grants is certain hangs on when the second
// client began to wait. A write that came after its own lease is reported the same either way;
// what no lease explains stays interleaved.
func TestInterleavedLate(t *testing.T) {
	for _, c := range []struct{ name, text, want, words string }{
		{"the first client's lease ended, the other one waited", `
0.00-0.10 c1 acquire c1.1 lease=0.5
0.05-0.70 c2 acquire c2.1 lease=0.5
0.20-0.21 c1 read c1.1 @0.205
0.75-0.76 c2 write c2.1 value=b @0.755
0.80-0.81 c1 write c1.1 value=a @0.805`, "lease-outlived", "c1's lease of 500 ms had ended 305 ms before"},
		{"the same, and the other one began later", `
0.00-0.10 c1 acquire c1.1 lease=0.5
0.60-0.70 c2 acquire c2.1 lease=0.5
0.20-0.21 c1 read c1.1 @0.205
0.75-0.76 c2 write c2.1 value=b @0.755
0.80-0.81 c1 write c1.1 value=a @0.805`, "lease-outlived", "its lease of 500 ms had ended 305 ms before"},
		{"sent in time", `
0.00-0.10 c1 acquire c1.1 lease=0.5
0.05-0.70 c2 acquire c2.1 lease=0.5
0.20-0.21 c1 read c1.1 @0.205
0.75-0.76 c2 write c2.1 value=b @0.755
0.49-0.81 c1 write c1.1 value=a @0.805`, "delayed", "c1's lease"},
		{"over before its client learnt of it", `
0.00-0.60 c1 acquire c1.1 lease=0.5
0.55-0.58 c2 acquire c2.1 lease=0.5
0.62-0.63 c1 read c1.1 @0.625
0.65-0.66 c2 write c2.1 value=b @0.655
0.70-0.71 c1 write c1.1 value=a @0.705`, "never-held", "c1's lease"},
		{"the other one's write is the late one", `
0.00-0.10 c2 acquire c2.1 lease=0.5
0.05-0.70 c1 acquire c1.1 lease=2
0.72-0.73 c1 read c1.1 @0.725
0.75-0.76 c2 write c2.1 value=b @0.755
0.80-0.81 c1 write c1.1 value=a @0.805`, "lease-outlived", "c2's lease"},
		{"late, but both had it at once", `
0.00-0.10 c1 acquire c1.1 lease=0.5
0.05-0.30 c2 acquire c2.1 lease=0.5
0.20-0.21 c1 read c1.1 @0.205
0.75-0.76 c2 write c2.1 value=b @0.755
0.80-0.81 c1 write c1.1 value=a @0.805`, "interleaved", ""},
		{"both in time", `
0.00-0.10 c1 acquire c1.1 lease=2
0.05-0.70 c2 acquire c2.1 lease=2
0.20-0.21 c1 read c1.1 @0.205
0.75-0.76 c2 write c2.1 value=b @0.755
0.80-0.81 c1 write c1.1 value=a @0.805`, "interleaved", ""},
		{"no leases", `
0.00-0.10 c1 acquire c1.1
0.05-0.70 c2 acquire c2.1
0.20-0.21 c1 read c1.1 @0.205
0.75-0.76 c2 write c2.1 value=b @0.755
0.80-0.81 c1 write c1.1 value=a @0.805`, "interleaved", ""},
	} {
		v := Check(script(t, c.text))
		list := named(v, "stale-write")
		if len(list) != 1 || list[0].Cause != c.want || !strings.Contains(list[0].Explanation, c.words) {
			t.Errorf("%s: found %v, %+v, want %s and %q", c.name, found(v), list, c.want, c.words)
			continue
		}
		if _, ok := list[0].Sizes["late"]; ok != (c.words != "") {
			t.Errorf("%s: sizes %v", c.name, list[0].Sizes)
		}
	}
}
