package scenarios

import (
	"strings"
	"testing"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/workloads"
)

// What a client may do depends on how it has the lock: who holds a reentrant lock enters it once more, and leaves as
// often; who shares one writes nothing.
func TestProgramsOfKinds(t *testing.T) {
	reentrant := func(_ *stage, r *Runner) { r.Reentrant = true }
	refused := func(o workloads.Outcome, act string) func(*stage, *Runner) {
		return func(s *stage, r *Runner) { s.refuse[act], r.Reentrant = o, true }
	}
	for _, tt := range []struct {
		name, text string
		prepare    func(*stage, *Runner)
		want       string
	}{
		{"no other kind is entered again", "clients:\n  A: acquire, acquire, write, release, release, read\n", nil,
			"0s A acquire granted; 0s A write ok; 0s A release ok"},
		{"an entry", "clients:\n  A: acquire, acquire, write, release, work 0.105 leases, write, release, write, release\n  B: await A granted, acquire\n", reentrant,
			"0s A acquire granted; 0s A acquire nested granted; 0s A write ok; 0s A release ok; 100ms A write ok; 100ms A release ok; 110ms B acquire granted"},
		{"an entry that fails leaves what is held", "clients:\n  A: acquire, acquire, write, release, write\n", refused(workloads.Failed, "A acquire nested"),
			"0s A acquire granted; 0s A acquire nested failed; 0s A write ok; 0s A release ok"},
		{"who knows that the lease is over asks anew", "clients:\n  A: acquire, acquire, renew, acquire, write\n", refused(workloads.NotHeld, "A renew"),
			"0s A acquire granted; 0s A acquire nested granted; 0s A renew not held; 1s A acquire granted; 1s A write ok"},
		{"who is told so at an inner release changes nothing more", "clients:\n  A: acquire, acquire, release, write, read, release, write\n", refused(workloads.NotHeld, "A release"),
			"0s A acquire granted; 0s A acquire nested granted; 0s A release not held; 0s A release not held"},
		{"an inner release ends no lease", "clients:\n  A: acquire, work 0.5 leases, acquire, release, work 1.2 leases, read\n" + strike("lease of A over", "clock: A +5s", "0.1 leases"), reentrant,
			"0s A acquire granted; 500ms A acquire nested granted; 500ms A release ok; 1.5s clock A; 1.6s end clock A; 1.7s A read ok"},
		{"an entry that fails ends no lease", "clients:\n  A: acquire, work 0.5 leases, acquire, work 1.2 leases, read\n" + strike("lease of A over", "clock: A +5s", "0.1 leases"), refused(workloads.Failed, "A acquire nested"),
			"0s A acquire granted; 500ms A acquire nested failed; 1s clock A; 1.1s end clock A; 1.7s A read ok"},
		{"an entry is no grant that a fault ends with", "clients:\n  A: acquire, work 0.105 leases, acquire, read, work 0.2 leases, release\n" + strike("after A's acquire", "clock: A +5s", "A granted or 0.3 leases"), reentrant,
			"0s A acquire granted; 0s clock A; 100ms A acquire nested granted; 100ms A read ok; 300ms end clock A; 300ms A release ok"},
		{"a reader", "clients:\n  A: acquire shared, read, write, add, release, acquire, write\n", nil,
			"0s A acquire shared granted; 0s A read ok; 0s A release ok; 0s A acquire granted; 0s A write ok"},
		{"one of several holders", "clients:\n  A: acquire, read, write, add, release\n", func(_ *stage, r *Runner) { r.Several = true },
			"0s A acquire granted; 0s A read ok; 0s A release ok"},
		{"a reader is no reader of what it holds", "clients:\n  A: acquire, acquire shared, write\n", reentrant,
			"0s A acquire granted; 0s A write ok"},
		{"a reader that gives up", "clients:\n  A: acquire shared within 0.5 leases, read\n", nil,
			"0s A acquire shared within 500ms granted; 0s A read ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := runSchedule(t, tt.text, tt.prepare)
			if out.err != nil {
				t.Fatal(out.err)
			}
			if got := strings.Join(out.log, "; "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A lock is given back by the release of the grant, and not by that of an entry after it.
func TestReleaseOfAnEntry(t *testing.T) {
	s, err := Parse("mine.yaml", []byte(scheduleHead+"clients:\n  A: acquire\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := NewRunner(s, emptyStage(), nil)
	for i, e := range []history.Event{
		{F: history.Acquire, Grant: "A.1"}, {F: history.Acquire, Grant: "A.2", Mode: history.Nested}, {F: history.Release, Grant: "A.2"}, {F: history.Release, Grant: "A.1"},
	} {
		e.Process, e.Type, e.Time = "A", history.OK, int64(i+1)
		r.Observe(e)
		if got, want := r.clients["A"].released != 0, e.F == history.Release && e.Grant == "A.1"; got != want {
			t.Errorf("after the %s of %s: released %v", e.F, e.Grant, got)
		}
	}
}
