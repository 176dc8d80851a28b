package main

// asked is a lock whose user can ask whether it is held.
func asked(holds func(*lock, *hold) (bool, error)) func(*recipe) {
	return func(r *recipe) { r.Holds, r.holds = true, holds }
}

func init() {
	plant(bug{
		name:  "remembers-hold",
		about: "asked whether the lock is held, it answers from its own memory of acquires and releases",
		wrong: asked(func(*lock, *hold) (bool, error) { return true, nil }),
		right: asked(holdsOwn),
	})
	plant(bug{
		name:  "extends-blindly",
		about: "a renewal that reports success whatever the server answered",
		wrong: func(r *recipe) {
			r.renew = func(l *lock, db *redis, h *hold) error {
				err := renewOwn(l, db, h)
				if err == errNotHeld {
					err = nil
				}
				return err
			}
		},
	})
}
