package checker

import (
	"strings"
	"testing"

	"github.com/picklock/picklock/history"
)

// TestClientFailed: a program that ends whenever it is asked is no deadlock of the lock, and
// neither does it let liveness hold; under a fault programs may fail.
func TestClientFailed(t *testing.T) {
	const s = int64(1e9)
	base := []history.Event{
		{Time: s / 10, Process: "c1", Type: history.Invoke, F: history.Acquire, Key: "k0"},
		{Time: s / 5, Process: "c1", Type: history.OK, F: history.Acquire, Key: "k0", Grant: "c1.1"},
		{Time: 2 * s / 5, Process: "c1", Type: history.Invoke, F: history.Release, Key: "k0", Grant: "c1.1"},
		{Time: s / 2, Process: "c1", Type: history.OK, F: history.Release, Key: "k0", Grant: "c1.1"},
	}
	run := func(failed, fault bool) Verdict {
		events := append([]history.Event(nil), base...)
		if fault {
			events = append(events, history.Event{Time: 6 * s / 10, Process: history.Nemesis, Type: history.Info, F: "kill:server", Phase: history.Begin, Confirmed: true, Nodes: []string{"redis"}})
		}
		for at := s; at < 12*s; at += s {
			events = append(events, history.Event{Time: at, Process: "c2", Type: history.Invoke, F: history.Acquire, Key: "k0"},
				history.Event{Time: at + 95*s/100, Process: "c2", Type: history.Fail, F: history.Acquire, Key: "k0", Error: "child ended (exit status 1)", ClientFailed: failed})
		}
		if fault {
			events = append(events, history.Event{Time: 13 * s, Process: history.Nemesis, Type: history.Info, F: "kill:server", Phase: history.End, Nodes: []string{"redis"}})
		}
		for i := range events {
			events[i].Index = int64(i)
		}
		return Check(Input{Events: events, Options: Options{Bound: 5 * s}})
	}
	v := run(false, false)
	if p := v.Properties[Liveness]; p.Valid != False || v.Anomalies[0].Name != "deadlock" {
		t.Fatalf("refused for 11 s by the lock: %+v", p)
	}
	v = run(true, false)
	if p := v.Properties[Liveness]; p.Valid != Unknown || !p.Required || !strings.Contains(p.Why, "c2's program failed 11 times while no fault explains it (child ended (exit status 1))") {
		t.Errorf("the program failed by itself: %+v", p)
	}
	if v.Valid == True || len(v.Anomalies) > 0 {
		t.Errorf("valid %v, %d anomalies", v.Valid, len(v.Anomalies))
	}
	v = run(true, true)
	if p := v.Properties[Liveness]; strings.Contains(p.Why, "program failed") {
		t.Errorf("the program failed under a fault: %+v", p)
	}
}

// TestFailedProgramsNamesTheWorst: of several clients, the one whose program failed most
// often is named, and the others are counted.
func TestFailedProgramsNamesTheWorst(t *testing.T) {
	var events []history.Event
	at := int64(1e9)
	fail := func(process string) {
		for _, typ := range []history.Type{history.Invoke, history.Fail} {
			at += 1e6
			events = append(events, history.Event{Index: int64(len(events)), Time: at, Process: process, Type: typ, F: history.Acquire, Key: "k0", ClientFailed: typ == history.Fail})
		}
	}
	for _, process := range []string{"c1", "c2", "c2", "c3"} {
		fail(process)
	}
	an := analysed(Input{Events: events})
	if got := an.failed; !strings.HasPrefix(got, "c2's program failed 2 times") || !strings.Contains(got, ", and so did 2 programs of other clients") {
		t.Error(got)
	}
	an = analysed(Input{Events: events[:2]})
	if got := an.failed; !strings.HasPrefix(got, "c1's program failed 1 time ") || strings.Contains(got, "other clients") {
		t.Error(got)
	}
}
