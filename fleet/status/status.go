// Package status describes the progress of campaigns: as the page campaign.html, as text for a
// terminal, and as JSON. It reads the queue and never writes to it.
package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/internal/format"
)

// The states of a campaign.
const (
	Running  = "running"
	Stopped  = "stopped" // the coordinator was interrupted
	Finished = "finished"
)

// Status is one campaign and its progress.
type Status struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Version  string     `json:"version,omitempty"`
	State    string     `json:"state"`
	Valid    string     `json:"valid,omitempty"` // "" while the campaign runs and nothing failed
	Started  time.Time  `json:"started,omitzero"`
	Finished *time.Time `json:"finished,omitempty"`
	Totals
	Jobs     []Job    `json:"jobs,omitempty"`
	Problems []string `json:"problems,omitempty"` // what could not be read, and why

	// Workers are those of the queue. They may work on other campaigns, too.
	Workers []fleet.Worker `json:"workers,omitempty"`
	Against string         `json:"against,omitempty"` // folder of the campaign that Changes compares with
	Changes []fleet.Change `json:"changes,omitempty"`
}

// Totals are the sums over all jobs.
type Totals struct {
	Items        int `json:"items"`
	Done         int `json:"done"`
	DeadLettered int `json:"dead_lettered"`
	Found        int `json:"found"` // counterexamples of hunts, and cells that failed
}

// Job is one job and its progress.
type Job struct {
	fleet.JobReport
	Done    int  `json:"done"` // of Items
	Waiting int  `json:"waiting,omitempty"`
	Running int  `json:"running,omitempty"`
	Ended   bool `json:"ended"` // it has a verdict
}

// Progress is what is known of a job before its verdict.
type Progress struct {
	Job     fleet.Job
	Items   int // known so far; 0: those that the job begins with
	Results []fleet.Result
	Found   []hunt.Signature // counterexamples
	Waiting int
	Running int
}

// Of is a campaign that has finished.
func Of(r *fleet.Report) *Status {
	finished := r.Finished
	s := &Status{ID: r.ID, Name: r.Name, Version: r.Version, State: Finished, Valid: r.Valid().String(), Started: r.Started, Finished: &finished}
	for _, j := range r.Jobs {
		s.add(Job{JobReport: j, Done: j.Items, Ended: true})
	}
	return s
}

// Add adds a job that has no verdict yet.
func (s *Status) Add(p Progress) {
	j := p.job()
	if j.Valid == checker.False {
		s.Valid = checker.False.String()
	}
	s.add(j)
}

func (s *Status) add(j Job) {
	s.Jobs = append(s.Jobs, j)
	s.Items, s.Done, s.DeadLettered, s.Found = s.Items+j.Items, s.Done+j.Done, s.DeadLettered+len(j.DeadLetters), s.Found+len(j.Findings)
}

// job never says that a lock passed: only the coordinator can, when it has all results.
func (p Progress) job() Job {
	j := Job{
		JobReport: fleet.JobReport{Number: p.Job.Number, Name: p.Job.Name, Lock: p.Job.Lock, Fencing: p.Job.Fencing, Images: p.Job.Images, Valid: checker.Unknown},
		Waiting:   p.Waiting, Running: p.Running,
	}
	seen, workers, failed := map[string]bool{}, map[string]bool{}, 0
	for _, r := range p.Results {
		if seen[r.Item] {
			continue
		}
		seen[r.Item], workers[r.Worker] = true, true
		j.Runs += r.Runs
		j.Seconds += r.Seconds
		switch {
		case r.DeadLetter != "":
			j.DeadLetters = append(j.DeadLetters, fleet.DeadLetter{Item: r.Item, Why: r.DeadLetter})
		case r.Skipped && fleet.KindOf(r.Item) == fleet.Measure:
			j.Unmeasured++
		case r.Skipped:
			j.Skipped++
		case r.Found > 0:
			failed++
		}
	}
	slices.SortFunc(j.DeadLetters, func(a, b fleet.DeadLetter) int { return cmp.Compare(a.Item, b.Item) })
	j.Done, j.Workers = len(seen), len(workers)
	j.Items = max(p.Items, len(p.Job.Items()), j.Done+j.Waiting+j.Running)
	found := slices.SortedFunc(slices.Values(p.Found), func(a, b hunt.Signature) int { return cmp.Compare(a.String(), b.String()) })
	for _, f := range found {
		j.Findings = append(j.Findings, fleet.FindingOf(p.Job.Lock, p.Job.Fencing, f))
	}
	switch {
	case len(found) > 0:
		j.Valid = checker.False
		j.Headline = fmt.Sprintf("%d %s so far", len(found), format.Noun(len(found), "counterexample", "counterexamples"))
	case p.Job.Hunt != nil:
		j.Headline = "no counterexample so far"
	default:
		j.Headline = fmt.Sprintf("%d of %d runs broke something so far, as expected or not", failed, j.Done)
	}
	return j
}

// foreign is the problem of results that belong to no job; "" if there are none.
func foreign(items map[string]bool) string {
	if len(items) == 0 {
		return ""
	}
	one := slices.Sorted(maps.Keys(items))[0]
	return fmt.Sprintf("%d %s of no job, for example %q, ignored", len(items), format.Noun(len(items), "result", "results"), one)
}
