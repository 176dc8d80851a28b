package main

import (
	"errors"
	"time"
)

func init() {
	// "Nobody holds it for longer than the TTL, so after that it must be stale."
	plant(bug{
		name:  "impatient-waiter",
		about: "who has waited for a whole lease takes the lock by force",
		wrong: func(r *recipe) {
			r.acquire = func(l *lock, key string, end time.Time) (*hold, error) {
				patience := time.Now().Add(l.ttl)
				h, err := poll(l, key, minTime(patience, end))
				if errors.Is(err, errTimeout) && patience.Before(end) {
					if _, err := l.db.do("DEL", key); err != nil {
						return nil, errNotSent
					}
					return poll(l, key, end)
				}
				return h, err
			}
		},
	})
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
