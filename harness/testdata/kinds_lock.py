"""Locks on Redis of every kind that an exec lock can be, right or with one mistake:

    python3 kinds_lock.py KIND [wrong]

KIND        what it is                                     what is wrong with it
watchdog    a mutex whose lease a thread keeps renewing    the thread only says so
rw          readers share it, a writer has it alone        a writer is let in beside readers
semaphore   two permits                                    a third is given out
reentrant   its holder may enter it again                  the first release frees it

The leases of those who hold a key are a sorted set, by when they end on the server's clock.
"""
import json, secrets, socket, sys, threading, time

kind, wrong = sys.argv[1], sys.argv[2:] == ["wrong"]
DECLARES = {
    "watchdog": {"kind": "mutex"},
    "rw": {"kind": "rw"},
    "semaphore": {"kind": "semaphore", "permits": 2},
    "reentrant": {"reentrant": True},
}[kind]
NOW = 'local t=redis.call("time") local now=t[1]*1000+math.floor(t[2]/1000) local own=redis.call("zscore",KEYS[1],ARGV[1]) '
PURGE = 'redis.call("zremrangebyscore",KEYS[1],"-inf","("..now) '
ADD = 'redis.call("zadd",KEYS[1],string.format("%.0f",now+ARGV[2]),ARGV[1]) return 1'
FULL = 'if redis.call("zcard",KEYS[1])>=tonumber(ARGV[3]) then return 0 end '
WRITER = 'for _,m in ipairs(redis.call("zrange",KEYS[1],0,-1)) do if string.sub(m,1,1)=="w" then return 0 end end '
RENEW = NOW + 'if not own then return 0 end ' + ADD
RELEASE = 'return redis.call("zrem",KEYS[1],ARGV[1])'


class Redis:
    """One connection."""

    def __init__(self):
        self.conn = None

    def eval(self, script, *words):
        """A script's number; OSError if nobody knows."""
        words = [str(w).encode() for w in ("EVAL", script, 1) + words]
        try:
            self.conn = self.conn or socket.create_connection(server, ttl / 1000).makefile("rwb")
            self.conn.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
            self.conn.flush()
            line = self.conn.readline().decode()
            if not line.startswith(":") or not line.endswith("\n"):
                raise OSError(line.strip() or "connection closed")
            return int(line[1:])
        except OSError:
            self.conn = None  # what may yet come on this connection answers an old command
            raise


class Hold:
    """What this client has of a key."""

    def __init__(self, member):
        self.member, self.depth, self.over = member, 1, threading.Event()


def watchdog(key, hold):
    redis = Redis()
    while not hold.over.wait(ttl / 3000):
        since = time.monotonic_ns()
        try:
            if wrong or redis.eval(RENEW, key, hold.member, ttl) == 1:
                tell({"event": "renewed", "key": key, "lease_ms": ttl, "since_ns": since})
                continue
            tell({"event": "lost", "key": key})
            return
        except OSError:
            pass  # the lease that there is goes on


def take(key, member, shared):
    """Tries once."""
    if shared or kind == "rw" and wrong:
        return main.eval(NOW + PURGE + WRITER + ADD, key, member, ttl) == 1
    permits = DECLARES.get("permits", 1) + (kind == "semaphore" and wrong)
    return main.eval(NOW + PURGE + FULL + ADD, key, member, ttl, permits) == 1


def acquire(key, timeout_ms, shared):
    end = time.monotonic() + timeout_ms / 1000
    again = held.get(key) if kind == "reentrant" else None
    member = again.member if again else ("r" if shared else "w") + secrets.token_hex(8)
    while time.monotonic() < end:
        since = time.monotonic_ns()
        if again:
            if main.eval(RENEW, key, member, ttl) != 1:
                return {"ok": False, "error": "the hold is gone", "definite": True}
            again.depth += 1
        elif not take(key, member, shared):
            time.sleep(0.005)
            continue
        else:
            hold = held[key] = Hold(member)
            if kind == "watchdog":
                threading.Thread(target=watchdog, args=(key, hold), daemon=True).start()
        return {"ok": True, "lease_ms": ttl, "since_ns": since}
    return {"ok": False, "error": "timeout", "definite": True}


def release(key):
    hold = held[key]
    hold.depth -= 1
    hold.over.set()
    if hold.depth > 0 and not wrong:
        ours = main.eval(RENEW, key, hold.member, ttl) == 1
    else:
        ours = main.eval(RELEASE, key, hold.member) == 1
    if hold.depth == 0:
        del held[key]
    return {"ok": True} if ours else {"ok": False, "error": "not held", "definite": True}


telling = threading.Lock()


def tell(message):
    with telling:
        print(json.dumps(message), flush=True)


main, held = Redis(), {}
for request in map(json.loads, sys.stdin):
    op, key = request["op"], request.get("key")
    try:
        if op == "open":
            (host, port), ttl = request["servers"][0].rsplit(":", 1), request["ttl_ms"]
            server, answer = (host, int(port)), {"ok": True, "lease": True, **DECLARES}
        elif op == "acquire":
            answer = acquire(key, request.get("timeout_ms", 60_000), request.get("mode") == "shared")
        elif op == "release":
            answer = release(key)
        else:
            break
    except OSError as e:  # it may have taken effect or not
        answer = {"ok": False, "error": str(e), "definite": False}
    tell({"id": request["id"], **answer})
