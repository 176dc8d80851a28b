package fleet

import (
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/results"
)

func TestCompare(t *testing.T) {
	early, late := Finding{Of: "redis, none", What: "granted-early", Takes: "a pause"}, Finding{Of: "redis, none", What: "stale-write", Takes: NoFault}
	job := func(name string, v checker.Validity, f ...Finding) JobReport {
		return JobReport{Name: name, Valid: v, Findings: f}
	}
	more := early
	more.Rate = "19 of 20"
	for _, c := range []struct {
		name        string
		before, now []JobReport
		changes     int
		regressed   checker.Validity
	}{
		{"the same", []JobReport{job("a", checker.False, early)}, []JobReport{job("a", checker.False, early)}, 0, checker.True},
		{"another rate", []JobReport{job("a", checker.False, early)}, []JobReport{job("a", checker.False, more)}, 0, checker.True},
		{"one more", []JobReport{job("a", checker.False, early)}, []JobReport{job("a", checker.False, early, late)}, 1, checker.False},
		{"one less", []JobReport{job("a", checker.False, early, late)}, []JobReport{job("a", checker.False, late)}, 1, checker.True},
		{"mended", []JobReport{job("a", checker.False, early)}, []JobReport{job("a", checker.True)}, 1, checker.True},
		{"too little now", []JobReport{job("a", checker.True)}, []JobReport{job("a", checker.Unknown)}, 1, checker.Unknown},
		{"too little before, too", []JobReport{job("a", checker.Unknown)}, []JobReport{job("a", checker.Unknown)}, 0, checker.True},
		{"no longer there", []JobReport{job("a", checker.True)}, nil, 1, checker.Unknown},
		{"new, and broken", nil, []JobReport{job("a", checker.False, early)}, 1, checker.False},
		{"new, and holds", nil, []JobReport{job("a", checker.True)}, 1, checker.True},
	} {
		changes := (&Report{Jobs: c.now}).Compare(&Report{Jobs: c.before})
		if len(changes) != c.changes || Regressed(changes) != c.regressed {
			t.Errorf("%s: %+v, %v; want %d changes, %v", c.name, changes, Regressed(changes), c.changes, c.regressed)
		}
	}
}

func TestValid(t *testing.T) {
	for _, c := range []struct {
		jobs []checker.Validity
		want checker.Validity
	}{
		{nil, checker.True},
		{[]checker.Validity{checker.True, checker.True}, checker.True},
		{[]checker.Validity{checker.True, checker.Unknown}, checker.Unknown},
		{[]checker.Validity{checker.Unknown, checker.False, checker.True}, checker.False},
	} {
		r := Report{}
		for _, v := range c.jobs {
			r.Jobs = append(r.Jobs, JobReport{Valid: v})
		}
		if got := r.Valid(); got != c.want {
			t.Errorf("%v: %v, want %v", c.jobs, got, c.want)
		}
	}
}

// TestMatrixFindings: a run that proved too little is no hit, and of cells that were left out the report says why.
func TestMatrixFindings(t *testing.T) {
	var j JobReport
	j.SetMatrix(&results.Matrix{Cells: []results.Cell{
		{Scenario: "s", Lock: "redis", Fencing: "none", Runs: 5, Clean: 1, Unproved: 2, Met: checker.False, Valid: checker.False, Broken: []string{"stale-write"}},
		{Scenario: "s", Lock: "mine", Fencing: "none", LeftOut: "no such file: cluster.yml"},
	}})
	if len(j.Findings) != 1 || j.Findings[0].Rate != "2 of 5" {
		t.Errorf("%+v", j.Findings)
	}
	if !strings.Contains(j.Headline, "1 left out (s on mine: no such file: cluster.yml)") {
		t.Error(j.Headline)
	}
}
