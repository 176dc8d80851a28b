package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/results"
)

// Report is the result of a campaign, job by job, as campaign.json holds it.
type Report struct {
	ID       string      `json:"id"`
	Name     string      `json:"name"`
	Version  string      `json:"version"`
	Started  time.Time   `json:"started"`
	Finished time.Time   `json:"finished"`
	Jobs     []JobReport `json:"jobs"`
}

// JobReport is the result of a job.
type JobReport struct {
	Number  int               `json:"number"`
	Name    string            `json:"name"`
	Lock    string            `json:"lock,omitempty"`
	Fencing string            `json:"fencing,omitempty"`
	Images  map[string]string `json:"images,omitempty"`

	// Valid is the job's verdict: false if something failed that was expected to pass, unknown if
	// too little was run.
	Valid    checker.Validity `json:"valid"`
	Headline string           `json:"headline"`
	Findings []Finding        `json:"findings,omitempty"`
	Folder   string           `json:"folder,omitempty"` // of its reports, below the campaign's folder
	Page     string           `json:"page,omitempty"`   // in Folder

	Items   int `json:"items"`
	Skipped int `json:"skipped,omitempty"` // the time of the search was over before
	// Unmeasured counts the counterexamples that no worker replayed, because the time for that was
	// over. The search itself is complete.
	Unmeasured  int          `json:"unmeasured,omitempty"`
	DeadLetters []DeadLetter `json:"dead_letters,omitempty"`
	Runs        int          `json:"runs"`
	Seconds     float64      `json:"seconds"` // of all workers together
	Workers     int          `json:"workers"`
}

// Finding is a counterexample of a hunt, or a cell that is not as expected.
type Finding struct {
	Of    string `json:"of"`    // the lock and the fencing mode; of a cell the scenario, too
	What  string `json:"what"`  // the anomaly, and its cause
	Takes string `json:"takes"` // the faults that it needs; of a cell the scenario
	Rate  string `json:"rate,omitempty"`
}

// NoFault is Takes of a finding that needs no fault.
const NoFault = "no fault injected"

// FindingOf is the finding of a counterexample.
func FindingOf(lock, fencing string, s hunt.Signature) Finding {
	f := Finding{Of: lock + ", " + fencing, What: s.Name(), Takes: NoFault}
	if len(s.Kinds) > 0 {
		f.Takes = s.Takes()
	}
	return f
}

// String describes the finding in one line.
func (f Finding) String() string {
	text := f.Of + ": " + f.What
	switch f.Takes {
	case "":
	case NoFault:
		text += ", " + NoFault
	default:
		text += ", by " + f.Takes
	}
	if f.Rate != "" {
		text += " (" + f.Rate + ")"
	}
	return text
}

// key is equal for the same finding in two campaigns.
func (f Finding) key() string { return f.Of + "|" + f.What + "|" + f.Takes }

// DeadLetter is a dead-lettered item.
type DeadLetter struct {
	Item string `json:"item"`
	Why  string `json:"why"`
}

// SetHunt sets the result of a hunt; nil: no schedule of it could be run.
func (j *JobReport) SetHunt(r *hunt.Result) {
	j.Valid = checker.True
	if r == nil {
		j.Valid, j.Headline = checker.Unknown, "no schedule could be run"
		return
	}
	for _, w := range r.Counterexamples {
		f := FindingOf(j.Lock, j.Fencing, w.Signature)
		if rate := w.Alone; rate.Runs > 0 {
			f.Rate = fmt.Sprintf("%d of %d", rate.Hits, rate.Runs)
		}
		j.Findings = append(j.Findings, f)
	}
	j.Headline = r.Summary()
	switch little := r.Unproved(); {
	case len(r.Counterexamples) > 0:
		j.Valid = checker.False
	case little != "":
		j.Valid, j.Headline = checker.Unknown, little
	case len(j.DeadLetters) > 0:
		j.Valid = checker.Unknown
	}
}

