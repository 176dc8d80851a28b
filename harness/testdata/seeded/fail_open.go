package main

import "errors"

func init() {
	// "The lock must not take the site down with it."
	plant(bug{
		name:  "fail-open",
		about: "a server that does not answer counts as a lock that is free; its tokens are counted on from the last one",
		wrong: func(r *recipe) {
			take, last := r.take, int64(0)
			r.take = func(l *lock, key, owner string) (int64, error) {
				token, err := take(l, key, owner)
				switch {
				case errors.Is(err, errTaken):
					return 0, err
				case err != nil:
					token = last + 1
				}
				last = token
				return token, nil
			}
		},
	})
}
