package main

// cause is one thing that may be said of a run: the kind of fault that is suspected, ""
// for none, and a part of what is said of how the lock broke.
type cause struct {
	Suspect string `json:"suspect,omitempty"`
	Says    string `json:"says"`
}

// label is one run of the table: how it is made, and by that, what is true of it. Whatever
// required property broke must be told with one of the causes.
type label struct {
	set, name, args string
	causes          []cause
}

// What is true where one thing was injected.
var (
	memory = []cause{
		{"kill of a server", "forgot a grant when its server failed"},
		{"kill of a server", "forgot its grants and the counter of the tokens"},
	}
	tookOver = []cause{
		{"failover of a server", "that took over did not know of a grant"},
		{"failover of a server", "that took over did not know the latest token"},
	}
	serverClock = []cause{{"clock of a server", "counted by the service's clock"}}
	clientClock = []cause{{"clock of a client", "counted by a client's clock"}, {"clock of a client", "follow a client's clock"}}
	stopped     = []cause{{"pause of a client", "while its holder was stopped"}}
	tooLong     = []cause{{"", "the section was longer than the lease"}}
	notAsked    = []cause{{"pause of a client", "without looking at the owner"}, {"", "without looking at the owner"}, stopped[0]}
	lapsed      = []cause{{"clock of a server", "without looking at the owner"}, {"", "without looking at the owner"}} // its lease, by that clock
	twoSteps    = []cause{{"", "whether it is free and taking it are two steps"}}
	byItself    = []cause{{"", "the service gave the lock away while another client's lease had time left"}}
	shortKey    = []cause{{"", "of the lease that it had promised"}, {"", "the lease ended by itself"}}
	heldUp      = []cause{{"pause of a client", "stopped in the middle of a step"}, {"pause of a client", "whose lock it is, and deleting it, are two steps"}}
	tokenOrder  = []cause{{"", "not drawn in the order of the grants"}, {"", "not every grant draws a new one"}}
)

// late is what is true where messages between a holder and the resource, or the service,
// were lost or late.
func late(fault string) []cause {
	by := fault + " of a client"
	return []cause{{by, "messages were lost or late"}, {by, "sent in time arrived when the lock had gone"}, {by, "was over before the client learnt"},
		{by, "of unknown outcome was carried out after"}}
}

const (
	fenced = " --fencing read-write --duration 6s"
	open   = " --duration 8s"
	long   = " --work-time 1100ms --duration 8s"
)

