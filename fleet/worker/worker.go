// Package worker runs items of campaigns: it takes them off a queue, runs them on real servers, and
// sends the results. It does only what its configuration allows, whatever the queue demands.
package worker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/harness"
)

// Options say what a worker may run, and where.
type Options struct {
	Queue     *stream.Queue
	Table     *clients.Table
	Name      string   // of the worker, unique on the queue
	Locks     []string // that it may run; nil: all of Table
	AllowExec bool     // programs, files, endpoints and images named by a campaign
	// AllowDocker allows campaigns with runtime: docker, on the images of picklock's own clusters
	// and on Images.
	AllowDocker bool
	Images      []string
	Jobs        int    // testbeds of a hunt, and cells at a time; 0: by the machine
	Self        string // path of the picklock program
	Dir         string // of the servers' logs and data
	Campaign    string // the only one to work on; "": any
	// Drain ends the worker when all campaigns have ended, or when the queue has ended with its
	// campaign. While a campaign is open, or none is there yet, the worker waits for items for as
	// long as Wait. If the queue is lost for longer than Wait, the worker fails.
	Drain bool
	Wait  time.Duration
	Say   func(text string)
}

// idle is the pause of a worker that has no job. takeWait may be long: while a worker waits for an
// item, the queue answers as soon as one comes.
const (
	idle           = time.Second
	takeWait       = 2 * time.Second
	heartbeatEvery = 5 * time.Second
)

type worker struct {
	o Options

	mu    sync.Mutex
	state fleet.Worker

	jobs    map[string]*job // by campaign and number
	hunting *hunting        // the hunt whose testbeds are up
}

// job is a job that the worker has seen.
type job struct {
	campaign *stream.Campaign
	job      fleet.Job
	refused  error // why this worker must not run it
	stopped  atomic.Bool
}

// Run takes and runs items until ctx ends, or with Drain until none waits. If ctx ends during an
// item, the item goes back to the queue.
func Run(ctx context.Context, o Options) error {
	if !o.Drain {
		return run(ctx, o)
	}
	draining, stop := o.Queue.While(ctx, o.Wait)
	defer stop()
	err := run(draining, o)
	switch cause := context.Cause(draining); {
	case ctx.Err() != nil || cause == nil:
		return err
	case errors.Is(cause, stream.ErrDismissed):
		return nil // what failed then asked a queue that had ended
	default:
		return errors.Join(cause, err)
	}
}

func run(ctx context.Context, o Options) (err error) {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	now := time.Now()
	w := &worker{o: o, jobs: map[string]*job{}, state: fleet.Worker{Name: o.Name, Version: harness.Version(), Since: now, Seen: now}}
	beating, stop := context.WithCancel(ctx)
	beaten := make(chan struct{})
	go func() {
		defer close(beaten)
		w.heartbeats(beating)
	}()
	defer func() { stop(); <-beaten }()
	defer func() { err = errors.Join(err, w.leave()) }()
	since := time.Now() // an item was there
	for ctx.Err() == nil {
		j, more, err := w.choose(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if j != nil {
			if err := w.work(ctx, j); err != nil {
				return err
			}
			since = time.Now()
			continue
		}
		if more {
			since = time.Now()
		} else if o.Drain {
			drained, err := w.drained(ctx)
			if drained || err != nil && ctx.Err() == nil {
				return err
			}
			if time.Since(since) > o.Wait {
				o.Say(fmt.Sprintf("no item came for %v: the worker ends, although a campaign may still be open or come later", o.Wait))
				return nil
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(idle):
		}
	}
	return nil
}

// drained reports whether all campaigns of the worker have ended. No campaign is no end: a
// coordinator opens its queue before it creates its campaign. Nor is an empty queue: between two
// steps of a campaign no item waits.
func (w *worker) drained(ctx context.Context) (bool, error) {
	campaigns, err := w.o.Queue.Campaigns(ctx)
	if err != nil {
		return false, err
	}
	seen := false
	for _, c := range campaigns {
		if w.o.Campaign != "" && c.ID != w.o.Campaign {
			continue
		}
		if !c.Ended {
			return false, nil
		}
		seen = true
	}
	return seen, nil
}

// choose is the job to work on next. While items of the job whose testbeds are up wait, it is that
// one. Else it is the job with the most waiting items per worker. Else it is a job that other
// workers run, since one of them may return an item. more says that items wait or run, so that
// more items may follow.
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

// job reads a job once, and checks whether this worker may run it.
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
		w.trouble(fmt.Sprintf("%s of %s is refused: %v", j.job.Name, campaign, j.refused))
	}
	w.jobs[key] = j
	return j, nil
}

