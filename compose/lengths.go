package compose

import (
	"fmt"
	"time"
)

// ShortestLease is the shortest lease or session that all servers of the cluster keep; 0 for any.
func (d *Definition) ShortestLease() time.Duration {
	longest := time.Duration(0)
	for _, s := range d.Servers() {
		lease, _ := length("shortest_lease", s.Spec.ShortestLease) // checked when the file was read
		longest = max(longest, lease)
	}
	return longest
}

// checkLengths is the error of the first field that is no length of time.
func (s Spec) checkLengths() error {
	if _, err := length("takeover", s.Takeover); err != nil {
		return err
	}
	_, err := length("shortest_lease", s.ShortestLease)
	return err
}

// length reads a length of time of a field of x-picklock; 0 for "".
func length(field, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("x-picklock: %s %q: want a length of time, as 4s", field, text)
	}
	return d, nil
}
