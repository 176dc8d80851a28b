package harness

import (
	"testing"

	"github.com/picklock/picklock/scenarios"
)

// Who starts first asks first more often than not: a schedule that breaks the lock only if one client asks before
// another must not look steady because that one is the first in each run here.
func TestEachClientStartsFirst(t *testing.T) {
	first := map[string]int{}
	for range 300 { // each misses all of them once in 10^52 tests
		sc := newScript(&run{plan: &plan{}}, &scenarios.Scenario{Clients: []string{"A", "B", "C"}}, nil)
		if len(sc.runner.Order) != 3 {
			t.Fatalf("%q start, want three", sc.runner.Order)
		}
		first[sc.runner.Order[0]]++
	}
	if len(first) != 3 {
		t.Errorf("who started first: %v, want each of three", first)
	}
}
