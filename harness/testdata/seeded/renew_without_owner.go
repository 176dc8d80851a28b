package main

func init() {
	plant(bug{
		name:  "renew-without-owner",
		about: "PEXPIRE, whoever holds the lock by then",
		wrong: func(r *recipe) {
			r.renew = func(l *lock, db *redis, h *hold) error {
				return was(one(db.do("PEXPIRE", h.key, l.ttl.Milliseconds())))
			}
		},
	})
}
