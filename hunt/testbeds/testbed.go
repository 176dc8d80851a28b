package testbeds

import (
	"cmp"
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
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/scenarios"
)

// testbed is one testbed's process, started again when it ends.
type testbed struct {
	self, log string
	config    harness.TestbedConfig

	mu       sync.Mutex
	remote   *harness.RemoteTestbed
	before   int                        // starts of processes that have ended
	others   map[time.Duration]*testbed // of other leases, as they were needed
	versions map[string]string          // of picklock, the library and the servers; nil before the first run
}

func (l *testbed) start(ctx context.Context) error {
	r, err := harness.StartTestbed(ctx, l.self, l.log, l.config)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remote = r
	return nil
}

// startWithin is how long all that a run needs may take to be started anew.
const startWithin = 3 * time.Minute

// runWithin is how long one run may take: what its clients and faults last in a row, and for each
// time that a client acquires the lock as long as a deadlock takes to be proved.
func (l *testbed) runWithin(s *scenarios.Scenario) time.Duration {
	ttl := cmp.Or(s.TTL, l.config.Settings.TTL)
	bound := cmp.Or(s.Bound, l.config.Bound, harness.DefaultBound(ttl))
	within := startWithin
	for _, p := range s.Programs {
		for _, m := range p {
			if within += m.Span.Of(ttl); m.Do == history.Acquire {
				within += 2*bound + 4*ttl
			}
		}
	}
	for _, st := range s.TriggeredFaults {
		within += st.Until.Or.Of(ttl) + bound
	}
	return within
}

// Run implements hunt.Runner.
func (l *testbed) Run(ctx context.Context, s *scenarios.Scenario) (*hunt.Outcome, error) {
	if s.TTL > 0 && s.TTL != l.config.Settings.TTL {
		return l.runWithLease(ctx, s)
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
	bounded, cancel := context.WithTimeout(ctx, l.runWithin(s))
	defer cancel()
	p, err := r.Run(bounded, s)
	if errors.Is(err, harness.ErrUsage) {
		return nil, fmt.Errorf("%w: %w", hunt.ErrUnusable, err)
	}
	if err != nil {
		if ctx.Err() == nil && r.Ended() {
			return nil, errors.Join(err, l.close())
		}
		return nil, err
	}
	l.mu.Lock()
	l.versions = p.Run.Versions
	l.mu.Unlock()
	return &hunt.Outcome{Verdict: p.Verdict, Events: p.Events, Discarded: p.Discarded, FailedFault: p.FailedFault, Unsupported: p.Unsupported, Busy: p.Busy, Took: p.Took, Setup: p.Setup}, nil
}

// runWithLease runs on a testbed like this one but for the lease, which servers and clients are
// started with. Where there can be none the schedule is discarded: the lock keeps no such lease.
func (l *testbed) runWithLease(ctx context.Context, s *scenarios.Scenario) (*hunt.Outcome, error) {
	q, err := l.withLease(s.TTL)
	if err != nil {
		return nil, err
	}
	out, err := q.Run(ctx, s)
	if err != nil && ctx.Err() == nil {
		return &hunt.Outcome{Discarded: fmt.Sprintf("with a lease of %v: %v", s.TTL, err), Unsupported: true}, nil
	}
	return out, err
}

func (l *testbed) withLease(ttl time.Duration) (*testbed, error) {
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
		return nil, fmt.Errorf("make the folder of a testbed: %w", err)
	}
	if l.others == nil {
		l.others = map[time.Duration]*testbed{}
	}
	l.others[ttl] = &testbed{self: l.self, log: filepath.Join(c.Dir, "testbed.log"), config: c}
	return l.others[ttl], nil
}

func (l *testbed) count() int {
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

func (l *testbed) close() error {
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
