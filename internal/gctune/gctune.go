// Package gctune sets the garbage collector for judging large histories: fewer collections
// for more memory. It knows nothing of histories.
package gctune

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	most   = 400 << 20 // bytes of heap before the first collection
	enough = 200 << 20 // bytes in use from which on a limit of most would cost more than it saves
	growth = 60        // percent of growth between collections from then on
)

// Relax delays the first collection until the heap has 400 MB. If more than half of that is in
// use, the heap then grows by 60 percent between collections. restore ends both.
func Relax() (restore func()) {
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
