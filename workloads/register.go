package workloads

import (
	"context"

	"github.com/picklock/picklock/history"
)

func init() {
	add(Workload{
		Name:  "register",
		About: "read the register, hold, write a new value: a stale writer overwrites a newer one",
		Run:   func(ctx context.Context, h *holding) { readHoldWrite(ctx, h, history.Write) },
	})
}

// readHoldWrite is the critical section of both workloads: they differ in what
// the register makes of the write.
func readHoldWrite(ctx context.Context, h *holding, f string) {
	value, err := h.read(ctx)
	if err != nil {
		return
	}
	if !h.hold(ctx) {
		return
	}
	if h.c.cfg.CheckLease && h.expired() {
		return
	}
	_ = h.write(ctx, f, value) // the history has it
}
