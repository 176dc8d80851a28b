package testbeds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/scenarios"
)

// testbed is one testbed's process, started again when it ends.
type testbed struct {
	self, log string
	config    harness.TestbedConfig

	// clients are all that schedules may have: one with a client that config has not is run on the larger testbed.
	clients        []string
	besideOfLarger int // runs side by side there at most; 0: one

	starting sync.Mutex // orders starts

	mu       sync.Mutex
	remote   *harness.RemoteTestbed
	before   int               // starts of processes that have ended
	versions map[string]string // of picklock, the library and the servers; nil before the first run
	larger   aside
	varied   map[string]*aside // by the options of the lock
}

func (l *testbed) start(ctx context.Context) error {
	_, err := l.started(ctx)
	return err
}

// started is the process, which it starts if there is none.
func (l *testbed) started(ctx context.Context) (*harness.RemoteTestbed, error) {
	l.starting.Lock()
	defer l.starting.Unlock()
	l.mu.Lock()
	r := l.remote
	l.mu.Unlock()
	if r != nil {
		return r, nil
	}
	r, err := harness.StartTestbed(ctx, l.self, l.log, l.config)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remote = r
	return r, nil
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
				within += 2*bound + 8*ttl
			}
		}
	}
	for _, st := range s.TriggeredFaults {
		within += st.Until.Or.Of(ttl) + bound
	}
	return within
}

// Run implements hunt.Runner. A schedule whose lease the lock does not keep is discarded.
func (l *testbed) Run(ctx context.Context, s *scenarios.Scenario) (*hunt.Outcome, error) {
	if extra := l.otherOptions(s); extra != nil {
		return l.runWithOptions(ctx, s, extra)
	}
	if l.needsMore(s) {
		return l.runOnLarger(ctx, s)
	}
	r, err := l.started(ctx)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, l.runWithin(s))
	defer cancel()
	p, err := r.Run(bounded, s)
	switch {
	case err == nil:
	case ctx.Err() == nil && r.Ended():
		return nil, errors.Join(err, l.close())
	case ctx.Err() == nil && s.TTL > 0 && s.TTL != l.config.Settings.TTL:
		return &hunt.Outcome{Discarded: fmt.Sprintf("with a lease of %v: %v", s.TTL, err), Unsupported: true}, nil
	case errors.Is(err, harness.ErrUsage):
		return nil, fmt.Errorf("%w: %w", hunt.ErrUnusable, err)
	default:
		return nil, err
	}
	l.mu.Lock()
	l.versions = p.Run.Versions
	l.mu.Unlock()
	return &hunt.Outcome{Verdict: p.Verdict, Events: p.Events, Counts: p.Counts, Discarded: p.Discarded, Instead: p.Instead, FailedFault: p.FailedFault, Unsupported: p.Unsupported, Cannot: p.Cannot, Busy: p.Busy, Lease: p.Run.Lease, Took: p.Took, Setup: p.Setup,
		Reentrant: p.Run.Kind == clients.Reentrant, Shared: p.Run.Kind == clients.ReadWrite, Downgrades: p.Run.Downgrades, Cancels: p.Run.Cancels, Several: p.Run.Several, Mixed: clients.Info{OwnLeases: p.Run.OwnLeases}.MixedOf(hunt.FirstClient, l.config.Extra), Permits: p.Run.Permits}, nil
}

func (l *testbed) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.before
	for _, t := range l.aside() {
		n += t.count()
	}
	if l.remote != nil {
		n += l.remote.Starts()
	}
	return n
}

func (l *testbed) close() error {
	l.mu.Lock()
	r, aside := l.remote, l.aside()
	l.remote = nil
	l.mu.Unlock()
	var err error
	for _, t := range aside {
		err = errors.Join(err, t.close())
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
