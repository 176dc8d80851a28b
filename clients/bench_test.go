package clients

import (
	"context"
	"testing"
	"time"
)

// BenchmarkHandOver measures a grant and its release, alone and with a second
// client that always waits.
func BenchmarkHandOver(b *testing.B) {
	for _, u := range underTests {
		b.Run(u.name, func(b *testing.B) {
			servers := u.start(b)
			alone := open(b, u.name, "a", addrs(servers), u.ttl)
			run := func(b *testing.B, l Lock, ctx context.Context) {
				for b.Loop() {
					g, err := l.Acquire(ctx, "k")
					if err == nil {
						err = l.Release(ctx, g)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.Run("alone", func(b *testing.B) { run(b, alone, context.Background()) })
			b.Run("contended", func(b *testing.B) {
				other := open(b, u.name, "b", addrs(servers), u.ttl)
				ctx, cancel := context.WithCancel(context.Background())
				done := make(chan struct{})
				go func() {
					defer close(done)
					for ctx.Err() == nil {
						if g, err := other.Acquire(ctx, "k"); err == nil {
							other.Release(context.WithoutCancel(ctx), g)
						}
					}
				}()
				run(b, alone, context.Background())
				cancel()
				select {
				case <-done:
				case <-time.After(30 * time.Second):
					b.Fatal("the other client did not end")
				}
			})
		})
	}
}
