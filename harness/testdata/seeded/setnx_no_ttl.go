package main

func init() {
	// "We always release in finally."
	plant(bug{
		name:  "setnx-no-ttl",
		about: "SETNX without an expiry: a dead holder keeps the lock for ever",
		wrong: func(r *recipe) {
			withoutLease(r)
			r.take = func(l *lock, key, owner string) (int64, error) {
				switch set, err := one(l.db.do("SETNX", key, owner)); {
				case err != nil:
					return 0, err
				case !set:
					return 0, errTaken
				}
				return l.draw(key)
			}
		},
	})
}
