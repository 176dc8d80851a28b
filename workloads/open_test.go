package workloads

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
)

// A client that is started again waits for its service; one that starts first reports at once that
// there is none.
func TestOpenLock(t *testing.T) {
	down := errors.New("connection refused")
	for _, x := range []struct {
		name  string
		again bool
		fails int // how often opening fails
		tries int
		err   error
	}{
		{"a service that answers", false, 0, 1, nil},
		{"none at the start", false, 2, 1, down},
		{"none when it comes back", true, 2, 3, nil},
		{"none any more", true, 1 << 30, 0, down},
	} {
		t.Run(x.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tries := 0
			info := clients.Info{Name: "late", Open: func(context.Context, clients.Options) (clients.Lock, error) {
				tries++
				if tries <= x.fails {
					if tries == 4 {
						cancel() // as its time does
					}
					return nil, down
				}
				return nil, nil
			}}
			began := time.Now()
			_, err := openLock(ctx, info, clients.Options{}, nil, x.again)
			if !errors.Is(err, x.err) || x.tries > 0 && tries != x.tries {
				t.Errorf("%v after %d tries in %v, want %v after %d", err, tries, time.Since(began), x.err, x.tries)
			}
		})
	}
}
