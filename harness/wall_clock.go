package harness

import (
	"fmt"
	"slices"
	"time"
)

// wallClock looks whether this machine's wall clock is set during a run, as a time service does it, or the host of a virtual machine. A service that
// counts leases by it ends them early or late then, and no fault of the run did that.
type wallClock struct {
	wall      int64     // ns
	monotonic time.Time // its monotonic reading
}

// leastSet is what counts: two clocks are never read at once.
const leastSet = 200 * time.Microsecond

func startWallClock() wallClock {
	t := time.Now() // reads both clocks
	return wallClock{t.UnixNano(), t}
}

// set is how far the wall clock was set since then; 0: not as far as counts.
func (c wallClock) set() time.Duration {
	var by []time.Duration
	for range 5 {
		t := time.Now()
		by = append(by, time.Duration(t.UnixNano()-c.wall)-t.Sub(c.monotonic))
	}
	slices.Sort(by) // the process may have been stopped between the two clocks
	if set := by[len(by)/2]; set.Abs() >= leastSet {
		return set
	}
	return 0
}

// setWords say that.
func setWords(by time.Duration) string {
	return fmt.Sprintf("the wall clock of this machine was set by %v during the run, and not by picklock: a service that counts leases by it ends them early or late then", by.Round(10*time.Microsecond))
}
