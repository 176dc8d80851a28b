// Package worker carries out items of campaigns: it asks a queue for work, plays it on real
// servers, and says what came of it. It does only what its own configuration allows, whatever
// the queue says.
package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/harness"
)

// Options says what a worker may do and where.
type Options struct {
	Queue     *stream.Queue
	Table     *clients.Table
	Name      string   // of the worker, told to all
	Locks     []string // that it may run; nil: all of the table
	AllowExec bool     // programs and files named by a campaign
	Jobs      int      // lanes of a hunt, and cells at a time; 0: by the machine
	Self      string   // path of the picklock program
	Dir       string   // servers' logs and data go below it
	Campaign  string   // only this one; "": any
	Drain     bool     // end when there is nothing more to do
	Say       func(text string)
}

// idle is how long a worker waits before it looks again whether there is work; asked for an
// item, the queue answers at once when one comes.
const (
	idle     = time.Second
	takeWait = 2 * time.Second
	tellWait = 5 * time.Second
)

type worker struct {
	o Options

	mu    sync.Mutex
	state fleet.Worker

	jobs    map[string]*job // by campaign and number
	hunting *hunting        // the hunt whose servers are up
}

// job is what is known of one that is being worked on.
type job struct {
	campaign *stream.Campaign
	job      fleet.Job
	refused  error // it is not to be done here
	stopped  atomic.Bool
}

