package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/fleet/stream/streamtest"
	"github.com/picklock/picklock/fleet/worker"
)

// TestDrain: a worker that drains ends with the campaign's queue if the coordinator says so, and
// fails if the queue is lost without a word. Neither waits for ever.
func TestDrain(t *testing.T) {
	const never = time.Hour
	for name, c := range map[string]struct {
		wait time.Duration
		end  func(ctx context.Context, s *stream.Server) error
		want error
	}{
		"dismissed": {never, func(ctx context.Context, s *stream.Server) error {
			err := s.Dismiss(ctx)
			s.Close()
			return err
		}, nil},
		"lost": {100 * time.Millisecond, func(_ context.Context, s *stream.Server) error {
			s.Close()
			return nil
		}, stream.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			s := streamtest.Serve(t)
			q, err := stream.Connect(t.Context(), stream.Options{URL: s.URL()})
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			campaign, err := q.Create(t.Context(), stream.About{ID: "c", Jobs: 1, Started: time.Now()}, []fleet.Job{{Number: 0}})
			if err == nil {
				// The version of no worker: the item stays on the queue, and the worker waits.
				err = campaign.Send(t.Context(), []fleet.Item{{Kind: fleet.Run}})
			}
			if err != nil {
				t.Fatal(err)
			}
			refused, over := make(chan struct{}, 1), make(chan error, 1)
			go func() {
				over <- worker.Run(t.Context(), worker.Options{
					Queue: q, Table: all.Locks(), Name: "w", Dir: t.TempDir(), Drain: true, Wait: c.wait,
					Say: func(string) { refused <- struct{}{} },
				})
			}()
			<-refused
			if err := c.end(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-over:
				if !errors.Is(err, c.want) {
					t.Errorf("it ends with %v, want %v", err, c.want)
				}
			case <-time.After(time.Minute):
				t.Fatal("it does not end")
			}
		})
	}
}

// TestDrainWaitsForTheCampaign: a worker that starts before the campaign, or finds no item between
// two of its steps, stays until the campaign has ended, or until it has waited long enough.
func TestDrainWaitsForTheCampaign(t *testing.T) {
	for name, c := range map[string]struct {
		wait time.Duration
		run  func(ctx context.Context, q *stream.Queue) error
	}{
		"the campaign ends": {time.Hour, func(ctx context.Context, q *stream.Queue) error {
			about := stream.About{ID: "c", Jobs: 1, Started: time.Now()}
			campaign, err := q.Create(ctx, about, []fleet.Job{{Number: 0}})
			if err != nil {
				return err
			}
			return campaign.End(ctx, about)
		}},
		"no campaign comes": {50 * time.Millisecond, func(context.Context, *stream.Queue) error { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			s := streamtest.Serve(t)
			q, err := stream.Connect(t.Context(), stream.Options{URL: s.URL()})
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			if err := q.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			over, says := make(chan error, 1), make(chan string, 1)
			go func() {
				over <- worker.Run(t.Context(), worker.Options{Queue: q, Table: all.Locks(), Name: "w", Dir: t.TempDir(), Drain: true, Wait: c.wait, Say: func(text string) { says <- text }})
			}()
			if c.wait == time.Hour {
				select {
				case err := <-over:
					t.Fatalf("it ends before there is a campaign: %v", err)
				case <-time.After(100 * time.Millisecond):
				}
			}
			if err := c.run(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-over:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("it does not end")
			}
			close(says)
			if text := <-says; (c.wait != time.Hour) != strings.Contains(text, "no item came for") {
				t.Errorf("it says %q", text)
			}
		})
	}
}
