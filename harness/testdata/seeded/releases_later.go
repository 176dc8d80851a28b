package main

import "time"

// later makes a release that was not answered again in the background, every third of a lease, until one is.
func later(r *recipe) {
	r.free = func(l *lock, h *hold) error {
		err := freeOwn(l, h)
		if err == nil || err == errNotHeld {
			return err
		}
		go func() {
			for range 3 {
				time.Sleep(l.ttl / 3)
				if _, err := l.aside.script(freeScript, []string{h.key}, h.owner); err == nil {
					return
				}
			}
		}()
		return err
	}
}

func init() {
	// It compares the owner, but both grants have the same.
	plant(bug{
		name:  "releases-next-grant",
		about: "a release without an answer is made again in the background, and its client's next grant has the same name",
		wrong: func(r *recipe) {
			later(r)
			r.owner = func(l *lock) string { return l.client }
		},
		right: later,
	})
}
