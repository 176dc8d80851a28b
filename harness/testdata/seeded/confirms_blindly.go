package main

// confirming is a lock whose release says that the grant had been in force until then.
func confirming(r *recipe) { r.Confirms = true }

func init() {
	plant(bug{
		name:  "confirms-blindly",
		about: "a release that reports success whatever the server said",
		wrong: func(r *recipe) {
			confirming(r)
			r.free = func(l *lock, h *hold) error {
				_ = freeOwn(l, h)
				return nil
			}
		},
		right: confirming,
	})
}
