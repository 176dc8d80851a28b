package main

import (
	"context"
	"os"
	"os/signal"
	"time"

	"github.com/picklock/picklock/internal/proc"
)

// The first signal interrupts: what can be cut short comes to an end that can be
// judged, and everything else ends. The second abandons: nothing is judged, and what
// was started is taken down. A process that still runs after that is killed.

// abandonWithin is how long everything may take to be taken down.
const abandonWithin = 15 * time.Second

type abandonKey struct{}

// withSignals returns a context that ends with the first signal.
func withSignals(parent context.Context) (context.Context, context.CancelFunc) {
	abandoned, abandon := context.WithCancel(parent)
	ctx, interrupt := context.WithCancel(context.WithValue(abandoned, abandonKey{}, abandoned))
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, proc.Interrupts()...)
	go func() {
		for n := 1; ; n++ {
			select {
			case <-signals:
			case <-parent.Done():
				return
			}
			switch n {
			case 1:
				interrupt()
			case 2:
				abandon()
				time.AfterFunc(abandonWithin, func() { os.Exit(exitFailed) })
			default:
				os.Exit(exitFailed)
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); abandon() }
}

// untilAbandoned is the context that ends with the second signal only, for what can be
// cut short by the first.
func untilAbandoned(ctx context.Context) context.Context {
	if c, ok := ctx.Value(abandonKey{}).(context.Context); ok {
		return c
	}
	return ctx
}
