package verdict

// AnomalyInfo describes an anomaly for the command line, the report and the docs.
type AnomalyInfo struct {
	Name     string `json:"name"`
	Property string `json:"property"`
	Doc      string `json:"doc"` // one line
}

// Anomalies lists the anomalies that a verdict can hold, in the order of their
// properties.
func Anomalies() []AnomalyInfo {
	return []AnomalyInfo{
		{"granted-early", Exclusion, "the service granted the lock while another grant's lease certainly had time left"},
		{"double-grant", Exclusion, "the service granted the lock while another client held it, and no lease, fault or release excuses that"},
		{"two-holders", Belief, "two clients believed at once that they held the lock"},
		{"token-regression", Tokens, "a later grant carries a smaller token than an earlier one"},
		{"token-reuse", Tokens, "two grants carry the same token"},
		{"stale-write", Register, "a write of an older grant was accepted after a newer grant had touched the resource"},
		{"lost-update", Register, "an acknowledged update was overwritten by a client that had not seen it"},
		{"nonlinearizable", Register, "what the clients saw contradicts every possible order of the register's operations"},
		{"deadlock", Liveness, "a lock that was wanted, and held by nobody alive, was not granted within the bound, with no fault on"},
		{"starvation", Liveness, "a client waited longer than is fair while others were granted the lock (only with --fair)"},
		{"false-rejection", Liveness, "the register refused the rightful holder"},
		{"wrong-release", Liveness, "the release of a client that no longer held the lock freed another client's lock"},
	}
}
