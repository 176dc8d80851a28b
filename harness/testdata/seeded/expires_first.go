package main

import "time"

func init() {
	// end = now() + ttl, computed once, before the first of the tries. Who waits for longer than a lease gets a lock that is over by that.
	plant(bug{
		name:  "expires-from-first-try",
		about: "the end of a lease is counted from the first try of the acquire: a client that waited for long is told that its new lock is over",
		wrong: func(r *recipe) {
			r.acquire = func(l *lock, key string, end time.Time) (*hold, error) {
				begun := now()
				h, err := poll(l, key, end)
				if err == nil && now() >= begun+int64(l.ttl) {
					h.since, h.expired = begun, true
				}
				return h, err
			}
		},
	})
}
