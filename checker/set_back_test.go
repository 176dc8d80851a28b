package checker

import (
	"fmt"
	"testing"
)

// A hold without a known lease outlasts its client's crash by a clock only if that was set right while
// the client had the lock, and has not caught up.
func TestSetBackWithoutLease(t *testing.T) {
	for name, c := range map[string]struct {
		when  string // the clock was wrong
		how   string
		until string // c2 waits
		want  int64
	}{
		"while it was held":       {"0.050-0.370", "s1 how=+30s", "7.500", 30e9},
		"before the grant":        {"0.050-0.090", "s1 how=+30s", "7.500", 0},
		"after the crash":         {"0.050-0.390", "s1 how=+30s", "7.500", 0},
		"set ahead meanwhile":     {"0.200-0.370", "s1 how=+30s", "7.500", 30e9}, // the library may have renewed it by then
		"a client's clock":        {"0.050-0.370", "c1 how=+30s", "7.500", 0},
		"too little":              {"0.050-0.370", "s1 how=+4s", "7.500", 0},
		"caught up, and no grant": {"0.050-0.370", "s1 how=+6s", "13.000", 0},
	} {
		v := Check(script(t, fmt.Sprintf("0.100-0.110 c1 acquire c1.1\n%s nemesis clock %s\n0.380-0.500 nemesis kill c1\n0.150-%s c2 acquire !timeout\n", c.when, c.how, c.until)))
		if len(v.Anomalies) != 1 || v.Anomalies[0].Cause != "crashed-holder" || v.Anomalies[0].Sizes["set_back"] != c.want {
			t.Errorf("%s: %+v, want %d", name, v.Anomalies, c.want)
		}
	}
}
