package main

import (
	"errors"
	"time"
)

// subscribed waits for the message of a release, and does then what the message says.
func subscribed(woken func(l *lock, key string) (*hold, error)) func(*recipe) {
	return func(r *recipe) {
		r.acquire = func(l *lock, key string, end time.Time) (*hold, error) {
			news := newRedis(l.db.addr, l.ttl/4)
			defer func() {
				if news.c != nil {
					news.drop()
				}
			}()
			if _, err := news.do("SUBSCRIBE", key+":freed"); err != nil {
				return nil, errNotSent
			}
			ask := (*lock).try // the first time, and whenever there was no news for a while
			for {
				h, err := ask(l, key)
				if err == nil || !errors.Is(err, errTaken) {
					return h, err
				}
				if time.Now().After(end) {
					return nil, errTimeout
				}
				if ask = woken; !news.wait() {
					ask = (*lock).try
				}
			}
		}
		r.free = func(l *lock, h *hold) error {
			return was(one(l.db.script(`if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
redis.call("del", KEYS[1])
redis.call("publish", KEYS[2], "free")
return 1`, []string{h.key, h.key + ":freed"}, h.owner)))
		}
	}
}

// wait waits for a message; false says that none came.
func (d *redis) wait() bool {
	if d.c == nil || d.c.SetReadDeadline(time.Now().Add(100*time.Millisecond)) != nil {
		nap()
		return false
	}
	_, err := d.reply()
	return err == nil
}

func init() {
	plant(bug{
		name:  "wake-up-is-grant",
		about: "who is woken by the message of a release sets the key, though others were woken too",
		wrong: subscribed(func(l *lock, key string) (*hold, error) {
			h := &hold{key: key, owner: l.owner(l), since: now(), lease: l.ttl}
			token, err := l.db.script(`redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2]) return redis.call("incr", KEYS[2])`,
				[]string{key, key + ":token"}, h.owner, l.ttl.Milliseconds())
			h.token, err = tokenOf(token, err)
			return h, err
		}),
		right: subscribed((*lock).try),
	})
}
