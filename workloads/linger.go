package workloads

import (
	"context"
	"time"

	"github.com/picklock/picklock/history"
)

// Long sections: one in longOneIn holds on to its lock until the last part of its
// lease, whatever it had to do was done early. Of a lock whose key lives shorter than
// it promises, nothing is seen while every section ends in the lease's first tenth.
const (
	longOneIn = 16
	// Reach is the part of its lease at which a long section ends at the latest. It
	// leaves room for the release.
	Reach = 0.97
	// reachSpread is how much earlier one ends at the earliest.
	reachSpread = 0.07
)

// long draws the part of its lease that the client's next section holds on for; 0
// for a short section.
func (c *client) long() float64 {
	if c.cfg.Reach <= 0 || c.rng.IntN(longOneIn) != 0 {
		return 0
	}
	return c.cfg.Reach - reachSpread*c.rng.Float64()
}

// linger holds on until part of the lease is over since the grant, and no longer than
// the run or the grant lasts. It writes nothing: a write in a lease's last instants
// would come late on a busy machine, and no lock could help it.
func (h *holding) linger(run context.Context, part float64) {
	if part <= 0 {
		return
	}
	from, length := h.granted, h.c.cfg.TTL
	if h.grant.Lease > 0 {
		from, length = h.grant.Since, h.grant.Lease
	}
	t := time.NewTimer(time.Duration(from + int64(part*float64(length)) - history.Now()))
	defer t.Stop()
	select {
	case <-t.C:
	case <-h.lost:
	case <-run.Done():
	}
}

// grantedAt is where the hold of a grant begins that has no lease: at its request,
// which is the earliest that it can have been, if that was answered at once. Where it
// was waited for, nobody knows, and the answer's time is as good as any.
func (c *client) grantedAt(sent, answered int64) int64 {
	if time.Duration(answered-sent) <= c.cfg.TTL/20 {
		return sent
	}
	return answered
}
