package main

// started keeps a watchdog from grants for which it is not to start.
func started(r *recipe, may func() bool) {
	start, end := r.granted, r.released
	r.granted = func(l *lock, h *hold) {
		if may() {
			start(l, h)
		}
	}
	r.released = func(l *lock, h *hold) {
		if h.stop != nil {
			end(l, h)
		}
	}
}

func init() {
	plant(bug{
		name:  "watchdog-starts-once",
		about: "a watchdog that is started for the first grant of a process only: the release ends it for good",
		wrong: func(r *recipe) {
			watched(r)
			once := false
			started(r, func() bool {
				first := !once
				once = true
				return first
			})
		},
		right: watched,
	})
	// What failed once is on a list of what is renewed already.
	plant(bug{
		name:  "watchdog-trips",
		about: "a renewal that fails, if only once, is the last one of the process: no later grant is renewed either",
		wrong: func(r *recipe) {
			tripped := make(chan struct{})
			watchdog(r, renewAside, func(l *lock, h *hold, since int64, err error) bool {
				if err != nil && err != errNotHeld {
					close(tripped)
					return false
				}
				return honest(l, h, since, err)
			})
			started(r, func() bool {
				select {
				case <-tripped:
					return false
				default:
					return true
				}
			})
		},
		right: watched,
	})
}
