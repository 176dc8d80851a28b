package hunt

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// A probe says how busy this machine is, and does not go on for long with a lock that no client gets.
func TestProbe(t *testing.T) {
	asked := history.Event{F: history.Acquire, Type: history.Invoke}
	got := []history.Event{asked, {F: history.Acquire, Type: history.OK}}
	none := []history.Event{asked, {F: history.Acquire, Type: history.Fail}}
	broken, unusable := errors.New("broken"), fmt.Errorf("%w: no server", ErrUnusable)
	for name, tt := range map[string]struct {
		run  func(ctx context.Context, n int64) (*Outcome, error)
		busy float64
		err  error
		runs int64 // of two runners
	}{
		"quiet":          {func(context.Context, int64) (*Outcome, error) { return &Outcome{Events: got}, nil }, 0, nil, 2 * probes},
		"always busy":    {func(context.Context, int64) (*Outcome, error) { return &Outcome{Busy: true, Events: got}, nil }, 1, nil, 2 * probes},
		"busy once":      {func(_ context.Context, n int64) (*Outcome, error) { return &Outcome{Busy: n == 4, Events: got}, nil }, 1 / 6., nil, 2 * probes},
		"nobody gets it": {func(context.Context, int64) (*Outcome, error) { return &Outcome{Events: none}, nil }, 0, nil, 2},
		"fails":          {func(context.Context, int64) (*Outcome, error) { return nil, broken }, 0, broken, 2 * probes},
		"unusable comes first": {func(_ context.Context, n int64) (*Outcome, error) {
			if n == 5 {
				return nil, unusable
			}
			return nil, broken
		}, 0, unusable, 2 * probes},
		"too slow": {func(ctx context.Context, _ int64) (*Outcome, error) { <-ctx.Done(); return nil, ctx.Err() }, 0, nil, 2},
	} {
		var runs atomic.Int64
		p := runnerFunc(func(ctx context.Context, _ *scenarios.Scenario) (*Outcome, error) { return tt.run(ctx, runs.Add(1)) })
		most := time.Minute
		if name == "too slow" {
			most = time.Millisecond
		}
		busy, err := target(1, 1).probe(t.Context(), []Runner{p, p}, most)
		if busy != tt.busy || !errors.Is(err, tt.err) || runs.Load() != tt.runs {
			t.Errorf("%s: busy %v, %v, %d runs", name, busy, err, runs.Load())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := runnerFunc(func(ctx context.Context, _ *scenarios.Scenario) (*Outcome, error) { return nil, ctx.Err() })
	if _, err := target(1, 1).Probe(ctx, []Runner{p}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
