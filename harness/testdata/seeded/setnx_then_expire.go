package main

func init() {
	// SETNX is older than SET NX PX, and so are most examples.
	plant(bug{
		name:  "setnx-then-expire",
		about: "SETNX, and PEXPIRE in a second command: who dies in between keeps the lock for ever",
		wrong: func(r *recipe) {
			r.take = func(l *lock, key, owner string) (int64, error) {
				switch set, err := one(l.db.do("SETNX", key, owner)); {
				case err != nil:
					return 0, err
				case !set:
					return 0, errTaken
				}
				if _, err := l.db.do("PEXPIRE", key, l.ttl.Milliseconds()); err != nil {
					return 0, err
				}
				return l.draw(key)
			}
		},
	})
}
