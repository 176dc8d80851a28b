package web

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
)

const (
	// askEvery is how often the queue is asked what there is.
	askEvery = 2 * time.Second
	// mostFollowed is how many campaigns of a queue are shown: the newest.
	mostFollowed = 100
)

// queue is what is known of the campaigns on a queue. Their results are followed as they come,
// so that what it costs to show them does not grow with how many there are.
type queue struct {
	q *stream.Queue

	most int // campaigns that are shown at most; mostFollowed but for tests

	mu        sync.Mutex
	following map[string]*following // by the campaign's ID
	workers   []Worker
	trouble   []string
}

// run asks and follows until ctx ends.
func (k *queue) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		trouble := k.ask(ctx, &wg)
		k.mu.Lock()
		k.trouble = trouble
		k.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ask asks once for all that there is. What cannot be read or reached is passed over and told.
func (k *queue) ask(ctx context.Context, wg *sync.WaitGroup) (trouble []string) {
	asked, cancel := context.WithTimeout(ctx, 10*askEvery)
	defer cancel()
	failed := func(what string, err error) bool {
		if err != nil {
			trouble = append(trouble, what+": "+err.Error())
		}
		return err != nil && !errors.Is(err, stream.ErrUnreadable)
	}
	all, err := k.q.Campaigns(asked)
	if failed("the queue", err) {
		return trouble
	}
	all = all[max(0, len(all)-k.most):]
	k.forget(all)
	waiting, err := k.q.Waiting(asked)
	if failed("the queue", err) {
		return trouble
	}
	workers, err := k.q.Workers(asked)
	if failed("the queue's workers", err) {
		return trouble
	}
	k.tell(workers)
	for _, about := range slices.Backward(all) { // the newest first: the time may not do for all
		if err := k.look(ctx, asked, about, waiting, wg); err != nil {
			failed("campaign "+about.ID, err)
		}
	}
	return trouble
}

// look brings up to date what is known of a campaign.
func (k *queue) look(ctx, asked context.Context, about stream.About, waiting []stream.Waiting, wg *sync.WaitGroup) error {
	asked, cancel := context.WithTimeout(asked, askEvery)
	defer cancel()
	f, err := k.open(asked, about)
	if err != nil {
		return err
	}
	if f.begin() {
		ctx, stop := context.WithCancel(ctx)
		f.stop = stop
		wg.Go(func() { defer stop(); f.follow(ctx) })
	}
	f.update(about, waiting)
	return errors.Join(f.askWays(asked), f.askReport(asked))
}

// forget no longer follows those that are not among the newest any more.
func (k *queue) forget(all []stream.About) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, f := range k.following {
		if !slices.ContainsFunc(all, func(a stream.About) bool { return a.ID == id }) {
			f.stop()
			delete(k.following, id)
		}
	}
}

func (k *queue) tell(workers []fleet.Worker) {
	out := make([]Worker, len(workers))
	for i, w := range workers {
		out[i].Worker = w
		if w.Busy > 0 {
			out[i].Rate = float64(w.Plays) / w.Busy
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.workers = out
}

// open reaches a campaign, if that was not done before.
func (k *queue) open(ctx context.Context, about stream.About) (*following, error) {
	k.mu.Lock()
	f := k.following[about.ID]
	k.mu.Unlock()
	if f != nil {
		return f, nil
	}
	c, err := k.q.Open(ctx, about.ID)
	if err != nil {
		return nil, err
	}
	jobs, err := c.Jobs(ctx)
	if err != nil { // one that cannot be read, too: what it would do is not known
		return nil, err
	}
	f = &following{c: c, about: about, stop: func() {}, foreign: map[string]bool{}}
	for _, j := range jobs {
		f.jobs = append(f.jobs, tally{job: j, done: map[string]bool{}, workers: map[string]bool{}})
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.following[about.ID] = f
	return f, nil
}

// state is what is known now.
func (k *queue) state() ([]Campaign, []Worker, []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	trouble := slices.Clone(k.trouble)
	var out []Campaign
	for _, f := range k.following {
		c, problems := f.campaign()
		out, trouble = append(out, c), append(trouble, problems...)
	}
	slices.Sort(trouble)
	slices.SortFunc(out, func(a, b Campaign) int { return cmp.Compare(a.ID, b.ID) })
	return out, slices.Clone(k.workers), trouble
}
