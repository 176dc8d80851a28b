package main

import "time"

// again releases until it is answered, or gives up.
func again(free func(l *lock, h *hold) error) func(*recipe) {
	return func(r *recipe) {
		r.free = func(l *lock, h *hold) error {
			err := freeOwn(l, h)
			for range 20 {
				if err == nil || err == errNotHeld {
					return err
				}
				time.Sleep(100 * time.Millisecond)
				err = free(l, h)
			}
			return err
		}
	}
}

func init() {
	// A release that was not answered is done again, "to make sure".
	plant(bug{
		name:  "release-by-force",
		about: "a release without an answer is retried as a plain DEL",
		wrong: again(func(l *lock, h *hold) error {
			_, err := l.db.do("DEL", h.key)
			return err
		}),
		right: again(freeOwn),
	})
}
