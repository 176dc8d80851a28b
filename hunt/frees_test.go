package hunt

import (
	"slices"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// TestFrees: a lock with leases is asked for right after a release, without a fault and when an answer to the one who released it was lost, in a lease of seconds. There
// is a program for each kind of lock.
func TestFrees(t *testing.T) {
	kinds := func(change func(*Target)) Target {
		on := target(1, 1, "reset:client", "withhold:client", "pause:client")
		on.Granted = on.TTL
		change(&on)
		return on
	}
	for name, c := range map[string]struct {
		on   Target
		want []string
	}{
		"a mutex":               {kinds(func(*Target) {}), []string{frees}},
		"without leases":        {kinds(func(on *Target) { on.Granted = 0 }), nil},
		"renewed by itself":     {kinds(func(on *Target) { on.Granted, on.Watchdog = 0, true }), []string{frees}},
		"a reentrant lock":      {kinds(func(on *Target) { on.Reentrant = true }), []string{frees, freesNested}},
		"a lock that is shared": {kinds(func(on *Target) { on.Shared = true }), []string{frees, freesShared}},
		"a semaphore":           {kinds(func(on *Target) { on.Permits = 2 }), []string{frees}},
	} {
		var alone []string // without a fault
		faults := map[string]bool{}
		for p := range space(c.on, 1) {
			if !slices.Contains([]string{frees, freesNested, freesShared}, p.workload) {
				continue
			}
			if p.schedule.TTL != keptLease {
				t.Errorf("%s: %s with a lease of %v", name, p.id, p.schedule.TTL)
			}
			if p.depth == 0 {
				alone = append(alone, p.workload)
				continue
			}
			st := p.schedule.TriggeredFaults[0]
			faults[st.Fault.Word] = true
			if st.When.Client != "A" || st.When.Do != history.Acquire && st.When.Do != history.Release {
				t.Errorf("%s: %s", name, st)
			}
		}
		if !slices.Equal(alone, c.want) {
			t.Errorf("%s: %q, want %q", name, alone, c.want)
		}
		if want := len(c.want) > 0; faults["reset"] != want || faults["withhold"] != want || faults["pause"] {
			t.Errorf("%s: %v", name, faults)
		}
	}
}

// TestForgetsAsksAgain: a request on a connection that the failure of the server has closed ends with it, so that who asks afterwards asks twice; of a semaphore when all
// permits are out.
func TestForgetsAsksAgain(t *testing.T) {
	for _, permits := range []int{1, 2, 3} {
		on := target(1, 1)
		on.Permits, on.TTL = permits, time.Second
		var last scenarios.Program
		n := 0
		for p := range space(on, 1) {
			if p.workload == forgets {
				n = len(p.schedule.Programs)
				last = p.schedule.Programs[clientNames[1]]
				break
			}
		}
		asks := 0
		for _, m := range last {
			if m.Do == history.Acquire {
				asks++
			}
		}
		if asks != 2 || n != permits+1 {
			t.Errorf("%d permits: the last of %d clients asks %d times", permits, n, asks)
		}
	}
}

// TestCrashBesideOthers: who shares a lock, or has a permit, dies, and the others have theirs for longer than what was its own. Where the library does
// not renew by itself, they renew.
func TestCrashBesideOthers(t *testing.T) {
	kinds := func(change func(*Target)) Target {
		on := target(1, 1, "kill:client", "pause:client")
		on.Granted = on.TTL
		change(&on)
		return on
	}
	for name, c := range map[string]struct {
		on      Target
		program string
		renews  bool
	}{
		"readers":                    {kinds(func(on *Target) { on.Shared = true }), freesCrashed, true},
		"readers, renewed by itself": {kinds(func(on *Target) { on.Shared, on.Kept = true, true }), freesCrashed, false},
		"permits":                    {kinds(func(on *Target) { on.Permits = 2 }), permitRenewed, true},
	} {
		n := 0
		for p := range space(c.on, 1) {
			if p.workload != c.program || p.depth == 0 {
				continue
			}
			n++
			if st := p.schedule.TriggeredFaults[0]; st.Fault.Word != "kill" || st.When.Client != "A" || st.When.Do != history.Release {
				t.Errorf("%s: %s", name, st)
			}
			if renews := slices.ContainsFunc(p.schedule.Programs["B"], func(m scenarios.Move) bool { return m.Do == history.Renew }); renews != c.renews {
				t.Errorf("%s: B renews: %v\n%v", name, renews, p.schedule.Programs["B"])
			}
		}
		if n == 0 {
			t.Errorf("%s: none", name)
		}
	}
	for p := range space(kinds(func(on *Target) { on.Permits, on.Kept = 2, true }), 1) {
		if p.workload == permitRenewed {
			t.Fatal("a semaphore that is kept has two of these programs")
		}
	}
}
