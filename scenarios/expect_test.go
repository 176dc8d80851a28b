package scenarios

import (
	"strings"
	"testing"

	"github.com/picklock/picklock/checker/verdict"
)

func drawn(valid verdict.Validity, anomalies ...string) verdict.Verdict {
	v := verdict.Verdict{Valid: valid, Why: "nothing was contested", Properties: map[string]verdict.Property{
		verdict.Register: {Required: true}, verdict.Exclusion: {Required: true}, verdict.Belief: {},
	}}
	for _, name := range anomalies {
		property := map[string]string{"stale-write": verdict.Register, "lost-update": verdict.Register, "granted-early": verdict.Exclusion, "two-holders": verdict.Belief}[name]
		v.Anomalies = append(v.Anomalies, verdict.Anomaly{Name: name, Property: property, Explanation: "because"})
	}
	return v
}

func TestJudge(t *testing.T) {
	stale := Expectation{Must: []string{"stale-write"}}
	perhaps := Expectation{Must: []string{"stale-write"}, May: []string{"lost-update"}}
	gone, err := Forbidding([]string{"granted-early"})
	if err != nil {
		t.Fatal(err)
	}
	tried := func(v verdict.Verdict, exclusion verdict.Validity) verdict.Verdict {
		v.Properties[verdict.Exclusion] = verdict.Property{Valid: exclusion, Required: true, Why: "nobody asked"}
		return v
	}
	unconfirmed := tried(drawn(verdict.True), verdict.True)
	unconfirmed.Stats.Faults = map[string]verdict.FaultCount{"kill": {Injected: 1}}
	herd := Expectation{Counts: map[string]int{WakeUps: 8}}
	tests := []struct {
		name   string
		want   Expectation
		v      verdict.Verdict
		counts int
		met    verdict.Validity
		why    string
	}{
		{"valid", Expectation{}, drawn(verdict.True), 0, verdict.True, ""},
		{"valid, belief broken", Expectation{}, drawn(verdict.True, "two-holders"), 0, verdict.True, ""},
		{"valid, but broken", Expectation{}, drawn(verdict.False, "stale-write"), 0, verdict.False, "not expected: stale-write: because"},
		{"valid, but unknown", Expectation{}, drawn(verdict.Unknown), 0, verdict.Unknown, "nothing was contested"},
		{"broken", stale, drawn(verdict.False, "stale-write", "two-holders"), 0, verdict.True, ""},
		{"broken twice", stale, drawn(verdict.False, "stale-write", "stale-write"), 0, verdict.True, ""},
		{"broken, but valid", stale, drawn(verdict.True), 0, verdict.False, "not seen: stale-write"},
		{"broken, but unknown", stale, drawn(verdict.Unknown), 0, verdict.Unknown, "no stale-write"},
		{"broken otherwise", stale, drawn(verdict.False, "granted-early"), 0, verdict.False, "not expected: granted-early"},
		{"broken otherwise too", stale, drawn(verdict.False, "stale-write", "lost-update"), 0, verdict.False, "not expected: lost-update"},
		{"the cause before what it led to", Expectation{}, drawn(verdict.False, "stale-write", "granted-early"), 0, verdict.False, "not expected: granted-early: because; stale-write: because"},
		{"perhaps", perhaps, drawn(verdict.False, "stale-write", "lost-update"), 0, verdict.True, ""},
		{"perhaps not", perhaps, drawn(verdict.False, "stale-write"), 0, verdict.True, ""},
		{"perhaps alone", perhaps, drawn(verdict.False, "lost-update"), 0, verdict.False, "not seen: stale-write"},
		{"forbidden, and gone", *gone, tried(drawn(verdict.True), verdict.True), 0, verdict.True, ""},
		{"forbidden, and another came", *gone, tried(drawn(verdict.False, "stale-write", "two-holders"), verdict.True), 0, verdict.True, ""},
		{"forbidden, and what is unknown is something else", *gone, tried(drawn(verdict.Unknown), verdict.True), 0, verdict.True, ""},
		{"forbidden, and came", *gone, tried(drawn(verdict.False, "stale-write", "granted-early"), verdict.False), 0, verdict.False, "not expected: granted-early: because"},
		{"forbidden, and not tried", *gone, tried(drawn(verdict.False, "stale-write"), verdict.Unknown), 0, verdict.Unknown, "whether granted-early was tried: exclusion: nobody asked"},
		{"forbidden, and no fault took effect", *gone, unconfirmed, 0, verdict.Unknown, "fault kill never took effect"},
		{"belief forbidden", Expectation{Not: []string{"two-holders"}}, drawn(verdict.True, "two-holders"), 0, verdict.False, "not expected: two-holders"},
		{"one without the other", Expectation{Must: []string{"stale-write"}, Not: []string{"granted-early"}}, tried(drawn(verdict.True), verdict.True), 0, verdict.False, "not seen: stale-write"},
		{"belief asked for", Expectation{Must: []string{"two-holders"}}, drawn(verdict.True), 0, verdict.False, "not seen: two-holders"},
		{"counted", herd, drawn(verdict.True), 8, verdict.True, ""},
		{"counted otherwise", herd, drawn(verdict.True), 7, verdict.False, "7 wake-ups, expected 8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			met, why := tt.want.Judge(tt.v, map[string]int{WakeUps: tt.counts})
			if met != tt.met || !strings.Contains(why, tt.why) || tt.why == "" && why != "" {
				t.Errorf("%v, %q; want %v, %q", met, why, tt.met, tt.why)
			}
			if misses := tt.want.Misses(tt.v); misses != (strings.Contains(why, "not seen: ") || strings.HasPrefix(why, "no ")) {
				t.Errorf("misses: %v, and %q", misses, why)
			}
		})
	}
}