var labels = []label{
	// A service that keeps nothing, and its server is killed.
	{"tuned", "memory-redis-lua", "run --lock redis-lua --faults kill:redis" + fenced, memory},
	{"tuned", "memory-redis", "run --lock redis --faults kill:redis" + open, memory},
	{"tuned", "memory-redislock", "run --lock redislock --faults kill:redis" + open, memory},
	{"tuned", "memory-redis-lua-beside-client-clocks", "run --lock redis-lua --faults kill:redis,clock:client" + fenced, memory},
	{"tuned", "memory-redis-lua-beside-pauses", "run --lock redis-lua --faults kill:redis,pause:waiter" + fenced, memory},
	{"tuned", "memory-redis-beside-slow-links", "run --lock redis --faults kill:redis,slow:waiter" + open, memory},
	// A replica that does not know what the master promised takes over.
	{"tuned", "failover-redis-replica", "scenario run failover-lost-lock --lock redis-replica", tookOver},
	{"tuned", "failover-token", "scenario run token-after-failover --lock redis-replica", tookOver},
	// Clocks.
	{"tuned", "server-clock-redis", "run --lock redis --faults clock:redis:+30s" + open, serverClock},
	{"tuned", "server-clock-redis-lua", "run --lock redis-lua --faults clock:redis" + fenced, serverClock},
	{"tuned", "server-clock-postgres-table", "run --lock postgres-table --faults clock:postgres:+30s" + fenced, serverClock},
	{"tuned", "server-clock-redis-beside-pauses", "run --lock redis-lua --faults clock:redis:+30s,pause:waiter" + fenced, serverClock},
	{"tuned", "server-clock-redis-beside-client-clocks", "run --lock redis-lua --faults clock:redis:+30s,clock:client" + fenced, serverClock},
	{"tuned", "client-clock-takeover", "run --lock BUG/wall-clock-takeover --cluster redis --faults clock:client" + open, clientClock},
	{"tuned", "client-clock-token", "run --lock BUG/token-from-clock --cluster redis --faults clock:client" + open, clientClock},
	{"tuned", "client-clock-dynamodb", "run --lock dynamodb-wallclock --faults clock:client" + fenced, clientClock},
	// A sound lock, and its holder is stopped or cut off.
	{"tuned", "pause-redis", "run --lock redis --faults pause:holder" + open, stopped},
	{"tuned", "pause-postgres-table", "run --lock postgres-table --faults pause:holder" + open, stopped},
	{"tuned", "pause-etcd", "run --lock etcd --faults pause:holder --duration 14s", stopped},
	{"tuned", "pause-redis-lua-beside-clocks", "run --lock redis-lua --faults pause:holder,clock:redis:x1.001" + open, stopped},
	{"tuned", "pause-redis-beside-cuts", "run --lock redis --faults pause:holder,partition:waiter:servers" + open, stopped},
	{"tuned", "pause-redis-beside-waiters-clocks", "run --lock redis --faults pause:holder,clock:c5" + open, stopped},
	{"tuned", "cut-from-resource-redis", "run --lock redis --faults partition:holder:register" + open, late("partition")},
	{"tuned", "slow-to-resource-redis", "run --lock redis --faults slow:holder:register:1500ms" + open, late("slow")},
	{"tuned", "hold-to-resource-redis", "run --lock redis --faults hold:holder:register" + open, late("hold")},
	// Sections that are longer than the lease, by themselves.
	{"tuned", "section-redis", "run --lock redis" + long, tooLong},
	{"tuned", "section-postgres-table", "run --lock postgres-table" + long, tooLong},
	{"tuned", "section-redis-beside-pauses", "run --lock redis --faults pause:waiter" + long, tooLong},
	{"tuned", "section-redis-beside-cuts", "run --lock redis-lua --faults partition:waiter,clock:client" + long, tooLong},
	{"tuned", "section-redis-beside-cut-from-service", "run --lock redis --faults partition:holder:servers" + long, tooLong},
	// Locks with a bug, and no fault, or some that have no part.
	{"tuned", "bug-check-then-set", "run --lock BUG/check-then-set --cluster redis" + open, twoSteps},
	{"tuned", "bug-short-key", "run --lock BUG/short-key --cluster redis" + open, shortKey},
	{"tuned", "bug-impatient-waiter", "run --lock BUG/impatient-waiter --cluster redis --duration 10s", append(byItself, shortKey...)},
	{"tuned", "bug-token-before-lock", "run --lock BUG/token-before-lock --cluster redis" + fenced, tokenOrder},
	{"tuned", "bug-token-per-client", "run --lock BUG/token-per-client --cluster redis" + open, tokenOrder},
	{"tuned", "bug-token-in-the-key", "run --lock BUG/token-in-the-key --cluster redis" + open, tokenOrder},
	{"tuned", "bug-redis-del", "run --lock redis-del --faults pause:holder" + open, notAsked},
	{"tuned", "bug-del-without-owner", "scenario run sleeping-release --lock BUG/del-without-owner --cluster redis", notAsked},
	{"tuned", "bug-get-then-del", "scenario run pause-in-release --lock BUG/get-then-del --cluster redis", heldUp},
	{"tuned", "bug-check-then-set-beside-pauses", "run --lock BUG/check-then-set --cluster redis --faults pause:waiter" + open, twoSteps},
	{"tuned", "bug-check-then-set-beside-clocks", "run --lock BUG/check-then-set --cluster redis --faults clock:client" + open, twoSteps},
	{"tuned", "bug-short-key-beside-clocks", "run --lock BUG/short-key --cluster redis --faults clock:client" + open, shortKey},
	{"tuned", "bug-token-before-lock-beside-slow-links", "run --lock BUG/token-before-lock --cluster redis --faults slow:client,clock:client" + fenced, tokenOrder},
	{"tuned", "bug-token-per-client-beside-slow-service", "run --lock BUG/token-per-client --cluster redis --faults slow:redis,clock:client" + open, tokenOrder},

	// More of it: other locks and faults.
	{"tuned", "memory-redislock-beside-client-clocks", "run --lock redislock --faults kill:redis,clock:client" + open, memory},
	{"tuned", "memory-reentrant", "run --lock redis-reentrant --workload acquire-only --faults kill:redis" + open, memory},
	{"tuned", "memory-rwlock", "run --lock redis-rwlock --workload acquire-only --faults kill:redis" + open, memory},
	{"tuned", "memory-semaphore", "run --lock redis-semaphore --workload acquire-only --faults kill:redis" + open, memory},
	{"tuned", "memory-seeded-beside-slow-links", "run --lock BUG/short-key --right --cluster redis --faults kill:redis,slow:waiter" + fenced, memory},
	{"tuned", "memory-redlock", "run --lock redlock --faults kill:majority" + open, memory},
	{"tuned", "memory-redis-beside-lossy-links", "run --lock redis --faults kill:redis,loss:waiter" + open, memory},
	{"tuned", "memory-powerloss-redis", "run --lock redis-lua --faults powerloss:redis" + fenced, []cause{
		{"powerloss of a server", "forgot a grant when its server failed"}, {"powerloss of a server", "forgot its grants and the counter of the tokens"}}},
	{"tuned", "failover-sentinel", "scenario run sentinel-lost-lock --lock redis-sentinel", append(tookOver, memory...)},
	{"tuned", "server-clock-redislock", "run --lock redislock --faults clock:redis:+30s" + open, serverClock},
	{"tuned", "server-clock-semaphore", "run --lock redis-semaphore --workload acquire-only --faults clock:redis:+30s" + open, serverClock},
	{"tuned", "server-clock-redlock", "run --lock redlock --faults clock:majority:+30s" + open, serverClock},
	{"tuned", "server-clock-postgres-beside-pauses", "run --lock postgres-table --faults clock:postgres:+30s,pause:waiter" + fenced, serverClock},
	{"tuned", "server-clock-rwlock", "run --lock redis-rwlock --workload acquire-only --faults clock:redis:+30s" + open, serverClock},
	{"tuned", "client-clock-dynamodb-beside-pauses", "run --lock dynamodb-wallclock --faults clock:client,pause:waiter" + fenced, clientClock},
	{"tuned", "client-clock-takeover-beside-slow-links", "run --lock BUG/wall-clock-takeover --cluster redis --faults clock:client:+30s,slow:waiter" + fenced, clientClock},
	{"tuned", "client-clock-token-fenced", "run --lock BUG/token-from-clock --cluster redis --faults clock:client:+30s" + fenced, clientClock},
	{"tuned", "pause-redislock", "run --lock redislock --faults pause:holder" + open, stopped},
	{"tuned", "pause-dynamodb", "run --lock dynamodb --faults pause:holder --duration 12s", stopped},
	{"tuned", "pause-redlock", "run --lock redlock --faults pause:holder" + open, stopped},
	{"tuned", "pause-seeded-beside-clocks", "run --lock BUG/short-key --right --cluster redis --faults pause:holder,clock:c1" + open, stopped},
	{"tuned", "pause-postgres-table-beside-cuts", "run --lock postgres-table --faults pause:holder,flap:waiter:servers" + open, stopped},
	{"tuned", "pause-redis-lua-scenario", "scenario run pause-holder --lock redis-lua", stopped},
	{"tuned", "cut-from-resource-postgres-table", "run --lock postgres-table --faults partition:holder:register" + open, late("partition")},
	{"tuned", "slow-to-resource-redislock", "run --lock redislock --faults slow:holder:register:1500ms" + open, late("slow")},
	{"tuned", "hold-to-resource-dynamodb-beside-clocks", "run --lock dynamodb --faults hold:holder:register,clock:c1 --duration 12s", late("hold")},
	{"tuned", "section-dynamodb", "run --lock dynamodb" + long, tooLong},
	{"tuned", "section-redislock-beside-slow-links", "run --lock redislock --faults slow:waiter" + long, tooLong},
	{"tuned", "section-redis-lua-beside-kills", "run --lock redis-lua --faults kill:waiter" + long, tooLong},
	{"tuned", "section-seeded-beside-pauses", "run --lock BUG/short-key --right --cluster redis --faults pause:waiter,clock:client" + long, tooLong},
	{"tuned", "bug-whole-seconds", "scenario run whole-lease --lock BUG/whole-seconds --cluster redis", append(byItself, shortKey...)},
	{"tuned", "bug-wake-up-is-grant", "run --lock BUG/wake-up-is-grant --cluster redis" + open, append(byItself, twoSteps...)},
	{"tuned", "bug-reentrant-by-thread", "run --lock BUG/reentrant-by-thread --cluster redis" + open, byItself},
	{"tuned", "bug-owner-is-host", "scenario run sleeping-release --lock BUG/owner-is-host --cluster redis", notAsked},
	{"tuned", "bug-redis-counter", "run --lock redis-counter" + open, tokenOrder},
	{"tuned", "bug-redis-incr-beside-clocks", "run --lock redis-incr --faults clock:client" + fenced, tokenOrder},
	{"tuned", "bug-token-in-the-key-beside-pauses", "run --lock BUG/token-in-the-key --cluster redis --faults pause:waiter" + open, tokenOrder},
	{"tuned", "bug-check-then-set-beside-slow-links", "run --lock BUG/check-then-set --cluster redis --faults slow:waiter" + open, twoSteps},
	{"tuned", "bug-short-key-beside-kills", "run --lock BUG/short-key --cluster redis --faults kill:waiter" + fenced, shortKey},
	{"tuned", "bug-impatient-waiter-beside-clocks", "run --lock BUG/impatient-waiter --cluster redis --faults clock:client --duration 10s", append(append(byItself, shortKey...), clientClock...)},
	{"tuned", "bug-redis-del-beside-clocks", "run --lock redis-del --faults pause:holder,clock:c1" + open, notAsked},
	// A bug, and a fault of the service that breaks the lock as well.
	{"tuned", "bug-redis-del-and-server-clock", "run --lock redis-del --faults clock:redis:+5s,kill:client" + open, append(lapsed, serverClock...)},
	{"tuned", "bug-redis-del-and-server-clock-and-pauses", "run --lock redis-del --faults clock:redis,pause:holder" + open, append(append(lapsed, notAsked...), serverClock...)},
	{"tuned", "bug-short-key-and-server-clock", "run --lock BUG/short-key --cluster redis --faults clock:redis:+5s,pause:waiter" + open, append(shortKey, serverClock...)},
	{"tuned", "bug-short-key-and-server-kills", "run --lock BUG/short-key --cluster redis --faults kill:redis,hold:waiter" + open, append(shortKey, memory...)},
	{"tuned", "bug-short-key-beside-pauses", "run --lock BUG/short-key --cluster redis --faults pause:waiter" + open, shortKey},
	{"tuned", "bug-short-key-beside-lossy-links", "run --lock BUG/short-key --cluster redis --faults loss:waiter" + fenced, shortKey},
	{"tuned", "bug-del-without-owner-and-server-clock", "run --lock BUG/del-without-owner --cluster redis --faults clock:redis:+30s,slow:waiter" + open, append(lapsed, serverClock...)},
	{"tuned", "bug-short-key-and-any-server-clock", "run --lock BUG/short-key --cluster redis --faults clock:redis,kill:waiter" + fenced, append(shortKey, serverClock...)},
	{"tuned", "bug-release-by-force", "scenario run answer-of-release-lost --lock BUG/release-by-force --cluster redis", []cause{
		{"partition of a client", "messages were lost or late"}, {"partition of a client", "messages of a client were lost or late"}}},
	{"tuned", "bug-renew-without-owner", "scenario run late-renewal --lock BUG/renew-without-owner --cluster redis", []cause{
		{"pause of a client", "was renewed although another client held the lock"}, {"", "was renewed although another client held the lock"},
		{"", "renewed, although another client had held"}, {"", "a lease was extended that its client had lost"}, stopped[0]}},

	// The holdout, made when nothing was changed any more: nothing was tuned on these.
	{"holdout", "h-memory-redis-lua-beside-lossy-links", "run --lock redis-lua --faults kill:redis,loss:client" + fenced, memory},
	{"holdout", "h-memory-redis-lua-long-lease", "run --lock redis-lua --ttl 2s --faults kill:redis" + fenced, memory},
	{"holdout", "h-memory-redis-two-keys", "run --lock redis --keys 2 --faults kill:redis" + open, memory},
	{"holdout", "h-memory-redislock-beside-pauses", "run --lock redislock --faults kill:redis,pause:waiter" + open, memory},
	{"holdout", "h-memory-reentrant-beside-clocks", "run --lock redis-reentrant --workload acquire-only --faults kill:redis,clock:client" + open, memory},
	{"holdout", "h-memory-semaphore-beside-kills", "run --lock redis-semaphore --workload acquire-only --faults kill:redis,kill:waiter" + open, memory},
	{"holdout", "h-memory-redis-delay", "run --lock redis-delay --faults kill:redis" + open, memory},
	{"holdout", "h-memory-seeded", "run --lock BUG/token-before-lock --right --cluster redis --faults kill:redis" + fenced, memory},
	{"holdout", "h-memory-powerloss", "run --lock redis --faults powerloss:redis,clock:client" + open, []cause{
		{"powerloss of a server", "forgot a grant when its server failed"}, {"powerloss of a server", "forgot its grants and the counter of the tokens"}}},
	{"holdout", "h-memory-wiped", "run --lock redis --faults kill:redis:wipe,slow:waiter" + open, memory},
	{"holdout", "h-failover-fenced", "scenario run failover-lost-lock --lock redis-replica --fencing read-write", tookOver},
	{"holdout", "h-server-clock-redis-lua-beside-kills", "run --lock redis-lua --faults clock:redis:+30s,kill:waiter" + fenced, serverClock},
	{"holdout", "h-server-clock-redis-beside-lossy-links", "run --lock redis --faults clock:redis:+10s,loss:waiter" + open, serverClock},
	{"holdout", "h-server-clock-redis-fast", "run --lock redis-lua --faults clock:redis:x3" + fenced, serverClock},
	{"holdout", "h-server-clock-seeded", "run --lock BUG/token-from-clock --right --cluster redis --faults clock:redis:+30s,clock:client" + fenced, serverClock},
	{"holdout", "h-server-clock-postgres-table", "run --lock postgres-table --ttl 2s --faults clock:postgres:+30s,clock:client" + fenced, serverClock},
	{"holdout", "h-client-clock-dynamodb", "run --lock dynamodb-wallclock --faults clock:client:+30s,slow:waiter" + fenced, clientClock},
	{"holdout", "h-client-clock-takeover", "run --lock BUG/wall-clock-takeover --cluster redis --faults clock:client:+10s,pause:waiter" + fenced, clientClock},
	{"holdout", "h-client-clock-token-beside-pauses", "run --lock BUG/token-from-clock --cluster redis --faults clock:client,pause:waiter" + fenced, clientClock},
	{"holdout", "h-client-clock-takeover-beside-pauses-of-server", "run --lock BUG/wall-clock-takeover --cluster redis --faults clock:client:+30s,pause:redis" + fenced, clientClock},
	{"holdout", "h-pause-redislock-long-lease", "run --lock redislock --ttl 2s --faults pause:holder --duration 14s", stopped},
	{"holdout", "h-pause-redis-beside-lossy-links", "run --lock redis --faults pause:holder,loss:waiter" + open, stopped},
	{"holdout", "h-pause-redis-lua-beside-kills", "run --lock redis-lua --faults pause:holder,kill:waiter" + open, stopped},
	{"holdout", "h-pause-redlock-beside-clocks", "run --lock redlock --faults pause:holder,clock:c2" + open, stopped},
	{"holdout", "h-pause-dynamodb-scenario", "scenario run pause-holder --lock dynamodb", stopped},
	{"holdout", "h-pause-add", "run --lock redis --workload add --faults pause:holder" + open, stopped},
	{"holdout", "h-cut-redislock", "run --lock redislock --faults partition:holder:register,clock:c1" + open, late("partition")},
	{"holdout", "h-cut-redis-lua", "run --lock redis-lua --faults partition:holder:register,pause:waiter" + open, append(late("partition"), stopped...)},
	{"holdout", "h-slow-postgres-table", "run --lock postgres-table --faults slow:holder:register:1500ms" + open, late("slow")},
	{"holdout", "h-hold-redis-lua", "run --lock redis-lua --faults hold:holder:register" + open, late("hold")},
	{"holdout", "h-section-redis-lua-beside-pauses", "run --lock redis-lua --faults pause:c5" + long, append(tooLong, stopped...)},
	{"holdout", "h-section-postgres-beside-slow-links", "run --lock postgres-table --faults slow:waiter,clock:client" + long, tooLong},
	{"holdout", "h-section-redis-add-beside-cuts", "run --lock redis --workload add --faults partition:waiter" + long, tooLong},
	{"holdout", "h-section-redislock-beside-flaps", "run --lock redislock --faults flap:waiter:servers" + long, tooLong},
	{"holdout", "h-section-dynamodb-beside-pauses", "run --lock dynamodb --faults pause:waiter" + long, tooLong},
	{"holdout", "h-bug-check-then-set-beside-kills", "run --lock BUG/check-then-set --cluster redis --faults kill:waiter" + fenced, twoSteps},
	{"holdout", "h-bug-wake-up-is-grant-beside-clocks", "run --lock BUG/wake-up-is-grant --cluster redis --faults clock:client" + fenced, append(byItself, twoSteps...)},
	{"holdout", "h-bug-reentrant-beside-pauses", "run --lock BUG/reentrant-by-thread --cluster redis --faults pause:waiter" + fenced, byItself},
	{"holdout", "h-bug-impatient-beside-slow-links", "run --lock BUG/impatient-waiter --cluster redis --faults slow:client --fencing read-write --duration 10s", append(byItself, shortKey...)},
	{"holdout", "h-bug-token-per-client-beside-pauses", "run --lock BUG/token-per-client --cluster redis --faults pause:client" + fenced, tokenOrder},
	{"holdout", "h-bug-token-before-lock-beside-cuts", "run --lock BUG/token-before-lock --cluster redis --faults partition:waiter" + fenced, tokenOrder},
	{"holdout", "h-bug-redis-incr", "run --lock redis-incr --faults pause:redis,clock:client" + fenced, tokenOrder},
	{"holdout", "h-bug-get-then-del-beside-clock", "scenario run pause-in-release --lock BUG/get-then-del --cluster redis --fencing read-write", heldUp},
	{"holdout", "h-bug-check-then-set-and-server-kills", "run --lock BUG/check-then-set --cluster redis --faults kill:redis,pause:waiter" + open, append(twoSteps, memory...)},
	{"holdout", "h-bug-del-without-owner-beside-cuts", "run --lock BUG/del-without-owner --cluster redis --faults pause:holder,partition:waiter" + open, notAsked},
	{"holdout", "h-bug-short-key-and-powerloss", "run --lock BUG/short-key --cluster redis --faults powerloss:redis,slow:client" + open, append(shortKey, cause{"powerloss of a server", "forgot a grant when its server failed"},
		cause{"powerloss of a server", "forgot its grants and the counter of the tokens"})},
	{"holdout", "h-bug-redis-del-beside-clock-set-back", "run --lock redis-del --faults clock:redis:-5s,pause:holder" + open, append(append(lapsed, notAsked...), serverClock...)},
	{"holdout", "h-bug-redis-del-and-server-clock-beside-flaps", "run --lock redis-del --faults clock:redis:+2s,flap:waiter:servers" + open, append(lapsed, serverClock...)},
	{"holdout", "h-bug-redis-del-and-server-clock-beside-holder-pauses", "run --lock redis-del --faults clock:redis:+5s,pause:holder" + open, append(append(lapsed, notAsked...), serverClock...)},
	{"holdout", "h-bug-redis-del-and-server-clock-beside-any-pauses", "run --lock redis-del --faults clock:redis:+10s,pause:client" + open, append(append(lapsed, notAsked...), serverClock...)},
	{"holdout", "h-bug-short-key-and-server-clock-beside-loss", "run --lock BUG/short-key --cluster redis --faults clock:redis:+5s,loss:waiter" + open, append(shortKey, serverClock...)},
	{"holdout", "h-bug-redis-setnx", "scenario run holder-crashes --lock redis-setnx", []cause{{"kill of a client", "nobody frees the lock of a holder that crashed"}}},
}
