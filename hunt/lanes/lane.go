package lanes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/scenarios"
)

// lane is one lane's process, started again when it ends.
type lane struct {
	self, log string
	config    harness.LaneConfig

	mu     sync.Mutex
	remote *harness.RemoteLane
	before int                     // starts of processes that have ended
	others map[time.Duration]*lane // of other leases, as they were needed
}

func (l *lane) start(ctx context.Context) error {
	r, err := harness.StartLane(ctx, l.self, l.log, l.config)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remote = r
	return nil
}

// playWithin is how long one play may take with all that it needs started anew.
const playWithin = 3 * time.Minute

// Play implements hunt.Player.
func (l *lane) Play(ctx context.Context, s *scenarios.Scenario) (*hunt.Outcome, error) {
	if s.TTL > 0 && s.TTL != l.config.Settings.TTL {
		return l.playWithLease(ctx, s)
	}
	l.mu.Lock()
	r := l.remote
	l.mu.Unlock()
	if r == nil {
		if err := l.start(ctx); err != nil {
			return nil, err
		}
		r = l.remote
	}
	bounded, cancel := context.WithTimeout(ctx, playWithin)
	defer cancel()
	p, err := r.Play(bounded, s)
	if errors.Is(err, harness.ErrUsage) {
		return nil, fmt.Errorf("%w: %w", hunt.ErrUnusable, err)
	}
	if err != nil {
		if ctx.Err() == nil && r.Ended() {
			return nil, errors.Join(err, l.close())
		}
		return nil, err
	}
	return &hunt.Outcome{Verdict: p.Verdict, Events: p.Events, Void: p.Void, VoidOf: p.VoidOf, Cannot: p.Cannot, Busy: p.Busy, Took: p.Took, Setup: p.Setup}, nil
}

// playWithLease plays on a lane like this one but for the lease, which servers and clients are
// started with. Where there can be none the schedule is void: the lock keeps no such lease.
func (l *lane) playWithLease(ctx context.Context, s *scenarios.Scenario) (*hunt.Outcome, error) {
	q, err := l.withLease(s.TTL)
	if err != nil {
		return nil, err
	}
	out, err := q.Play(ctx, s)
	if err != nil && ctx.Err() == nil {
		return &hunt.Outcome{Void: fmt.Sprintf("with a lease of %v: %v", s.TTL, err), Cannot: true}, nil
	}
	return out, err
}

func (l *lane) withLease(ttl time.Duration) (*lane, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.others[ttl]; q != nil {
		return q, nil
	}
	c := l.config
	c.Settings.TTL, c.Dir = ttl, filepath.Join(c.Dir, fmt.Sprintf("lease-%v", ttl))
	if c.Keys != "" {
		c.Keys += fmt.Sprintf("%v-", ttl)
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of a lane: %w", err)
	}
	if l.others == nil {
		l.others = map[time.Duration]*lane{}
	}
	l.others[ttl] = &lane{self: l.self, log: filepath.Join(c.Dir, "lane.log"), config: c}
	return l.others[ttl], nil
}

func (l *lane) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.before
	for _, q := range l.others {
		n += q.count()
	}
	if l.remote != nil {
		n += l.remote.Starts()
	}
	return n
}

func (l *lane) close() error {
	l.mu.Lock()
	r := l.remote
	l.remote = nil
	others := slices.Collect(maps.Values(l.others))
	l.mu.Unlock()
	var err error
	for _, q := range others {
		err = errors.Join(err, q.close())
	}
	if r == nil {
		return err
	}
	err = errors.Join(err, r.Close())
	l.mu.Lock()
	l.before += r.Starts()
	l.mu.Unlock()
	return err
}
