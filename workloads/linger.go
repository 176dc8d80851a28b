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
	// Overrun is how many leases a section lasts at most that is longer than its own, as
	// one now and then is where everything is tried: a lock that keeps its lease alive
	// must bear it, and of the others it shows what a late holder does.
	Overrun = 1.5
)

// long draws how many leases the client's next section lasts; 0 for a short section. One
// of less than a lease has its time after its write, one of more before it.
func (c *client) long() float64 {
	if c.cfg.Reach <= 0 || c.rng.IntN(longOneIn) != 0 {
		return 0
	}
	if c.cfg.Overrun > 1 && c.rng.IntN(2) == 0 {
		return 1 + (c.cfg.Overrun-1)*c.rng.Float64()
	}
	return c.cfg.Reach - reachSpread*c.rng.Float64()
}

// linger holds on until part of the lease is over since the grant, and no longer than
// the run or the grant lasts. It writes nothing: a write in a lease's last instants
// would come late on a busy machine, and no lock could help it.
func (h *holding) linger(run context.Context, part float64) {
	if part <= 0 || part > 1 {
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
