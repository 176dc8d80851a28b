package workloads

import (
	"context"
	"time"

	"github.com/picklock/picklock/history"
)

// Long critical sections: one in longOneIn keeps its lock until the last part of its lease, even
// if its work was done early. A lock whose key expires too early would go unnoticed if every
// critical section ended in the lease's first tenth.
const (
	longOneIn = 16
	// Reach is the part of its lease at which a long critical section ends at the latest. It
	// leaves room for the release.
	Reach = 0.97
	// reachSpread is how much earlier one ends at the earliest.
	reachSpread = 0.07
	// Overrun is how many leases a critical section lasts at most that exceeds its own, as a few
	// do if a run tries everything. A lock that keeps its lease alive must tolerate it. For
	// the others it shows what a stale holder does.
	Overrun = 1.5
)

// long draws how many leases the client's next critical section lasts; 0 for a short one. One of
// less than a lease waits after its write, one of more before it.
func (c *client) long() float64 {
	if c.cfg.Reach <= 0 || c.rng.IntN(longOneIn) != 0 {
		return 0
	}
	if c.cfg.Overrun > 1 && c.rng.IntN(2) == 0 {
		return 1 + (c.cfg.Overrun-1)*c.rng.Float64()
	}
	return c.cfg.Reach - reachSpread*c.rng.Float64()
}

// linger keeps the lock until part of the lease is over since the grant, and no longer than the
// run or the grant lasts. It writes nothing: a write in a lease's last instants would be stale on
// a busy machine, which no lock can prevent.
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

// grantedAt is the beginning of a hold without a lease: its request, the earliest possible time,
// if that was answered at once. After a wait the beginning is unknown, and the answer's time
// stands for it.
func (c *client) grantedAt(sent, answered int64) int64 {
	if time.Duration(answered-sent) <= c.cfg.TTL/20 {
		return sent
	}
	return answered
}
