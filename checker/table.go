package checker

// finder looks for one way in which a history can break a property.
type finder struct {
	anomaly string // its name in the verdict's table
	find    func(*analysis) []Anomaly
}

// finders is the package's one table, in the order of verdict.Anomalies. Adding an
// anomaly is one file with its function, one line here, and one there that says what
// it is.
func finders() []finder {
	return []finder{
		{"granted-early", findGrantedEarly},
		{"double-grant", findDoubleGrants},
		{"two-holders", findTwoHolders},
		{"token-regression", findTokenRegression},
		{"token-reuse", findTokenReuse},
		{"stale-write", findStaleWrites},
		{"lost-update", findLostUpdates},
		{"nonlinearizable", findNonlinearizable},
		{"deadlock", findDeadlocks},
		{"starvation", findStarvation},
		{"false-rejection", findFalseRejections},
		{"wrong-release", findWrongReleases},
	}
}