// Run works until ctx ends, or with Drain until nothing more waits. An item that is under way
// when ctx ends goes back to the queue.
func Run(ctx context.Context, o Options) (err error) {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	now := time.Now()
	w := &worker{o: o, jobs: map[string]*job{}, state: fleet.Worker{Name: o.Name, Version: harness.Version(), Since: now, Seen: now}}
	if err := o.Queue.Prepare(ctx); err != nil {
		return err
	}
	telling, stop := context.WithCancel(ctx)
	told := make(chan struct{})
	go func() {
		defer close(told)
		w.tell(telling)
	}()
	defer func() { stop(); <-told }()
	defer func() { err = errors.Join(err, w.leave()) }()
	for ctx.Err() == nil {
		j, more, err := w.choose(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if j != nil {
			if err := w.work(ctx, j); err != nil {
				return err
			}
			continue
		}
		if o.Drain && !more {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(idle):
		}
	}
	return nil
}

// choose is the job to work on next: the one whose servers are up as long as something of it
// waits, else the one that most waits of for each who works on it, else one that others work
// on: what one of them gives back, or does not live to end, is there to be taken. more says
// that something is being done, of which more may come.
func (w *worker) choose(ctx context.Context) (_ *job, more bool, err error) {
	waiting, err := w.o.Queue.Waiting(ctx)
	if err != nil {
		return nil, true, err
	}
	var best *job
	most := -1.0
	for _, l := range waiting {
		if w.o.Campaign != "" && l.Campaign != w.o.Campaign {
			continue
		}
		if l.On+l.Waits == 0 {
			continue
		}
		more = true
		j, err := w.job(ctx, l.Campaign, l.Job)
		if err != nil {
			return nil, true, err
		}
		if j.refused != nil {
			continue
		}
		if l.Waits > 0 && w.hunting.of(j) {
			return j, true, nil
		}
		if share := float64(l.Waits) / float64(1+l.On); share > most {
			best, most = j, share
		}
	}
	return best, more, nil
}

// job reads a job once, and looks whether it may be done here.
func (w *worker) job(ctx context.Context, campaign string, n int) (*job, error) {
	key := fmt.Sprintf("%s.%d", campaign, n)
	if j := w.jobs[key]; j != nil {
		return j, nil
	}
	j := &job{}
	var err error
	if j.campaign, err = w.o.Queue.Open(ctx, campaign); err == nil {
		j.job, err = j.campaign.Job(ctx, n)
	}
	if err == nil {
		err = w.check(ctx, campaign, j.job)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if j.refused = err; err != nil {
		if j.job.Name == "" {
			j.job.Name = fmt.Sprintf("job %d", n)
		}
		w.trouble(fmt.Sprintf("%s of %s is not done here: %v", j.job.Name, campaign, j.refused))
	}
	w.jobs[key] = j
	return j, nil
}

// version looks whether the campaign was planned by the same picklock: places in a space are
// the same in one version only.
func (w *worker) version(ctx context.Context, campaign string) error {
	about, there, err := w.o.Queue.About(ctx, campaign)
	if err != nil {
		return err
	}
	if there && about.Version != harness.Version() {
		return fmt.Errorf("it was planned by picklock %s, this is %s", about.Version, harness.Version())
	}
	return nil
}

// work does items of a job until none waits.
func (w *worker) work(ctx context.Context, j *job) error {
	t, err := w.take(ctx, j)
	if t == nil || err != nil {
		return err
	}
	if j.job.Hunt != nil {
		return w.hand(ctx, j, t)
	}
	if err := w.leave(); err != nil { // a matrix needs the machine
		return err
	}
	defer images(j.job.Images)()
	n := w.o.Jobs
	if n == 0 {
		n = 2 * runtime.NumCPU()
	}
	over := make(chan error, n)
	for i := range n {
		var first *stream.Taken
		if i == 0 {
			first = t
		}
		go func() { over <- w.hand(ctx, j, first) }()
	}
	var all error
	for range n {
		all = errors.Join(all, <-over)
	}
	return all
}

// hand does items of a job, one after the other, until none waits: first the one that it is
// given, if any.
func (w *worker) hand(ctx context.Context, j *job, t *stream.Taken) (err error) {
	for {
		if t == nil {
			if t, err = w.take(ctx, j); t == nil || err != nil {
				return err
			}
		}
		if err := w.item(ctx, j, t); err != nil {
			return err
		}
		t = nil
	}
}

// take asks for an item; nil where there is none, or ctx has ended.
func (w *worker) take(ctx context.Context, j *job) (*stream.Taken, error) {
	t, err := j.campaign.Take(ctx, j.job.Number, takeWait)
	if ctx.Err() == nil {
		return t, err
	}
	if t != nil {
		return nil, t.Return()
	}
	return nil, nil
}

// item does one item, whatever becomes of it.
func (w *worker) item(ctx context.Context, j *job, t *stream.Taken) error {
	stop := t.Keep()
	defer stop()
	if done, err := t.Finished(ctx); err != nil || done {
		return w.unlessOver(ctx, t, errors.Join(err, drop(ctx, t, done)))
	}
	r := fleet.Result{Worker: w.o.Name, Started: time.Now()}
	if !j.stopped.Load() {
		stopped, err := j.campaign.Stopped(ctx, j.job.Number)
		if err != nil {
			return w.unlessOver(ctx, t, err)
		}
		j.stopped.Store(stopped)
	}
	skipped := j.stopped.Load() && t.Item.Kind != fleet.Finish
	if t.Item.Kind == fleet.Measure {
		var err error
		if skipped, err = j.campaign.Marked(ctx, fleet.MeasuredMark(j.job.Number)); err != nil {
			return w.unlessOver(ctx, t, err)
		}
	}
	if skipped {
		r.Skipped = true
		return w.unlessOver(ctx, t, t.Done(ctx, r, nil))
	}
	err := t.Item.Check(j.job)
	if err != nil || t.Delivered > stream.Attempts {
		if r.Dead = fmt.Sprint(err); err == nil {
			if r.Dead, err = t.Failures(ctx); err != nil {
				return w.unlessOver(ctx, t, err)
			}
		}
		w.o.Say(fmt.Sprintf("item %s is laid aside: %s", t.Item.ID(), r.Dead))
		return w.unlessOver(ctx, t, t.Done(ctx, r, nil))
	}
	w.doing(t.Item.ID(), j.job.Name)
	p, err := w.do(ctx, j, t.Item, &r)
	r.Seconds = time.Since(r.Started).Seconds()
	w.did(r, err)
	if ctx.Err() != nil {
		return t.Return()
	}
	if err != nil {
		w.o.Say(fmt.Sprintf("item %s failed: %v", t.Item.ID(), err))
		return w.unlessOver(ctx, t, t.Failed(ctx, w.o.Name, err))
	}
	return w.unlessOver(ctx, t, t.Done(ctx, r, p))
}

func drop(ctx context.Context, t *stream.Taken, done bool) error {
	if !done {
		return nil
	}
	return t.Drop(ctx)
}

// unlessOver gives the item back where an error came of the end of ctx.
func (w *worker) unlessOver(ctx context.Context, t *stream.Taken, err error) error {
	if err != nil && ctx.Err() != nil {
		return t.Return()
	}
	return err
}

// do carries an item out.
func (w *worker) do(ctx context.Context, j *job, i fleet.Item, r *fleet.Result) (*fleet.Payload, error) {
	switch i.Kind {
	case fleet.Slice, fleet.Guided:
		return w.search(ctx, j, i, r)
	case fleet.Finish:
		return w.finish(ctx, j, i, r)
	case fleet.Measure:
		return w.measure(ctx, j, i, r)
	}
	return w.cell(ctx, j, i, r)
}

// leave takes down what is up.
func (w *worker) leave() error {
	h := w.hunting
	w.hunting = nil
	return h.close()
}
