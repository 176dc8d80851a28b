package main

import (
	"errors"
	"net"
	"strings"
	"time"
)

// askScript takes the lock if it is free, or was handed to this request; if not, it puts the request in line.
const askScript = `local held = redis.call("get", KEYS[1])
if held and held ~= ARGV[1] then
  if not redis.call("lpos", KEYS[3], ARGV[3]) then redis.call("rpush", KEYS[3], ARGV[3]) end
  return false
end
redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
redis.call("lrem", KEYS[3], 0, ARGV[3])
return redis.call("incr", KEYS[2])`

// handScript hands the lock to the request that is first in line, and tells its client.
const handScript = `if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
local first = redis.call("lpop", KEYS[2])
if not first then return redis.call("del", KEYS[1]) end
local client, owner = string.match(first, "^(%S+) (%S+)$")
redis.call("set", KEYS[1], owner, "PX", ARGV[2])
redis.call("publish", "mail:" .. client .. ":" .. KEYS[1], KEYS[1] .. " " .. owner)
return 1`

// claimScript begins the lease of a lock that was handed over.
const claimScript = `if redis.call("get", KEYS[1]) ~= ARGV[1] then return false end
redis.call("pexpire", KEYS[1], ARGV[2])
return redis.call("incr", KEYS[2])`

// mailed is a lock whose clients are told what was handed to them; after is what stands behind the key in the
// pattern of the messages that a client listens for.
func mailed(after string) func(*recipe) {
	return func(r *recipe) {
		r.acquire = func(l *lock, key string, end time.Time) (*hold, error) {
			mail := newRedis(l.db.addr, l.ttl/4)
			defer func() {
				if mail.c != nil {
					mail.drop()
				}
			}()
			if _, err := mail.do("PSUBSCRIBE", "mail:"+l.client+":"+key+after); err != nil {
				return nil, errNotSent
			}
			h := &hold{key: key, owner: l.owner(l), lease: l.ttl}
			for {
				h.since = now()
				token, err := tokenOf(l.db.script(askScript, []string{key, key + ":token", key + ":line"}, h.owner, l.ttl.Milliseconds(), l.client+" "+h.owner))
				if told, owner, come := mail.letter(err); come {
					h.since = now()
					if token, err = tokenOf(l.db.script(claimScript, []string{told, key + ":token"}, owner, l.ttl.Milliseconds())); err == nil {
						h.owner = owner
					}
				}
				if h.token = token; err == nil {
					return h, nil
				}
				if !errors.Is(err, errTaken) && !errors.Is(err, errNotSent) {
					return nil, err
				}
				if time.Now().After(end) {
					return nil, errTimeout
				}
			}
		}
		r.free = func(l *lock, h *hold) error {
			return was(one(l.db.script(handScript, []string{h.key, h.key + ":line"}, h.owner, l.ttl.Milliseconds())))
		}
	}
}

// letter waits for a message if the lock was taken: the key that was handed over, and to which request.
func (d *redis) letter(asked error) (key, owner string, come bool) {
	if !errors.Is(asked, errTaken) {
		return "", "", false
	}
	if d.c == nil || d.c.SetReadDeadline(time.Now().Add(20*time.Millisecond)) != nil {
		nap()
		return "", "", false
	}
	reply, err := d.reply()
	var late net.Error
	if err != nil {
		if !errors.As(err, &late) || !late.Timeout() {
			nap()
		}
		return "", "", false
	}
	words, _ := reply.([]any)
	if len(words) != 4 || words[0] != "pmessage" {
		return "", "", false
	}
	text, _ := words[3].(string)
	return strings.Cut(text, " ")
}

func init() {
	plant(bug{
		name:  "mail-of-longer-keys",
		about: "a client that was handed the lock of a longer key takes that message for the grant of the key that it waits for",
		wrong: mailed("*"),
		right: mailed(""),
	})
}
