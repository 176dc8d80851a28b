package testbeds

import (
	"testing"
	"time"

	"github.com/picklock/picklock/hunt"
)

// Who runs a part of a space must have the same one as the others: what is measured changes none, and nothing one
// that was numbered before the lock was open.
func TestTake(t *testing.T) {
	known := hunt.Target{Lock: "x", TTL: time.Second, Servers: []string{"s"}}
	learnt := known
	learnt.Kept, learnt.Holds, learnt.Permits = true, true, 3
	for name, tc := range map[string]struct {
		learn                     Learning
		opened, kept, holds, more bool
	}{
		"a program":                        {Everything, true, true, true, true},
		"a lock that is known":             {Everything, false, true, false, false},
		"a part of a hunt on a program":    {Declared, true, false, true, true},
		"a part of a hunt on a known lock": {Declared, false, false, false, false},
		"what a coordinator numbered":      {Nothing, true, false, false, false},
		"what it numbered of a known lock": {Nothing, false, false, false, false},
	} {
		got := known
		o := Options{Learn: tc.learn}
		if again := o.take(&got, learnt, tc.opened); again != tc.more || got.Kept != tc.kept || got.Holds != tc.holds || (got.Permits == 3) != tc.more {
			t.Errorf("%s: %+v, again %v", name, got, again)
		}
		if same := got.Size(1) == known.Size(1); tc.learn == Nothing && !same {
			t.Errorf("%s: the space has another size", name)
		}
	}
}
