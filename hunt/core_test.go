package hunt

import (
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// TestCore: shrinking begins with the moves that the record of one run needs, if those show the same, and else with all.
func TestCore(t *testing.T) {
	s, err := scenarios.Parse("s.yaml", []byte(`name: s
about: a test
locks: [redis]
clients:
  A: acquire, read, work 0.2 leases, write, release, acquire, read, work 1.3 leases, write, release
  B: await A granted or 3 leases, acquire, read, work 0.3 leases, write, release
  C: await B granted or 3 leases, acquire, read, write, release
`))
	if err != nil {
		t.Fatal(err)
	}
	record := &Evidence{}
	add := func(process, f string, typ history.Type, needed bool) {
		at := int64(len(record.Events))
		record.Events = append(record.Events, history.Event{Index: at, Time: at, Process: process, F: f, Type: typ})
		if needed {
			record.Anomaly.Events = append(record.Anomaly.Events, at)
		}
	}
	do := func(process, f string, needed bool) {
		add(process, f, history.Invoke, false)
		add(process, f, history.OK, needed)
	}
	for _, f := range []string{"acquire", "read", "write", "release"} {
		do("A", f, false)
	}
	do("A", "acquire", true)
	add("B", "acquire", history.Invoke, false)
	do("A", "read", false)
	add("B", "acquire", history.OK, true)
	do("B", "read", false)
	do("A", "write", true)
	record.Anomaly = verdict.Anomaly{Name: "stale-write", Events: record.Anomaly.Events}

	for _, c := range []struct {
		works bool
		want  []string
	}{
		{false, []string{"A: acquire, read, write, release\n", "B: await A granted or 3 leases, acquire, read, write, release\n"}},
		{true, []string{"A: acquire, read, work 1.3 leases, write, release\n", "B: await A granted or 3 leases, acquire, read, work 0.3 leases, write, release\n"}},
	} {
		got := string(record.core(s, c.works).Write())
		if strings.Contains(got, "C: ") {
			t.Errorf("works %v: C is still there, which has no part in it:\n%s", c.works, got)
		}
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("works %v: no %q in\n%s", c.works, want, got)
			}
		}
	}
	cut := *record
	if cut.LeftOut = 1; cut.core(s, false) != nil || (*Evidence)(nil).core(s, false) != nil {
		t.Error("a record that does not begin with the run tells which of a client's operations they are")
	}

	for _, c := range []struct {
		name  string
		needs func(s *scenarios.Scenario) bool
		saves bool
	}{
		{"what the record needs", func(s *scenarios.Scenario) bool { return len(s.Programs["A"]) > 0 && len(s.Programs["B"]) > 0 }, true},
		{"more than the record needs", func(s *scenarios.Scenario) bool {
			return slices.ContainsFunc(s.Programs["C"], func(m scenarios.Move) bool { return m.Do == history.Write })
		}, false},
	} {
		runs := map[bool]int{}
		for _, known := range []bool{false, true} {
			m := &model{bugs: []bug{{"stale-write", "", c.needs}}}
			h := New(Options{Target: target(3, 1)})
			k := &shrinker{h: h, runner: m, sig: Signature{Anomaly: "stale-write"}, budget: 1 << 20}
			if known {
				k.record = record
			}
			small, _ := k.shrink(t.Context(), s)
			if h.stop(); !c.needs(small) {
				t.Fatalf("%s: not what was sought:\n%s", c.name, text(small))
			}
			runs[known] = k.runs
		}
		if saves := runs[true] < runs[false]; saves != c.saves {
			t.Errorf("%s: %d runs with the record, %d without", c.name, runs[true], runs[false])
		}
	}
}
