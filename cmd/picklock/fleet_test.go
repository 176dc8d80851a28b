package main

import (
	"context"
	"testing"
	"time"
)

// TestEndedBefore: a command that the user ends while there is no queue yet ends at once, and has
// not failed.
func TestEndedBefore(t *testing.T) {
	queue := queueFlags{url: "nats://127.0.0.1:1", wait: time.Hour}
	for name, run := range map[string]func(context.Context) error{
		"worker": func(ctx context.Context) error { f := fleetWorkerFlags{queue: queue}; return f.run(ctx) },
		"status": func(ctx context.Context) error {
			f := fleetStatusFlags{queue: queue}
			return f.run(ctx, t.Output(), nil)
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(300*time.Millisecond, cancel)
		began := time.Now()
		if err := run(ctx); err != nil || time.Since(began) > 10*time.Second {
			t.Errorf("%s: %v after %v", name, err, time.Since(began))
		}
	}
}
