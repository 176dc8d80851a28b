package main

func init() {
	plant(bug{
		name:  "del-without-owner",
		about: "DEL, whoever holds the lock by then",
		wrong: func(r *recipe) {
			r.free = func(l *lock, h *hold) error { return was(one(l.db.do("DEL", h.key))) }
		},
	})
}
