package checker

import "testing"

// TestPermitsTakenAtOnce: two of a semaphore's clients that take its last permit at the same moment show that by the
// latest of those who were there before, and not by the first.
func TestPermitsTakenAtOnce(t *testing.T) {
	const first = "0.100-0.110 c1 acquire c1.1 permits=2 lease=1\n"
	for name, c := range map[string]struct {
		rest  string
		asked int64 // ms
	}{
		"at once":                         {"0.400-0.410 c2 acquire c2.1 permits=2 lease=1\n0.405-0.420 c3 acquire c3.1 permits=2 lease=1\n", 5},
		"after the last one":              {"0.400-0.410 c2 acquire c2.1 permits=2 lease=1\n0.415-0.420 c3 acquire c3.1 permits=2 lease=1\n", 0},
		"asked at once, and waited":       {"0.400-0.410 c2 acquire c2.1 permits=2 lease=1\n0.405-0.620 c3 acquire c3.1 permits=2 since=0.610 lease=1\n", 0},
		"asked at once, granted too late": {"0.400-0.410 c2 acquire c2.1 permits=2 lease=1\n0.405-0.620 c3 acquire c3.1 permits=2 lease=1\n", 0},
	} {
		list := named(Check(script(t, first+c.rest)), "granted-early")
		if len(list) != 1 || list[0].Sizes["asked_before"] != c.asked*1e6 {
			t.Errorf("%s: asked before %d ms: %+v", name, c.asked, list)
		}
	}
}
