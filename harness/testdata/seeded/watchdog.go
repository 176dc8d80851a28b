package main

import "time"

// watchdog renews a grant every third of its lease. report gets each renewal's outcome
// and when it was asked for; false ends the watchdog.
func watchdog(r *recipe, renew func(l *lock, h *hold) error, report func(l *lock, h *hold, since int64, err error) bool) {
	r.Renews, r.Watchdog = false, true
	r.granted = func(l *lock, h *hold) {
		h.stop = make(chan struct{})
		go func() {
			t := time.NewTicker(l.ttl / 3)
			defer t.Stop()
			for {
				select {
				case <-h.stop:
					return
				case <-t.C:
				}
				since := now()
				if !report(l, h, since, renew(l, h)) {
					return
				}
			}
		}()
	}
	r.released = func(_ *lock, h *hold) { close(h.stop) }
}

func renewAside(l *lock, h *hold) error { return renewOwn(l, l.aside, h) }

func renewed(l *lock, h *hold, since int64) {
	write(answer{Event: "renewed", Key: h.key, Since: since, Lease: l.ttl.Milliseconds()})
}

// honest tells of what was renewed, and of what is lost.
func honest(l *lock, h *hold, since int64, err error) bool {
	switch err {
	case nil:
		renewed(l, h, since)
	case errNotHeld:
		write(answer{Event: "lost", Key: h.key})
		return false
	}
	return true
}

func watched(r *recipe) { watchdog(r, renewAside, honest) }

func init() {
	plant(bug{
		name:  "watchdog-runs-on",
		about: "a watchdog that is not stopped at the release, and renews by key: nobody's lock ever ends",
		wrong: func(r *recipe) {
			watchdog(r, func(l *lock, h *hold) error {
				_, err := l.aside.do("PEXPIRE", h.key, l.ttl.Milliseconds())
				return err
			}, func(*lock, *hold, int64, error) bool { return true })
			r.released = nil
		},
		right: watched,
	})
	plant(bug{
		name:  "watchdog-is-deaf",
		about: "a watchdog that does not look at the answer and counts every renewal as done",
		wrong: func(r *recipe) {
			watchdog(r, renewAside, func(l *lock, h *hold, since int64, _ error) bool {
				renewed(l, h, since)
				return true
			})
		},
		right: watched,
	})
}
