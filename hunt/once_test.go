package hunt

import (
	"strings"
	"testing"

	"github.com/picklock/picklock/scenarios"
)

// A violation that never came again names what ran before it on the same testbed.
func TestOnceNamesWhatRanBefore(t *testing.T) {
	last := ""
	var first string
	m := &model{bugs: []bug{{"granted-early", "", func(s *scenarios.Scenario) bool {
		hit := first == "" && struck("kill", "A")(s) && strings.Contains(last, "pause: A")
		if hit {
			first = last
		}
		last = text(s)
		return hit
	}}}}
	_, r := search(t, m, Options{Target: target(1, 1, "pause:client", "kill:client"), Depth: 1}, 1)
	if len(r.Counterexamples) != 1 || first == "" {
		t.Fatalf("%d counterexamples", len(r.Counterexamples))
	}
	if w := r.Counterexamples[0]; !strings.HasPrefix(w.Once(), "after a schedule with pause: A when ") {
		t.Errorf("after %q, once %q", w.After, w.Once())
	}
	again := &Counterexample{Search: Rate{Hits: 2, Runs: 4}, After: "x"}
	if again.Once() != "" {
		t.Errorf("came twice: %q", again.Once())
	}
}

// What was discarded may not have injected its faults: they are not named as what left something behind.
func TestDescribed(t *testing.T) {
	s, err := scenarios.Parse("s.yaml", []byte("name: s\nabout: a test\nsource: https://example.com\nlocks: [redis]\nttl: 1s\nclients: {A: \"acquire, release\"}\nfaults: [{when: after A's acquire, kill: A, until: at once}]\nexpect: {\"*\": valid}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := described(s, &Outcome{}); got != "a schedule with "+s.TriggeredFaults[0].String() {
		t.Errorf("got %q", got)
	}
	if got := described(s, &Outcome{Discarded: "it did not take effect"}); got != "a schedule that was discarded" {
		t.Errorf("got %q", got)
	}
	s.TriggeredFaults = nil
	if got := described(s, &Outcome{}); got != "a schedule without faults" {
		t.Errorf("got %q", got)
	}
}
