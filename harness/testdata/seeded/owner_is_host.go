package main

import "os"

func init() {
	// Two workers on one machine, or two containers of one image with pid 1.
	plant(bug{
		name:  "owner-is-host",
		about: "the owner's name is the machine's, which all clients share",
		wrong: func(r *recipe) {
			r.owner = func(*lock) string {
				name, err := os.Hostname()
				if err != nil {
					return "localhost"
				}
				return name
			}
		},
	})
}