// version refuses campaigns that another version planned: the numbers of schedules differ between
// versions.
func (w *worker) version(ctx context.Context, campaign string) error {
	about, there, err := w.o.Queue.About(ctx, campaign)
	if err != nil {
		return err
	}
	if there && about.Version != harness.Version() {
		return fmt.Errorf("picklock %s planned it, and this is %s: use one version on all machines", about.Version, harness.Version())
	}
	return nil
}

// work runs items of a job until none waits.
func (w *worker) work(ctx context.Context, j *job) error {
	t, err := w.take(ctx, j)
	if t == nil || err != nil {
		return err
	}
	if j.job.Hunt != nil {
		return w.items(ctx, j, t, nil)
	}
	if err := w.leave(); err != nil { // a matrix needs the whole machine
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
		x := harness.NewRemoteExecutor(harness.RemoteOptions{Self: w.o.Self, Runtime: j.job.Runtime, Dir: filepath.Join(w.o.Dir, fmt.Sprintf("%s-%d-%d", j.campaign.ID, j.job.Number, i+1))})
		go func() { over <- errors.Join(w.items(ctx, j, first, x), x.Close()) }()
	}
	var all error
	for range n {
		all = errors.Join(all, <-over)
	}
	return all
}

// items runs items of a job, one after the other, until none waits. The first one is t, unless t is
// nil. Cells run on x.
func (w *worker) items(ctx context.Context, j *job, t *stream.Taken, x *harness.RemoteExecutor) (err error) {
	for {
		if t == nil {
			if t, err = w.take(ctx, j); t == nil || err != nil {
				return err
			}
		}
		if err := w.item(ctx, j, t, x); err != nil {
			return err
		}
		t = nil
	}
}

// take takes an item; nil if there is none, or if ctx has ended.
func (w *worker) take(ctx context.Context, j *job) (*stream.Taken, error) {
	t, err := j.campaign.Take(ctx, j.job.Number, takeWait)
	for ; ctx.Err() == nil && errors.Is(err, stream.ErrUnreadable); t, err = j.campaign.Take(ctx, j.job.Number, takeWait) {
		w.trouble(err.Error())
	}
	if ctx.Err() == nil {
		return t, err
	}
	if t != nil {
		return nil, t.Return()
	}
	return nil, nil
}

// item runs one item: then it is done, returned, or dead-lettered.
func (w *worker) item(ctx context.Context, j *job, t *stream.Taken, x *harness.RemoteExecutor) error {
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
	attempted, err := t.Attempted(ctx)
	if err != nil {
		return w.unlessOver(ctx, t, err)
	}
	err = t.Item.Check(j.job)
	if err != nil || attempted >= stream.Attempts {
		if r.DeadLetter = fmt.Sprint(err); err == nil {
			if r.DeadLetter, err = t.Failures(ctx); err != nil {
				return w.unlessOver(ctx, t, err)
			}
		}
		w.o.Say(fmt.Sprintf("item %s is dead-lettered: %s", t.Item.ID(), r.DeadLetter))
		return w.unlessOver(ctx, t, t.Done(ctx, r, nil))
	}
	w.doing(t.Item.ID(), j.job.Name)
	p, err := w.do(ctx, j, t.Item, x, &r)
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

// unlessOver returns the item if ctx has ended: the error follows from that.
func (w *worker) unlessOver(ctx context.Context, t *stream.Taken, err error) error {
	if err != nil && ctx.Err() != nil {
		return t.Return()
	}
	return err
}

// do runs an item.
func (w *worker) do(ctx context.Context, j *job, i fleet.Item, x *harness.RemoteExecutor, r *fleet.Result) (*fleet.Payload, error) {
	switch i.Kind {
	case fleet.Slice, fleet.Guided:
		return w.search(ctx, j, i, r)
	case fleet.Finish:
		return w.finish(ctx, j, i, r)
	case fleet.Measure:
		return w.measure(ctx, j, i, r)
	}
	return w.cell(ctx, j, i, x, r)
}

// leave ends the testbeds that are up.
func (w *worker) leave() error {
	h := w.hunting
	w.hunting = nil
	return h.close()
}
