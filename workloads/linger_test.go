package workloads

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
)

func drawn(seed uint64, reach float64) []float64 {
	c := &client{cfg: Config{Settings: Settings{Reach: reach}}, rng: rand.New(rand.NewPCG(seed, 0))}
	parts := make([]float64, 1600)
	for i := range parts {
		parts[i] = c.long()
	}
	return parts
}

func TestOneCriticalSectionInSixteenReachesIntoTheLeasesEnd(t *testing.T) {
	parts, again, long := drawn(7, Reach), drawn(7, Reach), 0
	for i, p := range parts {
		if p != again[i] {
			t.Fatalf("critical section %d is %v, and %v with the same seed", i, p, again[i])
		}
		if p == 0 {
			continue
		}
		if long++; p < 0.90-1e-9 || p > 0.97 {
			t.Errorf("a long critical section ends at %v of its lease, want 0.90 to 0.97", p)
		}
	}
	if long < 60 || long > 140 {
		t.Errorf("%d of 1600 critical sections are long, want about 100", long)
	}
	for _, p := range drawn(7, 0) {
		if p != 0 {
			t.Fatal("a long critical section although the user set their length")
		}
	}
}

func TestLinger(t *testing.T) {
	const ttl = 400 * time.Millisecond
	ended, end := context.WithCancel(t.Context())
	end()
	for name, x := range map[string]struct {
		grant    clients.Grant // its Since is from now
		granted  time.Duration // from now
		part     float64
		run      context.Context
		lost     bool
		min, max time.Duration
	}{
		"a lease":                  {grant: clients.Grant{Since: -1, Lease: 2 * ttl}, part: 0.5, min: ttl - time.Millisecond, max: 5 * ttl},
		"a lease half over":        {grant: clients.Grant{Since: -int64(ttl), Lease: 2 * ttl}, part: 0.75, min: ttl/2 - time.Millisecond, max: 3 * ttl},
		"no lease":                 {granted: -ttl / 2, part: 1, min: ttl/2 - time.Millisecond, max: 3 * ttl},
		"a lease that is over":     {grant: clients.Grant{Since: -int64(3 * ttl), Lease: 2 * ttl}, part: 0.9, max: ttl},
		"a short one":              {max: ttl},
		"the run ends":             {part: 100, run: ended, max: ttl},
		"the client learns of it":  {part: 100, lost: true, max: ttl},
		"the last part of a lease": {grant: clients.Grant{Since: -int64(ttl), Lease: ttl}, part: 0.9, max: ttl},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := history.Now()
			h := &holding{c: &client{cfg: Config{Settings: Settings{TTL: ttl}}}, grant: x.grant, granted: now + int64(x.granted), lost: make(chan struct{})}
			if h.grant.Lease > 0 {
				h.grant.Since += now
			}
			if x.lost {
				close(h.lost)
			}
			run := x.run
			if run == nil {
				run = t.Context()
			}
			h.linger(run, x.part)
			if took := time.Duration(history.Now() - now); took < x.min || took > x.max {
				t.Errorf("lingered for %v, want %v to %v", took, x.min, x.max)
			}
		})
	}
}

func TestAHoldWithoutALeaseBeginsWhereItIsKnownTo(t *testing.T) {
	c := &client{cfg: Config{Settings: Settings{TTL: time.Second}}}
	if at := c.grantedAt(10, 10+int64(20*time.Millisecond)); at != 10 {
		t.Errorf("answered at once, and counted from %d", at)
	}
	if at := c.grantedAt(10, 10+int64(200*time.Millisecond)); at != 10+int64(200*time.Millisecond) {
		t.Errorf("waited for, and counted from %d", at)
	}
}
