package checker

// anomaly is one way in which a history can break a property.
type anomaly struct {
	name, property, doc string
	find                func(*index) []Anomaly
}

// anomalies is the package's one table. Adding an anomaly is one file with its
// function, and one line here.
func anomalies() []anomaly {
	return []anomaly{
		{"granted-early", Exclusion, "the service granted the lock while another grant's lease certainly had time left", findGrantedEarly},
		{"double-grant", Exclusion, "the service granted the lock while another client held it, and no lease, fault or release excuses that", findDoubleGrants},
		{"two-holders", Belief, "two clients believed at once that they held the lock", findTwoHolders},
		{"token-regression", Tokens, "a later grant carries a smaller token than an earlier one", findTokenRegression},
		{"token-reuse", Tokens, "two grants carry the same token", findTokenReuse},
		{"stale-write", Register, "a write of an older grant was accepted after a newer grant had touched the resource", findStaleWrites},
		{"lost-update", Register, "an acknowledged update was overwritten by a client that had not seen it", findLostUpdates},
		{"nonlinearizable", Register, "what the clients saw contradicts every possible order of the register's operations", findNonlinearizable},
		{"deadlock", Liveness, "a lock that was wanted, and held by nobody alive, was not granted within the bound, with no fault on", findDeadlocks},
		{"starvation", Liveness, "a client waited longer than is fair while others were granted the lock (only with --fair)", findStarvation},
		{"false-rejection", Liveness, "the register refused the rightful holder", findFalseRejections},
		{"wrong-release", Liveness, "the release of a client that no longer held the lock freed another client's lock", findWrongReleases},
	}
}

// AnomalyInfo describes an anomaly for the command line, the report and the docs.
type AnomalyInfo struct {
	Name     string `json:"name"`
	Property string `json:"property"`
	Doc      string `json:"doc"` // one line
}

// Anomalies lists the anomalies that Check looks for, in the order of their
// properties.
func Anomalies() []AnomalyInfo {
	var out []AnomalyInfo
	for _, a := range anomalies() {
		out = append(out, AnomalyInfo{a.name, a.property, a.doc})
	}
	return out
}
