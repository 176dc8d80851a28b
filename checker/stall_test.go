package checker

import "testing"

// TestStallsAreNoFaults: a machine that stood still is counted apart from what was injected.
func TestStallsAreNoFaults(t *testing.T) {
	v := Check(script(t, "0.1-0.2 c1 acquire c1.1\n0.3-0.4 nemesis stall\n0.5- nemesis stall\n0.7-0.8 nemesis pause c1"))
	if len(v.Stats.Faults) != 1 || v.Stats.Faults["pause"].Confirmed != 1 || v.Stats.Stalls != 2 {
		t.Errorf("faults %v, %d stalls", v.Stats.Faults, v.Stats.Stalls)
	}
}
