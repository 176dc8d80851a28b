package main

import "time"

func init() {
	// The configuration is in milliseconds, EX takes seconds, and an integer division
	// drops the rest.
	plant(bug{
		name:  "whole-seconds",
		about: "SET EX ttl/1000: 1500 ms are promised, 1 s is kept",
		wrong: func(r *recipe) {
			r.take = func(l *lock, key, owner string) (int64, error) {
				return tokenOf(l.db.script(takeScript, []string{key, key + ":token"}, owner, 1000*max(1, int64(l.ttl/time.Second))))
			}
		},
	})
}
