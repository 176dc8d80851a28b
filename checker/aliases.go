package checker

import "github.com/picklock/picklock/checker/verdict"

// What a verdict says has a package of its own, for those who read verdicts and draw
// none.
type (
	Validity    = verdict.Validity
	Verdict     = verdict.Verdict
	Property    = verdict.Property
	Anomaly     = verdict.Anomaly
	Stats       = verdict.Stats
	Waits       = verdict.Waits
	FaultCount  = verdict.FaultCount
	Group       = verdict.Group
	Consequence = verdict.Consequence
	AnomalyInfo = verdict.AnomalyInfo
	Suspect     = verdict.Suspect
)

const (
	Unknown = verdict.Unknown
	True    = verdict.True
	False   = verdict.False
)

// The properties, in the order in which they are reported.
const (
	Exclusion = verdict.Exclusion
	Belief    = verdict.Belief
	Tokens    = verdict.Tokens
	Register  = verdict.Register
	Liveness  = verdict.Liveness
)

// Properties lists all properties.
var Properties = verdict.Properties

// Anomalies lists the anomalies that Check looks for, in the order of their
// properties.
func Anomalies() []AnomalyInfo { return verdict.Anomalies() }
