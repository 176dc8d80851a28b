package scenarios

import (
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
)

func verdict(valid checker.Validity, anomalies ...string) checker.Verdict {
	v := checker.Verdict{Valid: valid, Why: "nothing was contested", Properties: map[string]checker.Property{
		checker.Register: {Required: true}, checker.Exclusion: {Required: true}, checker.Belief: {},
	}}
	for _, name := range anomalies {
		property := map[string]string{"stale-write": checker.Register, "lost-update": checker.Register, "granted-early": checker.Exclusion, "two-holders": checker.Belief}[name]
		v.Anomalies = append(v.Anomalies, checker.Anomaly{Name: name, Property: property, Explanation: "because"})
	}
	return v
}

func TestJudge(t *testing.T) {
	stale := Expectation{Must: []string{"stale-write"}}
	perhaps := Expectation{Must: []string{"stale-write"}, May: []string{"lost-update"}}
	herd := Expectation{Counts: map[string]int{WakeUps: 8}}
	tests := []struct {
		name   string
		want   Expectation
		v      checker.Verdict
		counts int
		met    checker.Validity
		why    string
	}{
		{"valid", Expectation{}, verdict(checker.True), 0, checker.True, ""},
		{"valid, belief broken", Expectation{}, verdict(checker.True, "two-holders"), 0, checker.True, ""},
		{"valid, but broken", Expectation{}, verdict(checker.False, "stale-write"), 0, checker.False, "not expected: stale-write: because"},
		{"valid, but unknown", Expectation{}, verdict(checker.Unknown), 0, checker.Unknown, "nothing was contested"},
		{"broken", stale, verdict(checker.False, "stale-write", "two-holders"), 0, checker.True, ""},
		{"broken twice", stale, verdict(checker.False, "stale-write", "stale-write"), 0, checker.True, ""},
		{"broken, but valid", stale, verdict(checker.True), 0, checker.False, "not seen: stale-write"},
		{"broken, but unknown", stale, verdict(checker.Unknown), 0, checker.Unknown, "no stale-write"},
		{"broken otherwise", stale, verdict(checker.False, "granted-early"), 0, checker.False, "not expected: granted-early"},
		{"broken otherwise too", stale, verdict(checker.False, "stale-write", "lost-update"), 0, checker.False, "not expected: lost-update"},
		{"the cause before what it led to", Expectation{}, verdict(checker.False, "stale-write", "granted-early"), 0, checker.False, "not expected: granted-early: because; stale-write: because"},
		{"perhaps", perhaps, verdict(checker.False, "stale-write", "lost-update"), 0, checker.True, ""},
		{"perhaps not", perhaps, verdict(checker.False, "stale-write"), 0, checker.True, ""},
		{"perhaps alone", perhaps, verdict(checker.False, "lost-update"), 0, checker.False, "not seen: stale-write"},
		{"belief asked for", Expectation{Must: []string{"two-holders"}}, verdict(checker.True), 0, checker.False, "not seen: two-holders"},
		{"counted", herd, verdict(checker.True), 8, checker.True, ""},
		{"counted otherwise", herd, verdict(checker.True), 7, checker.False, "7 wake-ups, expected 8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			met, why := tt.want.Judge(tt.v, map[string]int{WakeUps: tt.counts})
			if met != tt.met || !strings.Contains(why, tt.why) || tt.why == "" && why != "" {
				t.Errorf("%v, %q; want %v, %q", met, why, tt.met, tt.why)
			}
		})
	}
}

func TestExpected(t *testing.T) {
	s, err := Parse("mine.yaml", []byte(head+`steps: [{A: acquire}]
expect:
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
