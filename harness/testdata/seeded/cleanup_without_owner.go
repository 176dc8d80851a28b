package main

import "time"

// tidy cleans up behind an acquire that came to nothing.
func tidy(clean func(l *lock, key, owner string)) func(*recipe) {
	return func(r *recipe) {
		r.acquire = func(l *lock, key string, end time.Time) (*hold, error) {
			h, err := poll(l, key, end)
			if err != nil {
				clean(l, key, l.owner(l))
			}
			return h, err
		}
		id := r.owner(nil)
		r.owner = func(*lock) string { return id }
	}
}

func init() {
	plant(bug{
		name:  "cleanup-without-owner",
		about: "who gives up waiting deletes the key, to leave nothing behind",
		wrong: tidy(func(l *lock, key, _ string) { _, _ = l.db.do("DEL", key) }),
		right: tidy(func(l *lock, key, owner string) { _, _ = l.db.script(freeScript, []string{key}, owner) }),
	})
}
