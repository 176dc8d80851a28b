package verdict

import (
	"math"
	"sync"
)

// AnomalyInfo describes an anomaly for the command line, the report and the docs.
type AnomalyInfo struct {
	Name     string `json:"name"`
	Property string `json:"property"`
	Doc      string `json:"doc"` // one line
	// Depth is its place in the order in which anomalies bring one another about: what
	// has a smaller one can be the cause.
	Depth int `json:"-"`
}

// Anomalies lists the anomalies that a verdict can hold, in the order of their
// properties.
func Anomalies() []AnomalyInfo {
	return []AnomalyInfo{
		{"granted-early", Exclusion, "the service granted the lock while another grant's lease certainly had time left", 4},
		{"double-grant", Exclusion, "the service granted the lock while another client held it, and no lease, fault or release excuses that", 5},
		{"two-holders", Belief, "two clients believed at once that they held the lock", 12},
		{"token-regression", Tokens, "a later grant carries a smaller token than an earlier one", 2},
		{"token-reuse", Tokens, "two grants carry the same token", 3},
		{"stale-write", Register, "a write of an older grant was accepted after a newer grant had touched the resource", 6},
		{"lost-update", Register, "an acknowledged update was overwritten by a client that had not seen it", 7},
		{"nonlinearizable", Register, "what the clients saw contradicts every possible order of the register's operations", 8},
		{"deadlock", Liveness, "a lock that was wanted, and held by nobody alive, was not granted within the bound, with no fault on", 10},
		{"starvation", Liveness, "a client waited longer than is fair while others were granted the lock (only with --fair)", 11},
		{"false-rejection", Register, "the register refused the rightful holder", 9},
		{"wrong-release", Exclusion, "the release of a client that no longer held the lock freed another client's lock", 1},
	}
}

var depths = sync.OnceValue(func() map[string]int {
	out := map[string]int{}
	for _, a := range Anomalies() {
		out[a.Name] = a.Depth
	}
	return out
})

// depth is an anomaly's Depth by its name; one that is not in the table comes last.
func depth(name string) int {
	if d, ok := depths()[name]; ok {
		return d
	}
	return math.MaxInt
}
