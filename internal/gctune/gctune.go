// Package gctune says how much memory a judge of large histories may take before it is
// collected. It knows nothing of histories.
package gctune

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	most   = 400 << 20 // bytes that are taken before any are collected
	enough = 200 << 20 // bytes in use from which on that would cost more than it saves
	growth = 60        // percent by which more than that may grow before it is collected
)

// Make lets memory grow to 400 MB before it is collected at all, as long as what is in use
// of it is less than half of that, and by 60 percent later on. It returns how to go back.
func Make() (back func()) {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(most)
	if percent < 0 {
		percent = 100
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		defer func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) }()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			if metrics.Read(live); live[0].Value.Uint64() > enough {
				debug.SetGCPercent(min(percent, growth))
				debug.SetMemoryLimit(limit)
				<-stop
				return
			}
		}
	}()
	return func() { close(stop); <-stopped }
}
