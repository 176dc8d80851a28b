package testbeds

import (
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/workloads"
)

// The lease that is chosen is no shorter than what the service keeps, nor than a cold client's first acquire lasts.
func TestChosenLease(t *testing.T) {
	second := &clients.Library{Cold: time.Second}
	for name, tc := range map[string]struct {
		info clients.Info
		ttl  time.Duration
		want time.Duration
	}{
		"the shortest":          {clients.Info{MinTTL: 10 * time.Millisecond}, 0, shortest},
		"what the service does": {clients.Info{MinTTL: 2 * time.Second, Library: second}, 0, 2 * time.Second},
		"a virtual machine":     {clients.Info{MinTTL: 100 * time.Millisecond, Library: second}, 0, time.Second},
		"what the user names":   {clients.Info{MinTTL: 100 * time.Millisecond, Library: second}, 300 * time.Millisecond, 300 * time.Millisecond},
	} {
		o := Options{Settings: workloads.Settings{TTL: tc.ttl}}
		if target, err := o.Target(t.Context(), tc.info); err != nil || target.TTL != tc.want {
			t.Errorf("%s: %v, %v, want %v", name, target.TTL, err, tc.want)
		}
	}
}

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
