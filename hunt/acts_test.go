package hunt

import (
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// An act that was over when the grant began that ended too soon cannot have ended it: that grant may
// be there because of it. Nor can one that began when the next grant was there.
func TestActApart(t *testing.T) {
	const ms = int64(time.Millisecond)
	at := func(time int64, process string, f, kind, grant string) history.Event {
		return history.Event{Time: time, Process: process, F: f, Type: history.Type(kind), Grant: grant}
	}
	released := func(answer history.Event) *Evidence {
		return &Evidence{Anomaly: verdict.Anomaly{Grants: []string{"B.1", "C.1"}}, Events: []history.Event{
			at(0, "A", history.Acquire, "ok", "A.1"), at(1*ms, "A", history.Release, "invoke", "A.1"), answer,
			at(5*ms, "B", history.Acquire, "ok", "B.1"), answer, at(9*ms, "C", history.Acquire, "ok", "C.1"),
		}}
	}
	for name, c := range map[string]struct {
		of   *Evidence
		nth  int
		want bool
	}{
		"answered before":          {released(at(2*ms, "A", history.Release, "ok", "A.1")), 1, true},
		"refused before":           {released(at(2*ms, "A", history.Release, "fail", "A.1")), 1, true},
		"no answer":                {released(at(2*ms, "A", history.Release, "info", "A.1")), 1, false},
		"answered after":           {released(at(8*ms, "A", history.Release, "ok", "A.1")), 1, false},
		"answered at the time":     {released(at(5*ms+ms/2, "A", history.Release, "ok", "A.1")), 1, true},
		"another act of that word": {released(at(2*ms, "A", history.Release, "ok", "A.1")), 2, false},
		"after both":               {released(at(12*ms, "A", history.Release, "invoke", "A.1")), 2, true},
		"no evidence":              {nil, 1, false},
	} {
		if got := c.of.apart("A", history.Release, c.nth); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	e := released(history.Event{})
	if e.met("A") || !e.met("B") || !e.met("C") || (*Evidence)(nil).met("B") {
		t.Error("who met")
	}
}

// Without an act the client does nothing in its place, and the faults of that place come all the same.
func TestDropAct(t *testing.T) {
	const head = "name: x\nabout: \"x\"\nlocks: [redis]\nttl: 250ms\nclients:\n  A: acquire, release, work 1 leases, acquire, work 1.5 leases, release\n  B: acquire, read\nfaults:\n"
	for name, c := range map[string]struct{ faults, nth, program, want string }{
		"triggered by it": {"  - when: before A's release\n    hold: A to servers\n    until: after B's read\n", "1",
			"acquire, work 0.02 leases, work 1 lease, acquire, work 1.5 leases, release", "when: before A's work\n    hold: A to servers\n    until: after B's read"},
		"a message of it": {"  - when: A's release has sent message 2\n    kill: A\n", "1",
			"acquire, work 0.02 leases, work 1 lease, acquire, work 1.5 leases, release", "when: before A's work\n    kill: A"},
		"until it": {"  - when: before B's read\n    pause: B\n    until: after A's 2nd release\n", "2",
			"acquire, release, work 1 lease, acquire, work 1.5 leases, work 0.02 leases", "until: after A's 3rd work"},
		"one of that word after it": {"  - when: before A's 2nd release\n    pause: A\n    until: 1 leases\n", "1",
			"acquire, work 0.02 leases, work 1 lease, acquire, work 1.5 leases, release", "when: before A's release\n"},
		"one of the works after it": {"  - when: before A's 2nd work\n    pause: A\n    until: 1 leases\n", "1",
			"acquire, work 0.02 leases, work 1 lease, acquire, work 1.5 leases, release", "when: before A's 3rd work\n"},
	} {
		s, err := scenarios.Parse("x.yaml", []byte(head+c.faults))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before := text(s)
		got, moved := dropAct(s, Act{Client: "A", Do: history.Release, Nth: int(c.nth[0] - '0')})
		if got.Programs["A"].String() != c.program || !strings.Contains(text(got), c.want) {
			t.Errorf("%s:\n%s", name, text(got))
		}
		if byIt := strings.HasPrefix(name, "triggered") || strings.HasPrefix(name, "a message"); byIt != (len(moved) > 0) {
			t.Errorf("%s: moved %q", name, moved)
		}
		if text(s) != before {
			t.Errorf("%s: it changed what it was made of", name)
		}
		if _, err := scenarios.Parse("x.yaml", got.Write()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
