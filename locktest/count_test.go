package locktest

import "testing"

// A test that is run again, as go test -count does it, calls Run for the first time again: that is what the processes look for that are started for it.
func TestCallsOfATestThatIsRunAgain(t *testing.T) {
	var counted []int
	for range 2 {
		t.Run("again", func(t *testing.T) {
			// t.Run gives the second one another name, -count does not.
			n := nth(t)
			counted = append(counted, n, nth(t))
		})
		callsMu.Lock()
		left := len(calls)
		callsMu.Unlock()
		if left != 0 {
			t.Errorf("%d tests that are over are still counted", left)
		}
	}
	if want := []int{0, 1, 0, 1}; len(counted) != 4 || counted[0] != want[0] || counted[1] != want[1] {
		t.Errorf("counted %v, want %v", counted, want)
	}
}
