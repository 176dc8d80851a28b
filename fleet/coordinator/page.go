package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/status"
	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/internal/format"
)

const (
	// pageEvery is how often the page is written at most.
	pageEvery = 3 * time.Second
	// pageAtLeast is how often it is written if nothing changed: its readers see that the
	// coordinator is alive.
	pageAtLeast = 20 * time.Second
	// pageAsks is how long the queue may take to answer for one page.
	pageAsks = 5 * time.Second
)

// page is campaign.html while the campaign runs.
type page struct {
	k       *coordinator
	workers []fleet.Worker
	found   map[int][]hunt.Signature // by job
	last    []byte                   // without the time of writing
	at      time.Time
}

// keepPage writes the page now, and again as results come in, until stop is called or ctx ends.
func (k *coordinator) keepPage(ctx context.Context) (stop func(), err error) {
	if k.o.Dir == "" {
		return func() {}, nil
	}
	p := &page{k: k, found: map[int][]hunt.Signature{}}
	if err := p.write(ctx, status.Running); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(pageEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = p.write(ctx, status.Running) // the last page says if the folder cannot be written
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
		if !k.ended() {
			_ = p.write(ctx, status.Stopped) // the caller reports why it ended
		}
	}, nil
}

// write writes the page if it would say something new.
func (p *page) write(ctx context.Context, state string) error {
	s := p.status(ctx)
	s.State = state
	text, err := s.Page(p.k.about.Started)
	if err != nil {
		return err
	}
	if bytes.Equal(text, p.last) && time.Since(p.at) < pageAtLeast {
		return nil
	}
	p.last, p.at = text, time.Now()
	return s.WritePage(p.k.o.Dir)
}

// status is the campaign now. What the queue does not answer in time is taken from the last page.
func (p *page) status(ctx context.Context) *status.Status {
	ctx, cancel := context.WithTimeout(ctx, pageAsks)
	defer cancel()
	k := p.k
	s := &status.Status{ID: k.o.ID, Name: k.o.Name, Version: k.about.Version, Started: k.about.Started}
	answered := func(err error) bool {
		if err != nil && ctx.Err() == nil {
			s.Problems = append(s.Problems, strings.Split(err.Error(), "\n")...)
		}
		return err == nil || errors.Is(err, stream.ErrUnreadable)
	}
	if workers, err := k.o.Queue.Workers(ctx); answered(err) {
		p.workers = workers
	}
	s.Workers = p.workers
	waiting, err := k.o.Queue.Waiting(ctx)
	answered(err)
	for _, j := range k.now() {
		if j.Job.Hunt != nil {
			if found, err := k.c.Counterexamples(ctx, j.Job.Number); answered(err) {
				p.found[j.Job.Number] = found
			}
			j.Found = p.found[j.Job.Number]
		}
		for _, w := range waiting {
			if w.Campaign == k.o.ID && w.Job == j.Job.Number {
				j.Running = w.On
			}
		}
		s.Add(j)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		s.Problems = append(s.Problems, "the queue does not answer: workers and counterexamples are those of an earlier page")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(k.foreign); n > 0 {
		s.Problems = append(s.Problems, fmt.Sprintf("%d %s of no item of this campaign, ignored", n, format.Noun(n, "result", "results")))
	}
	return s
}

// now is the progress of all jobs.
func (k *coordinator) now() []status.Progress {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []status.Progress
	for _, s := range k.jobs {
		out = append(out, status.Progress{Job: s.job, Items: len(s.sent), Results: slices.Collect(maps.Values(s.done))})
	}
	return out
}
