package verdict

import "testing"

// TestFailures: what decides a verdict is counted by root cause, a lock bug apart from what any
// lease does.
func TestFailures(t *testing.T) {
	late := Anomaly{Name: "stale-write", Property: Register, Cause: "lease-outlived", Key: "k", Grants: []string{"a", "b"}, Time: 3}
	early := Anomaly{Name: "granted-early", Property: Exclusion, Key: "k", Grants: []string{"a", "b"}, Time: 1}
	led := late
	led.Cause = "granted-early"
	believed := Anomaly{Name: "two-holders", Property: Belief, Cause: "lease-outlived", Key: "k", Grants: []string{"a", "b"}}
	for name, tt := range map[string]struct {
		list   []Anomaly
		belief bool
		word   string
	}{
		"a stale write":                         {[]Anomaly{late}, false, "FAIL: 0 lock bugs, 1 lease hazard"},
		"one delayed, one by a pause":           {[]Anomaly{late, {Name: "lost-update", Property: Register, Cause: "delayed", Key: "l", Grants: []string{"c", "d"}}}, false, "FAIL: 0 lock bugs, 2 lease hazards"},
		"a grant too early":                     {[]Anomaly{early}, false, "FAIL: 1 lock bug, 0 lease hazards"},
		"what came of it":                       {[]Anomaly{early, led}, false, "FAIL: 1 lock bug, 0 lease hazards"},
		"both":                                  {[]Anomaly{early, {Name: "stale-write", Property: Register, Cause: "delayed", Key: "l", Grants: []string{"c", "d"}}}, false, "FAIL: 1 lock bug, 1 lease hazard"},
		"what is not required does not decide":  {[]Anomaly{early, believed}, false, "FAIL: 1 lock bug, 0 lease hazards"},
		"belief that is required":               {[]Anomaly{believed}, true, "FAIL: 0 lock bugs, 1 lease hazard"},
		"a register that is wrong by itself":    {[]Anomaly{{Name: "nonlinearizable", Property: Register, Cause: "read", Key: "k"}}, false, "FAIL: 0 lock bugs, 0 lease hazards, 1 fault of the resource"},
		"and in two ways":                       {[]Anomaly{early, {Name: "nonlinearizable", Property: Register, Cause: "read", Key: "k"}, {Name: "false-rejection", Property: Register, Key: "k"}}, false, "FAIL: 1 lock bug, 0 lease hazards, 2 faults of the resource"},
		"a lock that is no mutex by its model":  {[]Anomaly{{Name: "nonlinearizable", Property: Register, Cause: "owner-mutex"}}, false, "FAIL: 1 lock bug, 0 lease hazards"},
		"a rejection that the lock may explain": {[]Anomaly{{Name: "false-rejection", Property: Register, Cause: "no-token", Key: "k"}}, false, "FAIL: 1 lock bug, 0 lease hazards"},
	} {
		v := Verdict{Valid: False, Anomalies: tt.list, Properties: map[string]Property{Exclusion: {Required: true}, Register: {Required: true}, Belief: {Required: tt.belief}}}
		if got := v.Word(); got != tt.word {
			t.Errorf("%s: %s, want %s", name, got, tt.word)
		}
	}
	if got := (Verdict{Valid: True}).Word() + (Verdict{}).Word(); got != "PASSUNKNOWN" {
		t.Error(got)
	}
}
