package main

func init() {
	// "If nobody has it, I take it", in two commands.
	plant(bug{
		name:  "check-then-set",
		about: "GET, and SET PX if there was nothing",
		wrong: func(r *recipe) {
			r.take = func(l *lock, key, owner string) (int64, error) {
				switch there, err := l.db.do("EXISTS", key); {
				case err != nil:
					return 0, err
				case there == int64(1):
					return 0, errTaken
				}
				return tokenOf(l.db.script(`redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2]) return redis.call("incr", KEYS[2])`,
					[]string{key, key + ":token"}, owner, l.ttl.Milliseconds()))
			}
		},
	})
}
