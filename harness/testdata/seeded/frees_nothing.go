package main

func init() {
	// The acquire's helper adds a prefix to the key's name, and the release's does not.
	plant(bug{
		name:  "frees-other-key",
		about: "the owner is compared, and a key of another name is deleted; the answer is not looked at",
		wrong: func(r *recipe) {
			r.free = func(l *lock, h *hold) error {
				if err := owned(l, h); err != nil {
					return err
				}
				_, err := l.db.do("DEL", "lock:"+h.key)
				return err
			}
		},
	})
	// The library renews the lock by itself, and says nothing of its lease.
	plant(bug{
		name:  "stops-to-free",
		about: "a release that compares the owner and stops the watchdog: the key stays until it ends by itself",
		wrong: func(r *recipe) {
			renewsInSilence(r)
			r.free = owned
		},
		right: renewsInSilence,
	})
}

// renewsInSilence tells of what is lost, and of no renewal.
func renewsInSilence(r *recipe) {
	watchdog(r, renewAside, func(l *lock, h *hold, since int64, err error) bool {
		return err == nil || honest(l, h, since, err)
	})
	withoutLease(r)
}
