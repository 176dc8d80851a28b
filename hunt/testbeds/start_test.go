package testbeds

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/harness"
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
		"a program on etcd":     {clients.Info{Declares: true, Cluster: "etcd"}, 0, time.Second},
		"a Go lock on etcd":     {clients.Info{Cluster: "etcd"}, 0, time.Second},
		"a program on Redis":    {clients.Info{Declares: true, Cluster: "redis"}, 0, shortest},
		"a program, if named":   {clients.Info{Declares: true, Cluster: "etcd"}, 300 * time.Millisecond, 300 * time.Millisecond},
		"what the user names":   {clients.Info{MinTTL: 100 * time.Millisecond, Library: second}, 300 * time.Millisecond, 300 * time.Millisecond},
	} {
		o := Options{Settings: workloads.Settings{TTL: tc.ttl}}
		if target, err := o.Target(t.Context(), tc.info); err != nil || target.TTL != tc.want {
			t.Errorf("%s: %v, %v, want %v", name, target.TTL, err, tc.want)
		}
	}
}

// A lock that grants longer leases than were chosen, or keeps them, is searched with those, unless the user named the lease, others
// run parts of the same space, or a run would take too long.
func TestLonger(t *testing.T) {
	chosen := Options{chosen: true}
	for name, tc := range map[string]struct {
		o              Options
		asked, granted time.Duration
		stays, again   bool
		want           time.Duration
		says           string
	}{
		"whole seconds":                {o: chosen, asked: shortest, granted: time.Second, want: time.Second, says: "grants leases of 1s if it is asked for 250ms: the search is made with 1s"},
		"whole seconds that are kept":  {o: chosen, asked: shortest, granted: shortest, stays: true, want: time.Second, says: "promises: the search is made with 1s"},
		"what it was asked":            {o: chosen, asked: shortest, granted: shortest},
		"a little more":                {o: chosen, asked: shortest, granted: 300 * time.Millisecond},
		"none":                         {o: chosen, asked: shortest},
		"the user's lease":             {asked: shortest, granted: time.Second, stays: true},
		"a part of a hunt":             {o: Options{chosen: true, Learn: Declared}, asked: shortest, granted: time.Second, stays: true},
		"half a minute":                {o: chosen, asked: shortest, granted: 30 * time.Second, says: "faults may end before a lease does"},
		"twice what it is asked":       {o: chosen, asked: time.Second, granted: 2 * time.Second, again: true, says: "faults may end before a lease does"},
		"whole seconds, and then more": {o: chosen, asked: time.Second, granted: time.Second, stays: true, again: true, says: "faults may end before a lease does"},
	} {
		said := ""
		got := tc.o.longer(hunt.Target{Lock: "x", TTL: tc.asked, Granted: tc.granted, Overstays: tc.stays}, tc.again, func(text string) { said += text })
		if got != tc.want || tc.says == "" != (said == "") || !strings.Contains(said, tc.says) {
			t.Errorf("%s: %v, said %q; want %v", name, got, said, tc.want)
		}
	}
}

// Who runs a part of a space must have the same one as the others: what is measured changes none, and nothing one
// that was numbered before the lock was open.
func TestTake(t *testing.T) {
	known := hunt.Target{Lock: "x", TTL: time.Second, Servers: []string{"s"}}
	learnt := known
	learnt.Kept, learnt.Holds, learnt.Permits, learnt.Ungranted = true, true, 3, true
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
		if again := o.take(&got, learnt, tc.opened); again != tc.more || got.Kept != tc.kept || got.Holds != tc.holds || (got.Permits == 3) != tc.more || !got.Ungranted {
			t.Errorf("%s: %+v, again %v", name, got, again)
		}
		if same := got.Size(1) == known.Size(1); tc.learn == Nothing && !same {
			t.Errorf("%s: the space has another size", name)
		}
	}
}

// TestTargetOfAbilities: what a user says that a program can do decides which schedules there are, as long as the program itself has not run.
func TestTargetOfAbilities(t *testing.T) {
	info, err := all.Locks().Lookup("exec:./mine")
	if err != nil {
		t.Fatal(err)
	}
	of := func(said map[string]string) (hunt.Target, error) {
		o := Options{Settings: workloads.Settings{Lock: info.Name, Cluster: "redis"}, Abilities: said}
		return o.Target(t.Context(), info)
	}
	plain, err := of(nil)
	if err != nil {
		t.Fatal(err)
	}
	semaphore, err := of(map[string]string{"kind": "semaphore", "permits": "2"})
	if err != nil || semaphore.Permits != 2 || semaphore.Size(0) == plain.Size(0) && semaphore.Size(1) == plain.Size(1) {
		t.Errorf("of a semaphore: %+v, %v", semaphore, err)
	}
	if readers, err := of(map[string]string{"kind": "rw", "holds": "yes"}); err != nil || !readers.Shared || !readers.Holds {
		t.Errorf("of readers and writers: %+v, %v", readers, err)
	}
	if _, err := of(map[string]string{"kind": "sempahore"}); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("%v", err)
	}
}
