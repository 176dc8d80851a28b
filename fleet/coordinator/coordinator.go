// Package coordinator runs a campaign to its end: it sends the items, collects their results, sends
// the items that follow from them, and writes the report. It runs no item itself. Its state is on
// the queue, so that it can end at any time and start again.
package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/harness"
)

// Options name the campaign.
type Options struct {
	Queue      *stream.Queue
	ID         string // of the campaign on the queue
	Name       string
	Jobs       []fleet.Job
	OnProgress func(Progress) // called after every result; may be nil
	// Dir is the folder in which the campaign's page is kept current; "" for none. It must exist.
	Dir string
}

// Progress is the progress of a campaign.
type Progress struct {
	Jobs                      []JobProgress
	Items, Done, DeadLettered int
	Runs, Found               int
	Foreign                   int // results of no item of this campaign, which are ignored
	Elapsed                   time.Duration
}

// JobProgress is the progress of a job.
type JobProgress struct {
	Name                             string
	Items, Done, DeadLettered, Found int
	Runs                             int
	Finishing, Ended                 bool
}

// state is a job that runs.
type state struct {
	job     fleet.Job
	sent    map[string]bool // items
	done    map[string]fleet.Result
	guided  bool // its items are sent, or there are none
	stopped bool
	finish  bool // its item is sent
	measure bool // its items are sent, or there are none
	late    bool // the time for counterexamples is over
	ended   bool
}

type coordinator struct {
	o     Options
	c     *stream.Campaign
	about stream.About
	jobs  []*state
	began time.Time

	mu      sync.Mutex      // guards jobs and foreign, which keepPage reads while add writes
	foreign map[string]bool // results of items that the campaign does not have
}

var errAllDone = errors.New("all is done")

// Run runs the campaign to its end. The campaign stays on the queue with its results.
func Run(ctx context.Context, o Options) (*Outcome, error) {
	k := &coordinator{o: o, began: time.Now(), foreign: map[string]bool{}}
	k.about = stream.About{ID: o.ID, Name: o.Name, Version: harness.Version(), Started: k.began, Jobs: len(o.Jobs)}
	before, there, err := o.Queue.About(ctx, o.ID)
	if err != nil {
		return nil, err
	}
	if there {
		k.about = before
	}
	if k.c, err = o.Queue.Create(ctx, k.about, o.Jobs); err != nil {
		return nil, err
	}
	for _, j := range o.Jobs {
		s := &state{job: j, sent: map[string]bool{}, done: map[string]fleet.Result{}}
		k.jobs = append(k.jobs, s)
		if err := k.send(ctx, s, "items", j.Items()); err != nil {
			return nil, err
		}
	}
	stop, err := k.keepPage(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	k.progress()
	if !k.ended() {
		err = k.c.Results(ctx, func(r fleet.Result) error { return k.add(ctx, r) })
	}
	if err != nil && !errors.Is(err, errAllDone) {
		return nil, err
	}
	out, err := k.outcome(ctx)
	if err != nil {
		return nil, err
	}
	if err := k.c.Report(ctx, out.Report); err != nil {
		return nil, err
	}
	return out, k.c.End(ctx, k.about)
}

// send puts items of a job onto the queue, once. A mark on the queue keeps a coordinator that is
// started again from sending them twice.
func (k *coordinator) send(ctx context.Context, s *state, what string, items []fleet.Item) error {
	for _, i := range items {
		s.sent[i.ID()] = true
	}
	mark := fmt.Sprintf("sent.%d.%s", s.job.Number, what)
	sent, err := k.c.Marked(ctx, mark)
	if err != nil || sent {
		return err
	}
	if err := k.c.Send(ctx, items); err != nil {
		return err
	}
	return k.c.Mark(ctx, mark)
}

// add takes a result, and sends the items that follow from it.
func (k *coordinator) add(ctx context.Context, r fleet.Result) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.jobs, func(s *state) bool { return s.sent[r.Item] })
	if i < 0 {
		k.foreign[r.Item] = true // anybody may have written it
		return nil
	}
	s := k.jobs[i]
	if _, twice := s.done[r.Item]; twice {
		return nil
	}
	s.done[r.Item] = r
	if err := k.follow(ctx, s); err != nil {
		return err
	}
	k.progress()
	if k.ended() {
		return errAllDone
	}
	return nil
}

