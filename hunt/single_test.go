package hunt

import (
	"slices"
	"strings"
	"testing"
)

// TestSingleOut: pairs of faults one of which does it alone are that fault's, and one counterexample; a pair that
// shows what no other one does is left to the shrinking.
func TestSingleOut(t *testing.T) {
	m := &model{}
	h, _ := search(t, m, Options{Target: target(1, 1, "pause:client"), Depth: 1}, 1)
	m.bugs = []bug{
		{"granted-early", "granted-early", struck("clock", "redis")},
		{"deadlock", "crashed-holder", both(struck("pause", "A"), struck("kill", "redis"))},
	}
	const programs = "name: x\nabout: \"x\"\nlocks: [model]\nfencing: [none]\nttl: 250ms\nclients:\n" +
		"  A: acquire, read, work 1.3 leases, write, release\n  B: await A granted or 3 leases, acquire, read, write, release\nfaults:\n"
	fault := func(what string) string {
		return "  - when: before A's write\n    " + what + "\n    until: 1.6 leases\n"
	}
	of := func(anomaly, cause string, kinds []string, faults string) *Counterexample {
		return &Counterexample{Signature: Signature{Anomaly: anomaly, Cause: cause, Kinds: kinds}, Schedule: programs + faults, Search: Rate{Hits: 3, Runs: 4}, Seen: 1, Larger: asFound, Faults: strings.Count(faults, "when:")}
	}
	clock := fault("clock: redis +750ms")
	h.counterexamples = []*Counterexample{
		of("granted-early", "granted-early", []string{"a pause of a client", "a wrong clock of a server"}, fault("pause: A")+clock),
		of("granted-early", "granted-early", []string{"a cut of a client", "a wrong clock of a server"}, clock+fault("cut: A from servers")),
		of("granted-early", "granted-early", []string{"a wrong clock of a server"}, clock),
		of("deadlock", "crashed-holder", []string{"a crash of a server", "a pause of a client"}, fault("pause: A")+fault("kill: redis")),
	}
	before := len(m.played)
	h.singleOut(t.Context(), newTeam([]Runner{m, m}), FinishOptions{})
	if slices.ContainsFunc(m.played[before:], func(schedule string) bool { return strings.Contains(schedule, "kill: redis") }) {
		t.Error("a counterexample was run without its other fault that is like no other")
	}
	var got []string
	for _, w := range h.counterexamples {
		got = append(got, w.String())
		if w.Anomaly == "granted-early" && (w.Seen != 3 || w.Faults != 1) {
			t.Errorf("%s: seen %d times, with %d faults", w, w.Seen, w.Faults)
		}
	}
	slices.Sort(got)
	if want := []string{"deadlock (crashed-holder) by a crash of a server and a pause of a client", "granted-early by a wrong clock of a server"}; !slices.Equal(got, want) {
		t.Errorf("left %q, want %q", got, want)
	}
}
