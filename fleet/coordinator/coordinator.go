// Package coordinator leads a campaign to its end: it sends the items, follows what comes of
// them, sends what follows from that, and writes what it all came to. It plays nothing itself,
// and all that it knows is on the queue: it can be ended at any time and started again.
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

// Options says what to lead.
type Options struct {
	Queue *stream.Queue
	ID    string // of the campaign on the queue
	Name  string
	Jobs  []fleet.Job
	Tell  func(Progress) // called for every result; may be nil
	// Dir is the folder in which the campaign's page is kept current; "" for none. It must exist.
	Dir string
}

// Progress is how far a campaign is.
type Progress struct {
	Jobs              []JobProgress
	Items, Done, Dead int
	Plays, Ways       int
	Foreign           int // results of no item of this campaign: they are passed over
	Elapsed           time.Duration
}

// JobProgress is how far a job is.
type JobProgress struct {
	Name                    string
	Items, Done, Dead, Ways int
	Plays                   int
	Finishing, Ended        bool
}

// state is a job while it goes on.
type state struct {
	job     fleet.Job
	sent    map[string]bool // items
	done    map[string]fleet.Result
	guided  bool // sent, or not wanted
	stopped bool
	finish  bool // sent
	measure bool // sent, or there is nothing to measure
	late    bool // the time for what was found is over
	ended   bool
}

type coordinator struct {
	o     Options
	c     *stream.Campaign
	about stream.About
	jobs  []*state
	began time.Time

	mu      sync.Mutex      // guards jobs and foreign: page reads them beside took
	foreign map[string]bool // results of items that the campaign does not have
}

var errAllDone = errors.New("all is done")

// Run leads the campaign to its end. The campaign stays on the queue, ended, with what came of
// it.
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
	k.tell()
	if !k.ended() {
		err = k.c.Results(ctx, func(r fleet.Result) error { return k.took(ctx, r) })
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

// send puts items of a job onto the queue, once: a coordinator that is started again finds
// that they were sent.
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

// took takes a result, and sends what follows from it.
func (k *coordinator) took(ctx context.Context, r fleet.Result) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.jobs, func(s *state) bool { return s.sent[r.Item] })
	if i < 0 {
		k.foreign[r.Item] = true // whoever wrote it, nothing of it counts
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
	k.tell()
	if k.ended() {
		return errAllDone
	}
	return nil
}

// follow sends what follows from what a job has come to.
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

// measureItems are one for each way that the finish left, so that no worker is idle while one
// measures them all.
func (k *coordinator) measureItems(ctx context.Context, s *state) ([]fleet.Item, error) {
	r := s.done[finishOf(s)]
	if r.Object == "" {
		return nil, nil // nobody could do it
	}
	p, err := k.c.Payload(ctx, r.Object)
	if err != nil {
		return nil, err
	}
	var out []fleet.Item
	for i := range p.Finds {
		out = append(out, fleet.Item{Job: s.job.Number, Kind: fleet.Measure, Number: i, Objects: []string{r.Object}})
	}
	return out, nil
}

func finishOf(s *state) string { return fleet.Item{Job: s.job.Number, Kind: fleet.Finish}.ID() }

// spent is how long all workers together have worked on what was found.
func (s *state) spent() time.Duration {
	sum := 0.0
	for id, r := range s.done {
		if kind := fleet.KindOf(id); kind == fleet.Finish || kind == fleet.Measure {
			sum += r.Seconds
		}
	}
	return time.Duration(sum * float64(time.Second))
}

// worked is how long all workers together have searched.
func (s *state) worked() time.Duration {
	sum := 0.0
	for _, r := range s.done {
		sum += r.Seconds
	}
	return time.Duration(sum * float64(time.Second))
}

// guidedItem is how long one item of a guided search takes: what others gain meanwhile is seen
// at once, so it need not be short.
const guidedItem = 30 * time.Second

// guidedItems fill the time that the space left.
func (s *state) guidedItems() []fleet.Item {
	var out []fleet.Item
	for left := s.job.Hunt.Time - s.worked(); left > 0; left -= guidedItem {
		out = append(out, fleet.Item{Job: s.job.Number, Kind: fleet.Guided, Number: len(out), Time: max(time.Second, min(left, guidedItem))})
	}
	return out
}

// objects are the portions of a hunt, in an order that does not depend on who was first.
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

func (k *coordinator) tell() {
	if k.o.Tell == nil {
		return
	}
	p := Progress{Foreign: len(k.foreign), Elapsed: time.Since(k.began)}
	for _, s := range k.jobs {
		j := JobProgress{Name: s.job.Name, Items: len(s.sent), Done: len(s.done), Finishing: s.finish && !s.ended, Ended: s.ended}
		for id, r := range s.done {
			j.Plays += r.Plays
			if r.Dead != "" {
				j.Dead++
			}
			if kind := fleet.KindOf(id); kind != fleet.Finish && kind != fleet.Measure {
				j.Ways += r.Ways
			}
		}
		p.Jobs = append(p.Jobs, j)
		p.Items, p.Done, p.Dead = p.Items+j.Items, p.Done+j.Done, p.Dead+j.Dead
		p.Plays, p.Ways = p.Plays+j.Plays, p.Ways+j.Ways
	}
	k.o.Tell(p)
}
