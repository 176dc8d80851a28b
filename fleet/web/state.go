package web

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/picklock/picklock/fleet"
)

// State is all that the page shows, as /api/state gives it.
type State struct {
	Campaigns []Campaign `json:"campaigns"` // the newest first
	Workers   []Worker   `json:"workers,omitempty"`
	Reports   []Report   `json:"reports,omitempty"`
	Trouble   []string   `json:"trouble,omitempty"` // what could not be read, and why
}

// The states of a campaign.
const (
	Ended    = "ended"
	GoingOn  = "going on"
	NotEnded = "not ended" // a folder without campaign.json: it goes on, or was interrupted
)

// Campaign is one campaign: from a folder what it came to, from a queue how far it is.
type Campaign struct {
	Key      string     `json:"key"` // names it in the addresses of pages
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Version  string     `json:"version,omitempty"`
	Folder   string     `json:"folder,omitempty"` // below the one that is shown
	State    string     `json:"state"`
	Valid    string     `json:"valid,omitempty"` // "" while it goes on
	Started  time.Time  `json:"started,omitzero"`
	Finished *time.Time `json:"finished,omitempty"`
	Jobs     []Job      `json:"jobs,omitempty"`

	report *fleet.Report // nil: there is none to compare
}

// Job is a job of a campaign.
type Job struct {
	fleet.JobReport
	Done  int    `json:"done"`            // items, of those in Items that are known so far
	Waits int    `json:"waits,omitempty"` // items
	On    int    `json:"on,omitempty"`    // items that workers have
	Ended bool   `json:"ended"`
	Link  string `json:"link,omitempty"` // of its report
}

// Worker is what a worker says of itself, and how fast it is.
type Worker struct {
	fleet.Worker
	Rate float64 `json:"rate"` // plays in a second in which it played
}

// Report is a page below the folder that is shown.
type Report struct {
	Path string    `json:"path"`
	Kind string    `json:"kind"`
	Link string    `json:"link"`
	When time.Time `json:"when"`
}

// state gathers what there is. A campaign that is in a folder with what it came to is not
// shown as one of the queue's, too.
func (s *Site) state(ctx context.Context) State {
	var out State
	if s.folder != nil {
		found := s.folder.look(ctx)
		out = State{Campaigns: slices.Clone(found.Campaigns), Reports: found.Reports, Trouble: slices.Clone(found.Trouble)}
	}
	if s.queue != nil {
		live, workers, trouble := s.queue.state()
		for _, c := range live {
			out.Campaigns = slices.DeleteFunc(out.Campaigns, func(f Campaign) bool { return f.ID == c.ID && f.report == nil })
			if !slices.ContainsFunc(out.Campaigns, func(f Campaign) bool { return f.ID == c.ID }) {
				out.Campaigns = append(out.Campaigns, c)
			}
		}
		out.Workers = workers
		out.Trouble = append(out.Trouble, trouble...)
	}
	slices.SortStableFunc(out.Campaigns, func(a, b Campaign) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.Key, b.Key))
	})
	return out
}

func (st State) campaign(key string) (Campaign, bool) {
	i := slices.IndexFunc(st.Campaigns, func(c Campaign) bool { return c.Key == key })
	if i < 0 {
		return Campaign{}, false
	}
	return st.Campaigns[i], true
}

// counts are jobs that held, broke, and of which too little is known; those that go on are
// in none of them.
func (c Campaign) counts() (held, broke, unknown, findings int) {
	for _, j := range c.Jobs {
		findings += len(j.Findings)
		switch verdictOf(j) {
		case "holds":
			held++
		case "broken":
			broke++
		case "unknown":
			unknown++
		}
	}
	return held, broke, unknown, findings
}
