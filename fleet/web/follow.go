package web

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/internal/format"
)

// following is one campaign of a queue whose results are followed.
type following struct {
	c *stream.Campaign

	stop func() // ends follow; the queue's loop alone sets it

	mu       sync.Mutex
	about    stream.About
	begun    bool
	jobs     []tally
	broken   string          // why following it ended; it is tried again
	foreign  map[string]bool // results of items that the campaign cannot have
	report   *fleet.Report   // what it came to; nil as long as that is not known
	reported bool            // that was asked for
}

// tally is how far a job is.
type tally struct {
	job     fleet.Job
	done    map[string]bool // items
	workers map[string]bool
	dead    []fleet.Dead
	plays   int
	// As the report counts them.
	skipped, unmeasured int
	broke               int // items of which a worker says that something broke
	asked               int // what broke was when the ways were asked for
	seconds             float64
	ways                []hunt.Signature
	waits, on           int
	known               int // items, when the queue was last asked: done, waiting, and with workers
}

// begin says that the campaign is to be followed, unless it is.
func (f *following) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := !f.begun
	f.begun = true
	return first
}

// follow takes every result, until ctx ends.
func (f *following) follow(ctx context.Context) {
	err := f.c.Results(ctx, func(r fleet.Result) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.broken = ""
		f.take(r)
		return nil
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = false
	if err != nil && ctx.Err() == nil {
		f.broken = err.Error()
	}
}

// take counts a result, once. One of no job is passed over, and told.
func (f *following) take(r fleet.Result) {
	var number int
	i := -1
	if _, err := fmt.Sscanf(r.Item, "%d.", &number); err == nil {
		i = slices.IndexFunc(f.jobs, func(t tally) bool { return t.job.Number == number })
	}
	if i < 0 {
		f.foreign[r.Item] = true
		return
	}
	t := &f.jobs[i]
	if t.done[r.Item] {
		return
	}
	t.done[r.Item] = true
	t.workers[r.Worker] = true
	t.plays += r.Plays
	t.seconds += r.Seconds
	switch {
	case r.Dead != "":
		t.dead = append(t.dead, fleet.Dead{Item: r.Item, Why: r.Dead})
	case r.Skipped && fleet.KindOf(r.Item) == fleet.Measure:
		t.unmeasured++
	case r.Skipped:
		t.skipped++
	case r.Ways > 0:
		t.broke++
	}
}

// update takes what the queue says besides.
func (f *following) update(about stream.About, waiting []stream.Waiting) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.about = about
	for i := range f.jobs {
		t := &f.jobs[i]
		t.waits, t.on = 0, 0
		for _, w := range waiting {
			if w.Campaign == about.ID && w.Job == t.job.Number {
				t.waits, t.on = w.Waits, w.On
			}
		}
		t.known = len(t.done) + t.waits + t.on
	}
}

// askWays asks what was found in the hunts of which there is something new.
func (f *following) askWays(ctx context.Context) error {
	for i := range f.jobs {
		f.mu.Lock()
		t := f.jobs[i]
		f.mu.Unlock()
		if t.job.Hunt == nil || t.broke == t.asked {
			continue
		}
		ways, err := f.c.Ways(ctx, t.job.Number)
		if err != nil {
			return err
		}
		slices.SortFunc(ways, func(a, b hunt.Signature) int { return cmp.Compare(a.String(), b.String()) })
		f.mu.Lock()
		f.jobs[i].ways, f.jobs[i].asked = ways, t.broke
		f.mu.Unlock()
	}
	return nil
}

// askReport asks once what a campaign that has ended came to.
func (f *following) askReport(ctx context.Context) error {
	f.mu.Lock()
	asks := f.about.Ended && !f.reported
	f.mu.Unlock()
	if !asks {
		return nil
	}
	r, err := f.c.Reported(ctx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.report, f.reported = r, true
	return nil
}

// campaign is how far it is, and what went wrong in following it.
func (f *following) campaign() (c Campaign, trouble []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.foreign); n > 0 {
		one := slices.Sorted(maps.Keys(f.foreign))[0]
		trouble = append(trouble, fmt.Sprintf("campaign %s: %d %s of no job of it, %q among them, passed over", f.about.ID, n, format.Noun(n, "result", "results"), clip(one)))
	}
	key := "queue:" + f.about.ID
	if f.report != nil {
		return reported(key, f.report, func(fleet.JobReport) string { return "" }), trouble
	}
	c = Campaign{Key: key, ID: f.about.ID, Name: f.about.Name, Version: f.about.Version, Started: f.about.Started, State: GoingOn}
	if f.about.Ended {
		c.State = Ended
	}
	for i := range f.jobs {
		c.Jobs = append(c.Jobs, f.jobs[i].view())
	}
	if f.broken != "" {
		trouble = append(trouble, fmt.Sprintf("campaign %s could not be followed, and is tried again: %s", f.about.ID, f.broken))
	}
	return c, trouble
}

// view is a job that goes on. That it held is said by whoever puts its results together, never
// here; that a hunt found a way is said at once.
func (t *tally) view() Job {
	j := Job{
		JobReport: fleet.JobReport{
			Number: t.job.Number, Name: t.job.Name, Lock: t.job.Lock, Fencing: t.job.Fencing, Images: t.job.Images, Valid: checker.Unknown,
			Skipped: t.skipped, Unmeasured: t.unmeasured, Dead: slices.Clone(t.dead), Plays: t.plays, Seconds: t.seconds, Workers: len(t.workers),
		},
		Done: len(t.done), Waits: t.waits, On: t.on,
	}
	// What follows from the first items is seen when it waits, or is being done.
	j.Items = max(len(t.job.Items()), j.Done, t.known)
	for _, w := range t.ways {
		j.Findings = append(j.Findings, fleet.Finding{Of: t.job.Lock + ", " + t.job.Fencing, What: w.Name(), Takes: w.Takes()})
	}
	switch {
	case len(t.ways) > 0:
		j.Valid = checker.False
		j.Headline = fmt.Sprintf("%d %s found so far", len(t.ways), format.Noun(len(t.ways), "way", "ways"))
	case t.job.Hunt != nil:
		j.Headline = "nothing found so far"
	default:
		j.Headline = fmt.Sprintf("something broke in %d of %d runs so far; what was expected is among them", t.broke, j.Done)
	}
	return j
}
