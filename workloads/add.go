package workloads

import (
	"context"

	"github.com/picklock/picklock/history"
)

func init() {
	// Jepsen's etcd lock test did this with a set in memory
	// (https://jepsen.io/analyses/etcd-3.4.3): each client reads the set, waits a
	// little, and writes it back with one element more.
	add(Workload{
		Name:  "add",
		About: "read a set, hold, write it back with one element more: an overlap loses acknowledged updates",
		Run:   func(ctx context.Context, h *holding) { readHoldWrite(ctx, h, history.Add) },
	})
}
