package main

import "errors"

func init() {
	// "Only nil means that another has it."
	plant(bug{
		name:  "refused-is-granted",
		about: "an error that the server answers counts as the lock: only nil means that another client has it",
		wrong: func(r *recipe) {
			take, last := r.take, int64(0)
			r.take = func(l *lock, key, owner string) (int64, error) {
				token, err := take(l, key, owner)
				if said := replyError(""); errors.As(err, &said) {
					token, err = last+1, nil
				}
				last = max(last, token)
				return token, err
			}
		},
	})
}