func TestForbidding(t *testing.T) {
	if e, err := Forbidding([]string{"granted-early", "deadlock"}); err != nil || e.String() != "no granted-early, no deadlock" {
		t.Errorf("%v, %v", e, err)
	}
	if _, err := Forbidding([]string{"granted-eraly"}); err == nil || !strings.Contains(err.Error(), "did you mean granted-early?") {
		t.Errorf("an anomaly that is none: %v", err)
	}
}

// Of many anomalies that may be seen, a line names some: it is read by people, and the scenario has them all.
func TestExpectationNamesSome(t *testing.T) {
	may := []string{"a", "b", "c", "d", "e"}
	for n, want := range map[int]string{1: "x (perhaps a)", 4: "x (perhaps a, b, c, d)", 5: "x (perhaps a, b, c or 2 others)"} {
		if e := (Expectation{Must: []string{"x"}, May: may[:n]}); e.String() != want {
			t.Errorf("%d: %s, want %s", n, &e, want)
		}
	}
}

func TestExpected(t *testing.T) {
	s, err := Parse("mine.yaml", []byte(head+oneClient+`expect:
  redis: {none: [stale-write], "*": [lost-update]}
  "*": {none: [deadlock], "*": valid}
`))
	if err != nil {
		t.Fatal(err)
	}
	for cell, want := range map[[2]string]string{
		{"redis", "none"}: "stale-write", {"redis", "write"}: "lost-update", {"etcd", "none"}: "deadlock", {"etcd", "write"}: "valid",
	} {
		if got := s.Expected(cell[0], cell[1]).String(); got != want {
			t.Errorf("%v: %s, want %s", cell, got, want)
		}
	}
}

// An anomaly that is expected of one version, or of all locks, is what every version is tried for.
func TestBreaking(t *testing.T) {
	breaks := func(lock, anomaly string) Expectation {
		return Expectation{Lock: lock, Fencing: "none", Must: []string{anomaly}}
	}
	for name, c := range map[string]struct {
		expect []Expectation
		want   string
	}{
		"by its name":             {[]Expectation{breaks("redisson@1.0.0", "lost-update"), breaks("redisson", "stale-write")}, "stale-write"},
		"of the first version":    {[]Expectation{breaks("redisson@1.0.1", "stale-write"), breaks("redisson@1.0.0", "lost-update")}, "stale-write"},
		"of a broken version":     {[]Expectation{{Lock: "redisson@1.0.1", Fencing: "none"}, breaks("redisson@1.0.0", "lost-update")}, "lost-update"},
		"of a version before all": {[]Expectation{breaks("*", "deadlock"), breaks("redisson@1.0.0", "lost-update")}, "lost-update"},
		"of all locks":            {[]Expectation{breaks("*", "deadlock")}, "deadlock"},
		"of locks not named":      {[]Expectation{breaks("own", "deadlock")}, "deadlock"},
		"of all disciplines":      {[]Expectation{{Lock: "redisson@1.0.0", Fencing: "*", Must: []string{"lost-update"}}}, "lost-update"},
		"of another discipline":   {[]Expectation{{Lock: "redisson", Fencing: "write", Must: []string{"lost-update"}}}, ""},
		"of another lock":         {[]Expectation{breaks("redisson-fair@1.0.0", "lost-update"), breaks("redis", "lost-update")}, ""},
		"valid":                   {[]Expectation{{Lock: "redisson", Fencing: "none"}}, ""},
		"only what must not come": {[]Expectation{{Lock: "redisson", Fencing: "none", Not: []string{"deadlock"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if e := (&Scenario{Expect: c.expect}).Breaking("redisson", "none"); e != nil {
				got = strings.Join(e.Must, ", ")
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
