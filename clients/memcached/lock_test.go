package memcached

import (
	"log/slog"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
)

// memcached counts whole ticks of a second: a key that is to live for one second may be gone at once, and one that is to
// live for two lives for the lease.
func TestExpiry(t *testing.T) {
	t.Parallel()
	const ttl = time.Second
	for expiry, keeps := range map[string]bool{"rounded": true, "exact": false} {
		t.Run(expiry, func(t *testing.T) {
			t.Parallel()
			ctx := contract.Within(t, time.Minute)
			o := clients.Options{Servers: contract.Addrs(startServer(t)), Client: "a", TTL: ttl, Log: slog.New(slog.DiscardHandler), Extra: map[string]string{"expiry": expiry}}
			l, err := open(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			early := 0
			for range 5 {
				if _, err := l.Acquire(ctx, "k"); err != nil {
					t.Fatal(err)
				}
				granted := time.Now()
				for n := 1; n > 0; time.Sleep(5 * time.Millisecond) {
					if n, err = look(ctx, o, "k"); err != nil {
						t.Fatal(err)
					}
				}
				if time.Since(granted) < ttl {
					early++
				}
			}
			if (early == 0) != keeps {
				t.Errorf("%d of 5 leases of %v ended early", early, ttl)
			}
		})
	}
}
