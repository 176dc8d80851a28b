package main

func init() {
	// The pool takes the connection back after a timeout, and the next command reads the
	// answer to the last one.
	plant(bug{
		name:  "late-answer",
		about: "a connection is used again after a timeout, with an answer still to come on it",
		wrong: func(r *recipe) { r.keepConnection = true },
	})
}
