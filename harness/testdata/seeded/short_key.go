package main

func init() {
	// A safety margin subtracted on the wrong side: from the key, not from what is
	// promised.
	plant(bug{
		name:  "short-key",
		about: "the key lives for 60 % of the lease that is promised",
		wrong: func(r *recipe) {
			r.take = func(l *lock, key, owner string) (int64, error) {
				return tokenOf(l.db.script(takeScript, []string{key, key + ":token"}, owner, l.ttl.Milliseconds()*6/10))
			}
		},
	})
}
