package main

import (
	"sync"
	"time"
)

// oneWatchdog renews all grants of a process by one timer. last says whether a release ends it: nothing is left to renew then.
func oneWatchdog(last func(left int) bool) func(*recipe) {
	return func(r *recipe) {
		r.Renews, r.Watchdog, r.Several = false, true, true
		var mu sync.Mutex
		grants := map[*hold]bool{}
		var stop chan struct{}
		r.granted = func(l *lock, h *hold) {
			mu.Lock()
			defer mu.Unlock()
			if grants[h] = true; stop != nil {
				return
			}
			stop = make(chan struct{})
			go func(stop chan struct{}) {
				t := time.NewTicker(l.ttl / 3)
				defer t.Stop()
				for {
					select {
					case <-stop:
						return
					case <-t.C:
					}
					mu.Lock()
					for h := range grants {
						since := now()
						if !honest(l, h, since, renewAside(l, h)) {
							delete(grants, h)
						}
					}
					mu.Unlock()
				}
			}(stop)
		}
		r.released = func(_ *lock, h *hold) {
			mu.Lock()
			defer mu.Unlock()
			if delete(grants, h); stop != nil && last(len(grants)) {
				close(stop)
				stop = nil
			}
		}
	}
}

func init() {
	plant(bug{
		name:  "one-watchdog-for-all",
		about: "one watchdog renews all locks of a process, and the release of any of them ends it",
		wrong: oneWatchdog(func(int) bool { return true }),
		right: oneWatchdog(func(left int) bool { return left == 0 }),
	})
}
