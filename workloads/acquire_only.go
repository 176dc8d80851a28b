package workloads

import (
	"context"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
)

func init() {
	add(Workload{
		Name:          "acquire-only",
		About:         "acquire, keep and release the lock, and write nothing: for locks that several clients can hold at once, shared or exclusive at random, and for reentrant ones, which are acquired twice",
		Run:           acquireOnly,
		WritesNothing: true,
	})
}

// acquireOnly acquires a reentrant lock once more for the middle part of its time. If that fails, the
// client goes on with what it has.
func acquireOnly(ctx context.Context, h *holding) {
	if h.c.info.Kind != clients.Reentrant {
		h.hold(ctx)
		return
	}
	if !h.hold(ctx) {
		return
	}
	inner, err := h.c.acquireAs(ctx, h.grant.Key, history.Nested)
	if err != nil {
		return
	}
	inner.hold(ctx)
	_ = inner.release(ctx) // the history has it
	h.hold(ctx)
}

// mode says how the client acquires the lock for its next critical section.
func (c *client) mode() string {
	if c.sharer != nil && c.writesNothing && c.rng.IntN(2) == 0 {
		return history.Shared
	}
	return ""
}
