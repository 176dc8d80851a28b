package main

// owned asks whether the hold is its client's, in a command of its own.
func owned(l *lock, h *hold) error {
	owner, err := l.db.do("GET", h.key)
	if err == nil && owner != h.owner {
		return errNotHeld
	}
	return err
}

func init() {
	// The owner is compared, in a command of its own.
	plant(bug{
		name:  "get-then-del",
		about: "GET, compare, and DEL in a second command",
		wrong: func(r *recipe) {
			r.free = func(l *lock, h *hold) error {
				if err := owned(l, h); err != nil {
					return err
				}
				return was(one(l.db.do("DEL", h.key)))
			}
		},
	})
}
