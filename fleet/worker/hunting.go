package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/hunt/testbeds"
)

// hunting is a hunt whose testbeds are up. They stay up from one item to the next.
type hunting struct {
	job     *job
	pool    *testbeds.Pool
	runners []hunt.Runner
	target  hunt.Target
	gone    map[string]string // what earlier items learned
	gains   *stream.Gains
	found   *stream.Counterexamples
	restore func()
}

// of says that h belongs to a job. h may be nil.
func (h *hunting) of(j *job) bool { return h != nil && h.job == j }

func (h *hunting) close() error {
	if h == nil {
		return nil
	}
	h.gains.Close()
	h.found.Close()
	h.restore()
	return h.pool.Close()
}

// hunt starts a job's testbeds, unless they are up.
func (w *worker) hunt(ctx context.Context, j *job) (*hunting, error) {
	if w.hunting.of(j) {
		return w.hunting, nil
	}
	if err := w.leave(); err != nil {
		return nil, err
	}
	info, err := w.allowed(j.job.Lock)
	if err != nil {
		return nil, err
	}
	o := j.job.Testbeds(j.job.Runtime)
	o.Learn = testbeds.Nothing // the coordinator has numbered the schedules
	o.Self, o.Dir = w.o.Self, filepath.Join(w.o.Dir, fmt.Sprintf("%s-%d", j.campaign.ID, j.job.Number))
	target, err := o.Target(ctx, info)
	if err != nil {
		return nil, err
	}
	gains, err := j.campaign.Gains(ctx, j.job.Number, w.o.Name)
	if err != nil {
		return nil, err
	}
	found, err := j.campaign.FollowCounterexamples(ctx, j.job.Number)
	if err != nil {
		gains.Close()
		return nil, err
	}
	h := &hunting{job: j, gains: gains, found: found, gone: map[string]string{}, restore: images(j.job.Images)}
	n := w.o.Jobs
	if n == 0 {
		n, o.AsCarried = testbeds.Jobs(target), true
	}
	if h.pool, h.runners, h.target, err = o.Start(ctx, info, target, n, w.o.Say); err != nil {
		gains.Close()
		found.Close()
		h.restore()
		return nil, err
	}
	w.hunting = h
	return h, nil
}

// sliceWithin is how long a slice may take. Its portion says what it has not run.
const sliceWithin = time.Hour

// offered is how many schedules of a slice other workers get as seeds.
const offered = 20

// search runs a slice of the schedules, or a guided search.
func (w *worker) search(ctx context.Context, j *job, i fleet.Item, r *fleet.Result) (*fleet.Payload, error) {
	h, err := w.hunt(ctx, j)
	if err != nil {
		return nil, err
	}
	known, err := h.found.Known()
	if err != nil {
		return nil, err
	}
	var published error
	task := j.job.Hunt
	o := hunt.Options{
		Target: h.target, Strategy: hunt.Exhaustive, Depth: task.Depth, Part: hunt.Part{First: i.First, End: i.End}, Time: sliceWithin,
		Find: task.Find, IgnoreHazards: task.Beyond, Seed: task.Seed + uint64(i.Number), FoundElsewhere: known, Infeasible: h.gone,
		Tell: func(counterexample *hunt.Counterexample) {
			w.o.Say(fmt.Sprintf("%s: found %s (%d of %d runs)", j.job.Name, counterexample.Signature, counterexample.Search.Hits, counterexample.Search.Runs))
		},
	}
	if i.Kind == fleet.Guided {
		o.Strategy, o.Depth, o.Part, o.Time, o.CorpusSync = hunt.Guided, -1, hunt.Part{}, i.Time, h.gains
	}
	s := hunt.New(o)
	result, err := s.Run(ctx, h.runners)
	if err != nil {
		return nil, errors.Join(err, w.leave())
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if i.Kind == fleet.Slice {
		for _, g := range s.Best(offered) {
			h.gains.Publish(g)
		}
	}
	p := s.Portion()
	maps.Copy(h.gone, p.Infeasible)
	for _, counterexample := range p.Result.Counterexamples {
		if counterexample.Search.Hits > 1 { // it repeats, so that no other worker needs to confirm it
			h.found.Add(counterexample.Signature)
			published = errors.Join(published, j.campaign.AddCounterexample(ctx, j.job.Number, counterexample.Signature))
		}
	}
	r.Runs, r.Discarded, r.Found = result.Runs, result.Discarded, len(result.Counterexamples)
	return &fleet.Payload{Portion: &p}, published
}

// finish merges the portions and shrinks the counterexamples.
func (w *worker) finish(ctx context.Context, j *job, i fleet.Item, r *fleet.Result) (*fleet.Payload, error) {
	var portions []hunt.Portion
	for _, name := range i.Objects {
		p, err := j.campaign.Payload(ctx, name)
		if err != nil {
			return nil, err
		}
		if p.Portion == nil {
			return nil, fmt.Errorf("%s is not a portion of a hunt", name)
		}
		portions = append(portions, *p.Portion)
	}
	h, err := w.hunt(ctx, j)
	if err != nil {
		return nil, err
	}
	task := j.job.Hunt
	s := h.assemble(task, portions)
	s.Shrink(ctx, h.runners, hunt.FinishOptions{Time: task.Finish, Tell: w.o.Say})
	result := s.Result()
	result.Versions = h.pool.Versions()
	maps.Copy(result.Versions, j.job.Images)
	r.Found = len(result.Counterexamples)
	return &fleet.Payload{Hunt: result, Finds: s.Finds()}, nil
}

func (h *hunting) assemble(task *fleet.Hunt, portions []hunt.Portion) *hunt.Search {
	return hunt.Assemble(hunt.Options{Target: h.target, Strategy: hunt.Guided, Depth: task.Depth, Find: task.Find, IgnoreHazards: task.Beyond, Seed: task.Seed}, portions)
}

// measure replays one counterexample and tries mitigations on it.
func (w *worker) measure(ctx context.Context, j *job, i fleet.Item, r *fleet.Result) (*fleet.Payload, error) {
	p, err := j.campaign.Payload(ctx, i.Objects[0])
	if err != nil {
		return nil, err
	}
	if i.Number >= len(p.Finds) || p.Finds[i.Number].Counterexample == nil {
		return nil, fmt.Errorf("%s has no counterexample %d", i.Objects[0], i.Number)
	}
	h, err := w.hunt(ctx, j)
	if err != nil {
		return nil, err
	}
	info, err := w.allowed(j.job.Lock)
	if err != nil {
		return nil, err
	}
	s := h.assemble(j.job.Hunt, nil)
	s.Adopt(p.Finds[i.Number : i.Number+1])
	o := h.pool.Mitigations(info)
	o.Replays, o.Tell = j.job.Hunt.Replays, w.o.Say
	bounded, cancel := context.WithTimeout(ctx, j.job.Hunt.Finish/2)
	defer cancel()
	if err := s.Measure(bounded, h.runners, o); err != nil {
		return nil, err
	}
	r.Found = 1
	return &fleet.Payload{Finds: s.Finds()}, nil
}
