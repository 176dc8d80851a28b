package status

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
)

// Queue is what a queue holds: campaigns in detail, the others by their IDs, and the workers.
type Queue struct {
	Campaigns []*Status      `json:"campaigns"` // the newest last
	Others    []stream.About `json:"others,omitempty"`
	Workers   []fleet.Worker `json:"workers,omitempty"`
	Problems  []string       `json:"problems,omitempty"`
}

// mostCampaigns is how many campaigns are shown in detail: the newest.
const mostCampaigns = 100

// ErrNoCampaign says that the queue has no campaign with the wanted ID.
var ErrNoCampaign = errors.New("the queue has no such campaign")

// ReadQueue reads the campaign with an ID. If id is "" it reads the campaigns that run, or the
// newest one if none runs. What cannot be read becomes a problem and hides nothing else.
func ReadQueue(ctx context.Context, q *stream.Queue, id string) (*Queue, error) {
	out := &Queue{}
	problem := func(err error) error {
		if err == nil || !errors.Is(err, stream.ErrUnreadable) {
			return err
		}
		out.Problems = append(out.Problems, strings.Split(err.Error(), "\n")...)
		return nil
	}
	all, err := q.Campaigns(ctx)
	if err := problem(err); err != nil {
		return nil, err
	}
	if out.Workers, err = q.Workers(ctx); problem(err) != nil {
		return nil, err
	}
	waiting, err := q.Waiting(ctx)
	if err != nil {
		return nil, err
	}
	wanted := chosen(all, id)
	if id != "" && len(wanted) == 0 {
		return nil, ErrNoCampaign
	}
	for _, about := range all {
		if !slices.Contains(wanted, about) {
			out.Others = append(out.Others, about)
			continue
		}
		s, err := Read(ctx, q, about, waiting)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			out.Problems = append(out.Problems, "campaign "+about.ID+": "+err.Error())
			continue
		}
		out.Campaigns = append(out.Campaigns, s)
	}
	return out, nil
}

// chosen are the campaigns to show in detail.
func chosen(all []stream.About, id string) []stream.About {
	if id != "" {
		return slices.DeleteFunc(slices.Clone(all), func(a stream.About) bool { return a.ID != id })
	}
	running := slices.DeleteFunc(slices.Clone(all), func(a stream.About) bool { return a.Ended })
	if len(running) == 0 {
		return all[max(0, len(all)-1):]
	}
	return running[max(0, len(running)-mostCampaigns):]
}

// Read reads one campaign. waiting is what the queue says of all jobs.
func Read(ctx context.Context, q *stream.Queue, about stream.About, waiting []stream.Waiting) (*Status, error) {
	c, err := q.Open(ctx, about.ID)
	if err != nil {
		return nil, err
	}
	if about.Ended {
		r, err := c.Reported(ctx)
		if err != nil {
			return nil, err
		}
		if r != nil {
			return Of(r), nil
		}
	}
	jobs, err := c.Jobs(ctx)
	if err != nil { // the items of a job that cannot be read are unknown
		return nil, err
	}
	results, err := c.ResultsNow(ctx)
	if err != nil {
		return nil, err
	}
	s := &Status{ID: about.ID, Name: about.Name, Version: about.Version, State: Running, Started: about.Started}
	if about.Ended {
		s.State = Finished
	}
	byJob, unknown := map[int][]fleet.Result{}, map[string]bool{}
	for _, r := range results {
		number, ok := jobOf(r.Item)
		if !ok || !slices.ContainsFunc(jobs, func(j fleet.Job) bool { return j.Number == number }) {
			unknown[r.Item] = true
			continue
		}
		byJob[number] = append(byJob[number], r)
	}
	for _, j := range jobs {
		p := Progress{Job: j, Results: byJob[j.Number]}
		if j.Hunt != nil {
			if p.Found, err = c.Counterexamples(ctx, j.Number); err != nil {
				return nil, err
			}
		}
		for _, w := range waiting {
			if w.Campaign == about.ID && w.Job == j.Number {
				p.Waiting, p.Running = w.Waits, w.On
			}
		}
		s.Add(p)
	}
	if text := foreign(unknown); text != "" {
		s.Problems = append(s.Problems, text)
	}
	return s, nil
}

// jobOf is the number of the job that an item's ID names.
func jobOf(item string) (int, bool) {
	number, _, ok := strings.Cut(item, ".")
	n, err := strconv.Atoi(number)
	return n, ok && err == nil
}