// follow sends the items that follow from the results of a job.
func (k *coordinator) follow(ctx context.Context, s *state) error {
	h := s.job.Hunt
	if h != nil && h.Time > 0 && !s.stopped && s.worked() > h.Time {
		s.stopped = true
		if err := k.c.Stop(ctx, s.job.Number); err != nil {
			return err
		}
	}
	if h != nil && s.measure && !s.late && s.spent() > h.Finish {
		s.late = true
		if err := k.c.Mark(ctx, fleet.MeasuredMark(s.job.Number)); err != nil {
			return err
		}
	}
	if len(s.done) < len(s.sent) {
		return nil
	}
	switch {
	case h == nil:
		s.ended = true
	case !s.guided:
		s.guided = true
		if items := s.guidedItems(); len(items) > 0 && !s.stopped {
			return k.send(ctx, s, "guided", items)
		}
		return k.follow(ctx, s)
	case !s.finish:
		s.finish = true
		for id := range s.done {
			if _, err := k.payload(ctx, s, id, isPortion); err != nil {
				return err
			}
		}
		if objects := s.objects(); len(objects) > 0 {
			return k.send(ctx, s, "finish", []fleet.Item{{Job: s.job.Number, Kind: fleet.Finish, Objects: objects}})
		}
		s.ended = true
	case !s.measure:
		s.measure = true
		items, err := k.measureItems(ctx, s)
		if err != nil {
			return err
		}
		if len(items) > 0 {
			return k.send(ctx, s, "measure", items)
		}
		s.ended = true
	default:
		s.ended = true
	}
	return nil
}

// measureItems are one item for each counterexample, so that all workers share the replays.
func (k *coordinator) measureItems(ctx context.Context, s *state) ([]fleet.Item, error) {
	p, err := k.payload(ctx, s, finishOf(s), isHunt)
	if p == nil || err != nil {
		return nil, err // it is dead-lettered
	}
	r := s.done[finishOf(s)]
	var out []fleet.Item
	for i := range p.Finds {
		out = append(out, fleet.Item{Job: s.job.Number, Kind: fleet.Measure, Number: i, Objects: []string{r.Object}})
	}
	return out, nil
}

func finishOf(s *state) string { return fleet.Item{Job: s.job.Number, Kind: fleet.Finish}.ID() }

// spent is the time that all workers together have spent on counterexamples.
func (s *state) spent() time.Duration {
	sum := 0.0
	for id, r := range s.done {
		if kind := fleet.KindOf(id); kind == fleet.Finish || kind == fleet.Measure {
			sum += r.Seconds
		}
	}
	return time.Duration(sum * float64(time.Second))
}

// worked is the time that all workers together have spent on the job.
func (s *state) worked() time.Duration {
	sum := 0.0
	for _, r := range s.done {
		sum += r.Seconds
	}
	return time.Duration(sum * float64(time.Second))
}

// guidedItem is the time of one item of a guided search. Workers share their findings during an
// item, so that it need not be short.
const guidedItem = 30 * time.Second

// guidedItems fill the time that the schedules left.
func (s *state) guidedItems() []fleet.Item {
	var out []fleet.Item
	for left := s.job.Hunt.Time - s.worked(); left > 0; left -= guidedItem {
		out = append(out, fleet.Item{Job: s.job.Number, Kind: fleet.Guided, Number: len(out), Time: max(time.Second, min(left, guidedItem))})
	}
	return out
}

// objects are the portions of a hunt, in an order that does not depend on the workers' speed.
func (s *state) objects() []string {
	var out []string
	for _, r := range s.done {
		if r.Object != "" {
			out = append(out, r.Object)
		}
	}
	slices.Sort(out)
	return out
}

func (k *coordinator) ended() bool {
	return !slices.ContainsFunc(k.jobs, func(s *state) bool { return !s.ended })
}

func (k *coordinator) progress() {
	if k.o.OnProgress == nil {
		return
	}
	p := Progress{Foreign: len(k.foreign), Elapsed: time.Since(k.began)}
	for _, s := range k.jobs {
		j := JobProgress{Name: s.job.Name, Items: len(s.sent), Done: len(s.done), Finishing: s.finish && !s.ended, Ended: s.ended}
		for id, r := range s.done {
			j.Runs += r.Runs
			if r.DeadLetter != "" {
				j.DeadLettered++
			}
			if kind := fleet.KindOf(id); kind != fleet.Finish && kind != fleet.Measure {
				j.Found += r.Found
			}
		}
		p.Jobs = append(p.Jobs, j)
		p.Items, p.Done, p.DeadLettered = p.Items+j.Items, p.Done+j.Done, p.DeadLettered+j.DeadLettered
		p.Runs, p.Found = p.Runs+j.Runs, p.Found+j.Found
	}
	k.o.OnProgress(p)
}
