package hunt

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/scenarios"
)

// A lock that has other options is run with them, too: each program of as many clients as the others have, once, without a fault.
func TestOtherOptions(t *testing.T) {
	target := Target{Lock: "x", Servers: []string{"s1"}, Kinds: []string{"pause"}, Extra: map[string]string{"wait": "long"}}
	without := slices.Collect(space(target, 1))
	target.Other, target.Unrenewed = map[string]string{"nested": "2", "threads": "each"}, map[string]string{"watchdog": "no"}
	before := map[string]bool{}
	for _, p := range without {
		before[p.id] = true
	}
	found, unrenewed, faults := 0, 0, 0
	for p := range space(target, 1) {
		if before[p.id] {
			if !maps.Equal(p.schedule.Extra, target.Extra) {
				t.Errorf("%s has the options %v", p.id, p.schedule.Extra)
			}
			faults += p.depth
			continue
		}
		if p.schedule.Extra["watchdog"] == "no" {
			if unrenewed++; strings.HasPrefix(p.id, "outlive ") || !maps.Equal(p.schedule.Extra, map[string]string{"wait": "long", "watchdog": "no"}) {
				t.Errorf("%s has the options %v", p.id, p.schedule.Extra)
			}
			continue
		}
		found++
		if want := map[string]string{"wait": "long", "nested": "2", "threads": "each"}; !maps.Equal(p.schedule.Extra, want) {
			t.Errorf("%s has the options %v", p.id, p.schedule.Extra)
		}
		if !strings.Contains(p.id, " with nested=2, threads=each|") || p.depth > 0 || len(p.schedule.Clients) > 3 {
			t.Errorf("%s: %d faults, clients %v", p.id, p.depth, p.schedule.Clients)
		}
		if faults == 0 {
			t.Errorf("%s comes before any fault", p.id)
		}
	}
	alone := 0
	for _, w := range workloads(target) {
		if len(w.ends) == 0 || w.soon {
			alone++
		}
	}
	if found == 0 || found > alone || unrenewed == 0 || unrenewed >= found {
		t.Errorf("%d and %d schedules with other options, of %d programs", found, unrenewed, alone)
	}
}

// The first client has options of its own in workloads in which clients do no more than have the lock: once each, without a fault.
func TestMixedOptions(t *testing.T) {
	target := Target{Lock: "x", Servers: []string{"s1"}, Kinds: []string{"pause"}, Holds: true, Cancels: true, Mixed: map[string]string{"lease@A": "3 leases"}}
	mixed := map[string]bool{}
	for p := range space(target, 1) {
		if len(p.schedule.Extra) == 0 {
			continue
		}
		name, _, _ := strings.Cut(p.workload, " with ")
		mixed[name] = true
		if p.depth > 0 || !maps.Equal(p.schedule.Extra, target.Mixed) || !strings.HasSuffix(p.workload, " with lease@A=3 leases") {
			t.Errorf("%s: %d faults, options %v", p.workload, p.depth, p.schedule.Extra)
		}
	}
	for name, want := range map[string]bool{"overlap": true, "outlive": true, "again": true, "later": true, "give-up": true, "renew": false, asksHeld: false, cancels: false} {
		if mixed[name] != want {
			t.Errorf("%s is run so: %v, want %v", name, mixed[name], want)
		}
	}
}

// With a client its own options go.
func TestDropClientWithOptions(t *testing.T) {
	before := map[string]string{"lease@A": "2s", "by": "row", "by@B": "table", "of@BA": "x"}
	s := &scenarios.Scenario{Clients: []string{"A", "B"}, Programs: map[string]scenarios.Program{}, Extra: before}
	dropClient(s, "A")
	if want := map[string]string{"by": "row", "by@B": "table", "of@BA": "x"}; !maps.Equal(s.Extra, want) || len(before) != 4 {
		t.Errorf("%v, and before it was %v", s.Extra, before)
	}
}

// What is found with other options is tried without them, all at once and one by one. Those that the user gave stay.
func TestEditsOfOptions(t *testing.T) {
	target := Target{Extra: map[string]string{"wait": "long", "by": "row"}}
	s := &scenarios.Scenario{Extra: map[string]string{"wait": "long", "by": "table", "nested": "2"}}
	var got []string
	for _, e := range editsOfOptions(target, s) {
		c := *s
		e.change(&c)
		got = append(got, e.what+": "+settings(c.Extra))
		if !e.drops {
			t.Errorf("%s is no part", e.what)
		}
	}
	want := []string{"other options: by=row, wait=long", "option by=table: by=row, nested=2, wait=long", "option nested=2: by=table, wait=long"}
	if !slices.Equal(got, want) || len(s.Extra) != 3 {
		t.Errorf("%q, and %v is left", got, s.Extra)
	}
	if n := editsOfOptions(target, &scenarios.Scenario{Extra: target.Extra}); len(n) > 0 {
		t.Errorf("%d edits of the target's own", len(n))
	}
}
