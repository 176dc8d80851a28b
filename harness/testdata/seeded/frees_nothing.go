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
}
