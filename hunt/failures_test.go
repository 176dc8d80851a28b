package hunt

import (
	"strings"
	"testing"
)

// TestFailures: a hunt that finds what any lease does accuses no lock.
func TestFailures(t *testing.T) {
	late, between, early := &Counterexample{Signature: leaseHazard}, &Counterexample{Signature: Signature{Anomaly: "stale-write", Cause: "interleaved"}}, &Counterexample{Signature: Signature{Anomaly: "granted-early"}}
	for want, counterexamples := range map[string][]*Counterexample{
		"FAIL: 0 lock bugs, 2 lease hazards: etcd with --fencing none": {late, between},
		"FAIL: 1 lock bug, 1 lease hazard: etcd with --fencing none":   {early, late},
		"UNKNOWN: no schedule was run":                                 nil,
	} {
		r := &Result{Counterexamples: counterexamples}
		r.Lock, r.Fencing = "etcd", "none"
		if got := r.Summary(); !strings.HasPrefix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