// SetMatrix sets the results of a matrix.
func (j *JobReport) SetMatrix(m *results.Matrix) {
	j.Valid = m.Validity()
	var words []string
	for _, s := range results.States {
		if n := m.Count()[s]; n > 0 {
			text := fmt.Sprintf("%d %s", n, s)
			if s == results.Expected && n > 1 {
				text += "s"
			}
			words = append(words, text)
		}
	}
	j.Headline = strings.Join(words, ", ")
	if i := slices.IndexFunc(m.Cells, func(c results.Cell) bool { return c.LeftOut != "" }); i >= 0 {
		j.Headline += fmt.Sprintf(" (%s on %s: %s)", m.Cells[i].Scenario, m.Cells[i].Lock, m.Cells[i].LeftOut)
	}
	for _, c := range m.Cells {
		if s := c.State(); s != results.Violated && s != results.Unexpected {
			continue
		}
		f := Finding{Of: fmt.Sprintf("%s, %s, %s", c.Scenario, c.Lock, c.Fencing), What: strings.Join(c.Broken, ", "), Takes: c.Scenario}
		if f.What == "" {
			f.What = "no violation, and one was expected"
		}
		if c.Runs > 1 {
			f.Rate = fmt.Sprintf("%d of %d", c.Runs-c.Clean-c.Unproved, c.Runs)
		}
		j.Findings = append(j.Findings, f)
	}
	if j.Valid == checker.True && len(j.DeadLetters) > 0 {
		j.Valid = checker.Unknown
	}
}

// Valid is the campaign's verdict: the worst of its jobs'.
func (r *Report) Valid() checker.Validity {
	out := checker.True
	for _, j := range r.Jobs {
		switch j.Valid {
		case checker.False:
			return checker.False
		case checker.Unknown:
			out = checker.Unknown
		}
	}
	return out
}

// Change is the difference from an earlier campaign in one job.
type Change struct {
	Job     string    `json:"job"`
	New     []Finding `json:"new,omitempty"`  // in this campaign only
	Gone    []Finding `json:"gone,omitempty"` // in the earlier one only
	Before  string    `json:"before,omitempty"`
	Now     string    `json:"now,omitempty"`
	Missing bool      `json:"missing,omitempty"` // the job is no longer there
}

// Compare lists the differences from an earlier campaign, by the names of the jobs: new findings,
// findings that are gone, and changed verdicts.
func (r *Report) Compare(before *Report) []Change {
	var out []Change
	find := func(all []JobReport, name string) *JobReport {
		if i := slices.IndexFunc(all, func(j JobReport) bool { return j.Name == name }); i >= 0 {
			return &all[i]
		}
		return nil
	}
	for _, now := range r.Jobs {
		c := Change{Job: now.Name, Now: now.Valid.String(), Before: "not there"}
		var was []Finding
		if b := find(before.Jobs, now.Name); b != nil {
			was, c.Before = b.Findings, b.Valid.String()
		}
		c.New, c.Gone = without(now.Findings, was), without(was, now.Findings)
		if len(c.New)+len(c.Gone) > 0 || c.Before != c.Now {
			out = append(out, c)
		}
	}
	for _, b := range before.Jobs {
		if find(r.Jobs, b.Name) == nil {
			out = append(out, Change{Job: b.Name, Before: b.Valid.String(), Now: "not there", Missing: true})
		}
	}
	return out
}

func without(all, known []Finding) []Finding {
	var out []Finding
	for _, f := range all {
		if !slices.ContainsFunc(known, func(k Finding) bool { return k.key() == f.key() }) {
			out = append(out, f)
		}
	}
	return out
}

// Regressed is the verdict on changes: false if there is a new finding, unknown if a job passed or
// failed before and is unknown or missing now.
func Regressed(changes []Change) checker.Validity {
	out := checker.True
	for _, c := range changes {
		switch {
		case len(c.New) > 0:
			return checker.False
		case c.Missing, c.Now == checker.Unknown.String() && c.Before != checker.Unknown.String():
			out = checker.Unknown
		}
	}
	return out
}
