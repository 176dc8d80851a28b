package main

func init() {
	plant(bug{
		name:  "renew-by-set",
		about: "SET XX PX with the own name: takes the lock from whoever has it",
		wrong: func(r *recipe) {
			r.renew = func(l *lock, db *redis, h *hold) error {
				reply, err := db.do("SET", h.key, h.owner, "XX", "PX", l.ttl.Milliseconds())
				return was(reply == "OK", err)
			}
		},
	})
}
