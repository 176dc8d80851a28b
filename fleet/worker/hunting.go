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
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/hunt/lanes"
)

// hunting is a hunt whose servers are up: they stay so from one item to the next.
type hunting struct {
	job     *job
	pool    *lanes.Pool
	players []hunt.Player
	target  hunt.Target
	gone    map[string]string // what the items before learned
	gains   *stream.Gains
	ways    *stream.Ways
	restore func()
}

// of says that it is of a job. h may be nil.
func (h *hunting) of(j *job) bool { return h != nil && h.job == j }

func (h *hunting) close() error {
	if h == nil {
		return nil
	}
	h.gains.Close()
	h.ways.Close()
	h.restore()
	return h.pool.Close()
}

// hunt brings a job's servers up, unless they are.
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
	o := j.job.Lanes(j.job.Runtime)
	o.Self, o.Dir = w.o.Self, filepath.Join(w.o.Dir, fmt.Sprintf("%s-%d", j.campaign.ID, j.job.Number))
	target, err := o.Target(ctx, info)
	if err != nil {
		return nil, err
	}
	gains, err := j.campaign.Gains(ctx, j.job.Number, w.o.Name)
	if err != nil {
		return nil, err
	}
	ways, err := j.campaign.FollowWays(ctx, j.job.Number)
	if err != nil {
		gains.Close()
		return nil, err
	}
	h := &hunting{job: j, gains: gains, ways: ways, gone: map[string]string{}, restore: images(j.job.Images)}
	n := w.o.Jobs
	if n == 0 {
		n = lanes.Jobs(target)
	}
	if h.pool, h.players, h.target, err = o.Start(ctx, info, target, n, w.o.Say); err != nil {
		gains.Close()
		ways.Close()
		h.restore()
		return nil, err
	}
	w.hunting = h
	return h, nil
}

// sliceWithin is how long a slice may take at most; what it did not come to is said by the
// portion.
const sliceWithin = time.Hour

// offered is how many schedules of a slice others may go on from.
const offered = 20

// search plays a slice of the space, or searches beyond it for some time.
func (w *worker) search(ctx context.Context, j *job, i fleet.Item, r *fleet.Result) (*fleet.Payload, error) {
	h, err := w.hunt(ctx, j)
	if err != nil {
		return nil, err
	}
	known, err := h.ways.Known()
	if err != nil {
		return nil, err
	}
	var told error
	task := j.job.Hunt
	o := hunt.Options{
		Target: h.target, Strategy: hunt.Exhaustive, Depth: task.Depth, Part: hunt.Part{First: i.First, End: i.End}, Time: sliceWithin,
		Find: task.Find, BeyondLeases: task.Beyond, Seed: task.Seed + uint64(i.Number), KnownWays: known, Gone: h.gone,
		Tell: func(way *hunt.Way) {
			w.o.Say(fmt.Sprintf("%s: found %s (%d of %d plays)", j.job.Name, way.Signature, way.Search.Hits, way.Search.Plays))
		},
	}
	if i.Kind == fleet.Guided {
		o.Strategy, o.Depth, o.Part, o.Time, o.Shared = hunt.Guided, -1, hunt.Part{}, i.Time, h.gains
	}
	s := hunt.New(o)
	result, err := s.Run(ctx, h.players)
	if err != nil {
		return nil, errors.Join(err, w.leave())
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if i.Kind == fleet.Slice {
		for _, g := range s.Best(offered) {
			h.gains.Offer(g)
		}
	}
	p := s.Portion()
	maps.Copy(h.gone, p.Gone)
	for _, way := range p.Result.Ways {
		if way.Search.Hits > 1 { // it repeats: nobody else need confirm it
			h.ways.Add(way.Signature)
			told = errors.Join(told, j.campaign.Found(ctx, j.job.Number, way.Signature))
		}
	}
	r.Plays, r.Void, r.Ways = result.Plays, result.Void, len(result.Ways)
	return &fleet.Payload{Portion: &p}, told
}

// finish puts the portions together and makes what was found small.
func (w *worker) finish(ctx context.Context, j *job, i fleet.Item, r *fleet.Result) (*fleet.Payload, error) {
	var portions []hunt.Portion
	for _, name := range i.Objects {
		p, err := j.campaign.Payload(ctx, name)
		if err != nil {
			return nil, err
		}
		if p.Portion == nil {
			return nil, fmt.Errorf("%s is no portion of a hunt", name)
		}
		portions = append(portions, *p.Portion)
	}
	h, err := w.hunt(ctx, j)
	if err != nil {
		return nil, err
	}
	task := j.job.Hunt
	s := h.assemble(task, portions)
	s.Shrink(ctx, h.players, hunt.FinishOptions{Time: task.Finish, Tell: w.o.Say})
	result := s.Result()
	result.Versions = map[string]string{"picklock": harness.Version()}
	maps.Copy(result.Versions, j.job.Images)
	r.Ways = len(result.Ways)
	return &fleet.Payload{Hunt: result, Finds: s.Finds()}, nil
}

func (h *hunting) assemble(task *fleet.Hunt, portions []hunt.Portion) *hunt.Search {
	return hunt.Assemble(hunt.Options{Target: h.target, Strategy: hunt.Guided, Depth: task.Depth, Find: task.Find, BeyondLeases: task.Beyond, Seed: task.Seed}, portions)
}

// measure plays one of the ways alone and tries what might help against it.
func (w *worker) measure(ctx context.Context, j *job, i fleet.Item, r *fleet.Result) (*fleet.Payload, error) {
	p, err := j.campaign.Payload(ctx, i.Objects[0])
	if err != nil {
		return nil, err
	}
	if i.Number >= len(p.Finds) || p.Finds[i.Number].Way == nil {
		return nil, fmt.Errorf("%s has no way %d", i.Objects[0], i.Number)
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
	o := h.pool.Remedies(info)
	o.Replays, o.Tell = j.job.Hunt.Plays, w.o.Say
	bounded, cancel := context.WithTimeout(ctx, j.job.Hunt.Finish/2)
	defer cancel()
	if err := s.Measure(bounded, h.players[0], o); err != nil {
		return nil, err
	}
	r.Ways = 1
	return &fleet.Payload{Finds: s.Finds()}, nil
}
