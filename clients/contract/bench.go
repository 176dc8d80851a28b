package contract

import (
	"context"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
)

// HandOver measures a grant and its release, alone and with a second client that always
// waits.
func HandOver(b *testing.B, locks ...Options) {
	for _, u := range locks {
		if u.TTL == 0 {
			u.TTL = time.Second
		}
		b.Run(u.Lock.Name, func(b *testing.B) {
			servers := u.Start(b)
			alone := Open(b, u.Lock, "a", Addrs(servers), u.TTL)
			run := func(b *testing.B, l clients.Lock, ctx context.Context) {
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
				other := Open(b, u.Lock, "b", Addrs(servers), u.TTL)
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
