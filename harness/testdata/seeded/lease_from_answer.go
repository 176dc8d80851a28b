package main

import "time"

func init() {
	// expires = now() + ttl, computed after the call. The server began to count earlier.
	plant(bug{
		name:  "lease-from-answer",
		about: "the lease is counted from the answer, not from the request",
		wrong: func(r *recipe) {
			r.lease = func(l *lock, _, answered int64) (int64, time.Duration) { return answered, l.ttl }
		},
	})
}
