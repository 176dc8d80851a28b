package hunt

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// ofKind is a target of a kind of lock.
func ofKind(kind string) Target {
	t := target(1, 1)
	t.Reentrant, t.Shared = kind == "reentrant", kind == "rw"
	return t
}

// A program uses what the kind of lock can do, and only of a lock of that kind: each program is written and read as it
// is, and A has the lock first.
func TestKindWorkloads(t *testing.T) {
	for kind, want := range map[string][]string{"": nil, "reentrant": {"enters", "enters-late", "enters-lost", "enters-before", "enters-renewed"}, "rw": {"readers", "joins", "between", "beside", "among", "behind", "ahead", "reader-outlives", "writer-outlives", "writer-gives-up", "race-shared"}} {
		on := ofKind(kind)
		var got []string
		for p := range space(on, 0) {
			s, err := scenarios.Parse("schedule.yaml", p.schedule.Write())
			if err != nil || text(s) != text(p.schedule) {
				t.Fatalf("%v\n%s", err, text(p.schedule))
			}
			entered, shared := false, false
			for _, program := range s.Programs {
				entered = entered || len(inner(program)) > 0 || strings.HasPrefix(program.String(), "acquire, acquire, ")
				shared = shared || slices.ContainsFunc(program, func(m scenarios.Move) bool { return m.Shared })
			}
			if (entered || shared) && s.TTL == on.TTL {
				got = append(got, p.workload)
			}
			if entered != (entered && on.Reentrant) || shared != (shared && on.Shared) {
				t.Errorf("%q: %s: entered %v, shared %v", kind, p.workload, entered, shared)
			}
			if first := s.Programs["A"][0].Do; first != history.Acquire {
				t.Errorf("%s: A begins with %s", p.workload, first)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", kind, got, want)
		}
	}
}

// A fault at an act of a client that shares the lock, or has entered it once more, is at another place than at the same
// act of who has it alone: each comes before any comes to a place for the second time.
func TestPlacesOfKinds(t *testing.T) {
	for kind, at := range map[string]string{"reentrant": "A's release has sent message 1", "rw": "A's acquire has sent message 1"} {
		all := workloads(ofKind(kind))
		first := map[string]bool{}
		list, _ := single(ofKind(kind), all)
		for _, c := range list {
			if s := c.triggered; c.again == 0 && s.Fault.Text == "hold: A to servers" && strings.HasPrefix(s.String(), "hold: A to servers when "+at) {
				first[c.workload.manner(s.When.Client, s.When.Do, s.When.Nth)] = true
			}
		}
		if !first[""] || len(first) != 2 {
			t.Errorf("%s: %s comes first for %v", kind, at, first)
		}
	}
}

func TestManner(t *testing.T) {
	w := workload{programs: []scenarios.Program{
		scenarios.MustProgram("acquire, acquire, read, release, read, release, acquire, read", clientNames),
		scenarios.MustProgram("acquire shared, read, release, acquire, read", clientNames),
	}}
	for _, tt := range []struct {
		client, do string
		nth        int
		want       string
	}{
		{"A", history.Acquire, 1, ""}, {"A", history.Acquire, 2, history.Nested}, {"A", history.Read, 1, history.Nested}, {"A", history.Release, 1, history.Nested},
		{"A", history.Read, 2, ""}, {"A", history.Release, 2, ""}, {"A", history.Acquire, 3, ""}, {"A", history.Read, 3, ""},
		{"B", history.Acquire, 1, history.Shared}, {"B", history.Release, 1, history.Shared}, {"B", history.Acquire, 2, ""}, {"B", history.Read, 2, ""},
		{"C", history.Acquire, 1, ""},
	} {
		if got := w.manner(tt.client, tt.do, tt.nth); got != tt.want {
			t.Errorf("%s's %s %d: %q, want %q", tt.client, tt.do, tt.nth, got, tt.want)
		}
	}
}

// Schedules that are drawn at random use the kind of lock, too.
func TestMutationsOfKinds(t *testing.T) {
	for _, kind := range []string{"", "reentrant", "rw"} {
		m := newMutator(ofKind(kind), mostFaults, 1)
		w := m.workloads[0] // which every lock has
		entered, shared := 0, 0
		for range 300 {
			s := m.t.schedule(w)
			m.program(s)
			if s = m.whole(s); s == nil {
				t.Fatal("no schedule")
			}
			for _, p := range s.Programs {
				entered += len(inner(p))
				for _, mv := range p {
					if mv.Shared {
						shared++
					}
				}
			}
		}
		if (entered > 0) != (kind == "reentrant") || (shared > 0) != (kind == "rw") {
			t.Errorf("%q: %d inner sections, %d readers", kind, entered, shared)
		}
	}
}

// An inner section goes as a whole, its acquire and its release.
func TestShrinkInnerSection(t *testing.T) {
	s := target(1, 1).schedule(workload{programs: []scenarios.Program{scenarios.MustProgram("acquire, read, acquire, work 0.1 leases, release, write, release", clientNames)}})
	for _, e := range edits(s) {
		if e.what != "A's inner section" {
			continue
		}
		e.change(s)
		if got, want := s.Programs["A"].String(), "acquire, read, work 0.1 leases, write, release"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		return
	}
	t.Error("it is never tried")
}

// Readers that hold the lock together, and a client that enters once more, are close to nothing.
func TestMarginsOfKinds(t *testing.T) {
	event := func(at int64, who, f, mode string, typ history.Type) history.Event {
		e := history.Event{Time: at * hundredth, Process: who, Type: typ, F: f, Mode: mode}
		if f == history.Acquire && typ == history.OK {
			e.Since, e.Lease = e.Time, 100*hundredth
		}
		return e
	}
	granted := func(at int64, who, mode string) history.Event {
		return event(at, who, history.Acquire, mode, history.OK)
	}
	released := func(at int64, who string) history.Event {
		return event(at, who, history.Release, "", history.Invoke)
	}
	for name, tt := range map[string]struct {
		events []history.Event
		want   float64 // -1: none
	}{
		"readers":                          {[]history.Event{granted(0, "A", history.Shared), granted(50, "B", history.Shared)}, -1},
		"a writer after a reader":          {[]history.Event{granted(0, "A", history.Shared), granted(110, "B", "")}, 0.1},
		"a reader after a writer":          {[]history.Event{granted(0, "A", ""), granted(110, "B", history.Shared)}, 0.1},
		"after all entries were left":      {[]history.Event{granted(0, "A", ""), granted(20, "A", history.Nested), released(30, "A"), released(40, "A"), granted(50, "B", "")}, -1},
		"after the inner entry was left":   {[]history.Event{granted(0, "A", ""), granted(20, "A", history.Nested), released(30, "A"), granted(130, "B", "")}, 0.1},
		"after an entry that nobody left":  {[]history.Event{granted(0, "A", ""), granted(20, "A", history.Nested), granted(130, "B", "")}, 0.1},
		"an entry of a hold that is later": {[]history.Event{granted(0, "A", ""), granted(5, "A", history.Nested), granted(10, "A", ""), released(20, "A"), granted(50, "B", "")}, -1},
	} {
		got, is := feedbackOf(tt.events, time.Duration(100*hundredth)).margins["exclusion"]
		if is != (tt.want >= 0) || is && (got-tt.want > 1e-9 || tt.want-got > 1e-9) {
			t.Errorf("%s: %v %v, want %v", name, got, is, tt.want)
		}
	}
}

// declares is a runner of a lock that says when it is opened of which kind it is.
type declares Outcome

func (d declares) Run(context.Context, *scenarios.Scenario) (*Outcome, error) {
	o := Outcome(d)
	return &o, nil
}

// What a program says of its lock when it is opened is learnt by a run, and what it does without saying so.
func TestLearn(t *testing.T) {
	held := []history.Event{{F: history.Holds, Type: history.OK}}
	granted := func(leases ...float64) (out []history.Event) {
		for _, at := range leases {
			out = append(out, history.Event{F: history.Acquire, Type: history.OK, Time: int64(at * float64(target(1, 1).TTL))})
		}
		return out
	}
	grantedTo := func(client string, at float64) history.Event {
		e := granted(at)[0]
		e.Process = client
		return e
	}
	leased := func(more history.Event) []history.Event {
		return []history.Event{{Process: "C", F: history.Acquire, Type: history.OK, Grant: "C.1", Lease: 1e9}, {Process: "A", F: history.Acquire, Type: history.OK, Grant: "A.1", Lease: 1e9}, more}
	}
	releases := func(answers ...history.Type) (out []history.Event) {
		for _, a := range answers {
			out = append(out, history.Event{F: history.Release, Grant: "C.1", Type: history.Invoke}, history.Event{F: history.Release, Grant: "C.1", Type: a})
		}
		return out
	}
	for name, tc := range map[string]struct {
		o           Outcome
		holds, kept bool
		twice       bool
		granted     time.Duration
		stays       bool
		nobody      bool
	}{
		"nothing known":             {o: Outcome{}},
		"reentrant":                 {o: Outcome{Reentrant: true}},
		"shared":                    {o: Outcome{Shared: true, Events: held}, holds: true},
		"permits":                   {o: Outcome{Permits: 3}},
		"busy":                      {o: Outcome{Busy: true, Shared: true}},
		"granted when it was over":  {o: Outcome{Events: granted(0.1, 1.2)}},
		"granted after the work":    {o: Outcome{Events: granted(0.1, 1.71)}, kept: true},
		"granted to one alone":      {o: Outcome{Events: append(granted(0.1), held...)}, holds: true, kept: true},
		"two of them hold it":       {o: Outcome{Events: granted(0.1, 0.1)}},
		"no grant came of any kind": {o: Outcome{Events: held}, holds: true},
		"nobody got it":             {o: Outcome{Events: []history.Event{{F: history.Acquire, Type: history.Invoke}, {F: history.Acquire, Type: history.Fail}}}, nobody: true},
		"nobody knows who got it":   {o: Outcome{Events: []history.Event{{F: history.Acquire, Type: history.Invoke}, {F: history.Acquire, Type: history.Info}}}, nobody: true},
		"one got it at last":        {o: Outcome{Events: append([]history.Event{{F: history.Acquire, Type: history.Invoke}, {F: history.Acquire, Type: history.Fail}}, grantedTo("B", 1))}, kept: true},
		"of C nothing is learnt":    {o: Outcome{Events: []history.Event{grantedTo("C", 0), grantedTo("A", 0.1), grantedTo("B", 1.71)}}, kept: true},
		"B slept, and C got it":     {o: Outcome{Events: []history.Event{grantedTo("A", 0), grantedTo("C", 1.8)}}},
		"C got it when A was done":  {o: Outcome{Events: []history.Event{grantedTo("A", 0), {Process: "A", F: history.Release, Type: history.Invoke}, grantedTo("C", 2.1)}}, kept: true},
		"the shorter lease":         {o: Outcome{Events: []history.Event{{F: history.Acquire, Type: history.OK, Lease: 2e9}, {F: history.Acquire, Type: history.OK, Lease: 1e9}}}, granted: time.Second},
		"kept without a renewal":    {o: Outcome{Events: leased(history.Event{})}, kept: true, granted: time.Second, stays: true},
		"kept by a renewal":         {o: Outcome{Events: leased(history.Event{F: history.Renew, Type: history.OK, Grant: "A.1"})}, kept: true, granted: time.Second},
		"kept by another's renewal": {o: Outcome{Events: leased(history.Event{F: history.Renew, Type: history.OK, Grant: "C.1"})}, kept: true, granted: time.Second, stays: true},
		"kept by a watchdog":        {o: Outcome{Events: []history.Event{{Process: "A", F: history.Acquire, Type: history.OK, Lease: 1e9, Watchdog: true}}}, kept: true, granted: time.Second},
		"one without a lease":       {o: Outcome{Events: []history.Event{{F: history.Acquire, Type: history.OK, Lease: 2e9}, {F: history.Acquire, Type: history.OK}}}},
		"released twice":            {o: Outcome{Events: releases(history.OK, history.Fail)}, twice: true},
		"released twice, and done":  {o: Outcome{Events: releases(history.OK, history.OK)}, twice: true},
		"released once":             {o: Outcome{Events: releases(history.OK)}},
		"the second unanswered":     {o: Outcome{Events: releases(history.OK, history.Info)}},
		"ended by the second":       {o: Outcome{Events: append(releases(history.OK), history.Event{F: history.Release, Grant: "C.1", Type: history.Fail, ClientFailed: true})}},
		"each released once":        {o: Outcome{Events: append(releases(history.OK), history.Event{F: history.Release, Grant: "A.1", Type: history.OK})}},
	} {
		on := ofKind("reentrant") // as nobody knows
		if err := on.Learn(t.Context(), declares(tc.o)); err != nil {
			t.Fatal(err)
		}
		if on.Reentrant != tc.o.Reentrant || on.Shared != tc.o.Shared || on.Permits != tc.o.Permits || on.Holds != tc.holds || on.Kept != tc.kept || on.ReleasesTwice != tc.twice || on.Granted != tc.granted || on.Overstays != tc.stays || on.Ungranted != tc.nobody {
			t.Errorf("%s: reentrant %v, shared %v, %d permits, holds %v, kept %v, releases twice %v, granted %v, overstays %v, ungranted %v", name, on.Reentrant, on.Shared, on.Permits, on.Holds, on.Kept, on.ReleasesTwice, on.Granted, on.Overstays, on.Ungranted)
		}
	}
}

// Of a lock that answers a second release there is a program in which A releases twice, while all that can be held is held by
// others, and one more client asks. Faults fall on A's first release alone.
func TestReleasesTwice(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Target)
		want   string // A's program; "" for none
	}{
		"a mutex":                 {func(*Target) {}, "acquire, read, release, await after B's work or 3 leases, release again"},
		"not answered":            {func(t *Target) { t.ReleasesTwice = false }, ""},
		"readers":                 {func(t *Target) { t.Shared = true }, "acquire shared, read, release, await after B's work or 3 leases, release again"},
		"two permits":             {func(t *Target) { t.Permits = 2 }, "acquire, read, release, await after C's work or 3 leases, release again"},
		"more than are ever held": {func(t *Target) { t.Permits = 3 }, ""},
	} {
		on := target(1, 1)
		on.ReleasesTwice = true
		tt.change(&on)
		got, faulty := "", 0
		for p := range space(on, 1) {
			if p.workload != twice {
				continue
			}
			got = p.schedule.Programs["A"].String()
			for _, st := range p.schedule.TriggeredFaults {
				if faulty++; st.When.Client != "A" || st.When.Do != history.Release || st.When.Nth != 1 {
					t.Errorf("%s: %s", name, st)
				}
			}
		}
		if got != tt.want || (faulty > 0) != (tt.want != "") {
			t.Errorf("%s: %q with %d faults, want %q", name, got, faulty, tt.want)
		}
	}
}

// Several clients that hold a semaphore at once do not protect what they would write: nothing is written.
func TestCrowdWritesNothing(t *testing.T) {
	for p := range space(target(1, 2), 1) {
		for name, program := range p.schedule.Programs {
			if strings.Contains(program.String(), history.Write) {
				t.Fatalf("%s: %s: %s", p.workload, name, program)
			}
		}
	}
}
