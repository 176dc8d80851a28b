package main

import "time"

func init() {
	// A cache in front of the lock: what was not given back for certain is still ours.
	plant(bug{
		name:  "cached-hold",
		about: "a release without an answer leaves the lock in a local cache, and the next acquire finds it there",
		wrong: func(r *recipe) {
			cached := map[string]*hold{}
			acquire, free := r.acquire, r.free
			r.acquire = func(l *lock, key string, end time.Time) (*hold, error) {
				if h := cached[key]; h != nil && now() < h.since+int64(h.lease) {
					again := *h
					again.since, again.lease = now(), time.Duration(h.since+int64(h.lease)-now())
					return &again, nil
				}
				h, err := acquire(l, key, end)
				if err == nil {
					cached[key] = h
				}
				return h, err
			}
			r.free = func(l *lock, h *hold) error {
				err := free(l, h)
				if err == nil || err == errNotHeld {
					delete(cached, h.key)
				}
				return err
			}
		},
	})
}
