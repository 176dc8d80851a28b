package main

func init() {
	plant(bug{
		name:  "watchdog-outlives-grant",
		about: "a watchdog that is not stopped at the release: it finds its grant gone, and reports the loss of the next one",
		wrong: func(r *recipe) {
			watched(r)
			r.Confirms = true
			r.released = nil
		},
		right: func(r *recipe) {
			watched(r)
			r.Confirms = true
		},
	})
}
