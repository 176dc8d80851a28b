package main

// The steps of a lock of readers and writers that counts its readers, and does not know who they are.
const (
	joinCountScript = `local writer, readers = redis.call("hget", KEYS[1], "w"), tonumber(redis.call("hget", KEYS[1], "r") or "0")
if writer or ARGV[3] == "w" and readers > 0 then return false end
if ARGV[3] == "w" then redis.call("hset", KEYS[1], "w", ARGV[1]) else redis.call("hincrby", KEYS[1], "r", 1) end
redis.call("pexpire", KEYS[1], ARGV[2])
return 1`
	partCountScript = `if ARGV[2] == "w" and redis.call("hget", KEYS[1], "w") == ARGV[1] then return redis.call("hdel", KEYS[1], "w") end
if ARGV[2] == "w" or tonumber(redis.call("hget", KEYS[1], "r") or "0") == 0 then return 0 end
redis.call("hincrby", KEYS[1], "r", -1)
return 1`
)

func init() {
	again := func(r *recipe) { r.releasesAgain = true }
	plant(bug{
		name:  "counts-readers",
		about: "a read-write lock that only counts its readers: who releases twice takes another reader's share away",
		wrong: func(r *recipe) { sharedLock(joinCountScript, partCountScript)(r); again(r) },
		right: func(r *recipe) { sharedLock(joinScript, partScript)(r); again(r) },
	})
}
