package hunt

import (
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// Every fault has its turn before long, and what happens every day has its second one before what is rare has its first.
func TestFaultsTakeTurns(t *testing.T) {
	for _, servers := range []int{1, 3} {
		on := target(servers, 1)
		n := len(faults(on, clientNames[:2]))
		first, second := map[string]int{}, map[string]int{} // by the fault, and without its end
		at, triggers := 0, map[string]scenarios.Trigger{}
		for p := range space(on, 1) {
			if p.depth == 0 {
				continue
			}
			at++
			st := p.schedule.TriggeredFaults[0]
			switch text := st.Fault.Text; {
			case first[text] == 0:
				first[text], triggers[text] = at, st.When
				if at > 3*n {
					t.Errorf("%d servers: %s for the first time after %d schedules, with %d faults", servers, text, at, n)
				}
			case second[text] == 0 && triggers[text] != st.When:
				second[text] = at
			}
		}
		if len(first) != n {
			t.Errorf("%d servers: %d faults of %d", servers, len(first), n)
		}
		for _, rare := range []string{"loss: B from servers 30%", "reset: B to servers silently"} {
			if daily := second["pause: A"]; daily == 0 || daily > first[rare] || first["kill: A"] > daily {
				t.Errorf("%d servers: another pause of A at %d, %s at %d, a crash of A at %d", servers, daily, rare, first[rare], first["kill: A"])
			}
		}
	}
}

// What a fault does at a place of an act comes once over all workloads before any of it comes again
// in another.
func TestEachPlaceOnceFirst(t *testing.T) {
	on := target(3, 1)
	type tried struct {
		fault string
		place
	}
	var each []tried
	seen := map[tried]bool{}
	for p := range space(on, 1) {
		if p.depth == 1 {
			st := p.schedule.TriggeredFaults[0]
			each = append(each, tried{st.Fault.Text, workload{}.placeOf(st)})
			seen[each[len(each)-1]] = true
		}
	}
	soon := map[tried]bool{}
	for _, k := range each[:len(seen)] {
		soon[k] = true
	}
	// What is the same but for the names of clients comes once, so that a few come later.
	if len(each) < 2*len(seen) || len(soon) < len(seen)*9/10 {
		t.Errorf("the first %d of %d schedules have %d of %d places", len(seen), len(each), len(soon), len(seen))
	}
}

// A resource that refuses older tokens is best reached before the successor has written.
func TestFencedIsReachedBeforeTheWrite(t *testing.T) {
	for fencing, want := range map[string]string{"none": "after B's write", "write": "after B's read"} {
		on := target(1, 1, "pause")
		on.Fencing = fencing
		for p := range space(on, 1) {
			if p.depth == 0 {
				continue
			}
			if got := p.schedule.TriggeredFaults[0].Until.String(); !strings.HasPrefix(got, want) {
				t.Errorf("--fencing %s: %q first, want %q", fencing, got, want)
			}
			break
		}
	}
}

// TestClockBeforeAnAnswer: of what a client asks, its own clock is wrong before the question first, and before it is in other sections, since a library that answers by itself sends no message.
func TestClockBeforeAnAnswer(t *testing.T) {
	on := target(1, 1, "clock")
	on.Holds = true
	for p := range space(on, 1) {
		if p.depth == 0 || !strings.HasPrefix(p.schedule.TriggeredFaults[0].Fault.Text, "clock: A ") {
			continue
		}
		switch when := p.schedule.TriggeredFaults[0].When; {
		case when.String() == "before A's held?":
			return
		case p.workload == asksHeld, when.Do == history.Write:
			t.Fatalf("first %q in %s", when, p.workload)
		}
	}
	t.Error("never")
}

// What a fault is tried at first is what tells most of it.
func TestFirstOfAFault(t *testing.T) {
	on := target(1, 1)
	first := map[string]point{}
	for p := range space(on, 1) {
		if p.depth == 0 {
			continue
		}
		if text := p.schedule.TriggeredFaults[0].Fault.Text; first[text].schedule == nil {
			first[text] = p
		}
	}
	for fault, want := range map[string][2]string{
		"pause: A":            {"overlap", "before A's write"},
		"clock: A -500ms":     {"outlive", "A's acquire has sent message 1"},
		"clock: redis +750ms": {"outlive", "B waiting"},
		"kill: redis":         {"overlap", "B waiting"},
		"kill: A":             {"restarts", "before A's write"},
		"kill: B":             {"overlap", "B waiting"},
	} {
		p := first[fault]
		if p.schedule == nil {
			t.Errorf("%s is never tried", fault)
		} else if at := p.schedule.TriggeredFaults[0].When.String(); p.workload != want[0] || at != want[1] {
			t.Errorf("%s first in %s at %q, want %s at %q", fault, p.workload, at, want[0], want[1])
		}
	}
}

// A waiter that is stopped may be handed the lock: that comes before the other places of its pause.
func TestStoppedWaiterSoon(t *testing.T) {
	var whens []string
	for p := range space(target(1, 1), 1) {
		if p.depth == 0 || p.schedule.TriggeredFaults[0].Fault.Text != "pause: B" {
			continue
		}
		if at := p.schedule.TriggeredFaults[0].When.String(); !slices.Contains(whens, at) {
			whens = append(whens, at)
		}
	}
	if want := []string{"before B's write", "B waiting"}; len(whens) < 2 || !slices.Equal(whens[:2], want) {
		t.Errorf("%q first, want %q", whens[:min(2, len(whens))], want)
	}
}

// A client that stops amid its release goes on while its successor still has the lock.
func TestLateReleaseFindsTheSuccessor(t *testing.T) {
	for p := range space(target(1, 1, "pause:client"), 1) {
		if p.depth == 0 || p.workload != "overlap" {
			continue
		}
		st := p.schedule.TriggeredFaults[0]
		if st.Fault.Text != "pause: A" || st.When.Do != history.Release || st.When.At != scenarios.Sent {
			continue
		}
		if got := st.Until.String(); !strings.HasPrefix(got, "after B's read") {
			t.Errorf("%s: until %q first", st.When, got)
		}
		return
	}
	t.Error("nobody is stopped amid a release")
}

// Lock bugs come before lease hazards, however seldom they come; of each the steady ones first, and then the least.
func TestCounterexamplesInOrder(t *testing.T) {
	bug, hazard := Signature{Anomaly: "granted-early", Cause: "granted-early"}, leaseHazard
	always, seldom := Rate{Hits: 20, Runs: 20}, Rate{Hits: 1, Runs: 20}
	h := &Search{counterexamples: []*Counterexample{
		{Name: "hazard", Signature: hazard, Alone: always},
		{Name: "hazard of another cause", Signature: Signature{Anomaly: "stale-write", Cause: "never-held"}, Alone: always, Faults: 1},
		{Name: "seldom", Signature: bug, Alone: seldom},
		{Name: "two faults", Signature: bug, Alone: always, Faults: 2, Steps: 3},
		{Name: "one fault", Signature: bug, Alone: always, Faults: 1, Steps: 9},
		{Name: "fewer steps", Signature: bug, Alone: always, Faults: 1, Steps: 5},
	}}
	h.order()
	var got []string
	for _, c := range h.counterexamples {
		got = append(got, c.Name)
	}
	if want := []string{"fewer steps", "one fault", "two faults", "seldom", "hazard", "hazard of another cause"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What a library does by itself is disturbed early if it does something: it keeps the lock for longer than the lease.
func TestKeptLocksAreDisturbedAtWork(t *testing.T) {
	last := func(kept bool) (at int) {
		on := target(1, 1)
		on.Kept = kept
		n := 0
		for p := range space(on, 1) {
			if n++; p.depth == 1 && (p.workload == works || p.workload == later) {
				at = n
			}
		}
		return at
	}
	if kept, leased := last(true), last(false); kept > leased/2 {
		t.Errorf("the last one is schedule %d, and %d of a lock that is over with its lease", kept, leased)
	}
}
