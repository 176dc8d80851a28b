"""A Redis lock for picklock with nothing but Python's standard library:

    picklock run --lock 'exec:python3 docs/examples/redis_lock.py' --cluster redis
"""
import json, random, secrets, socket, sys, time

RELEASE = 'if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end'
redis, held = None, {}  # the connection; by key, the value that we set

def command(*words):
    """Send a command and return its reply's text, or None for Redis's nil."""
    global redis
    try:
        redis = redis or socket.create_connection(server, ttl / 1000).makefile("rwb")
        words = [str(word).encode() for word in words]
        redis.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        redis.flush()
        reply = redis.readline().decode()
        if not reply.endswith("\n") or reply[0] == "-":
            raise OSError(reply.strip() or "connection closed")
    except OSError:
        redis = None  # what may yet come on this connection answers an old command
        raise
    return None if reply[0] == "$" else reply[1:].strip()

def acquire(key, timeout_ms):
    end, value = time.monotonic() + timeout_ms / 1000, secrets.token_hex(16)
    while time.monotonic() < end:
        since = time.monotonic_ns()
        try:
            if command("SET", key, value, "NX", "PX", ttl) == "OK":
                held[key] = value
                return {"ok": True, "lease_ms": ttl, "since_ns": since}
        except ConnectionRefusedError:
            pass  # nothing was sent, so to try again is safe
        time.sleep(random.uniform(0.002, 0.02))
    return {"ok": False, "error": "timeout", "definite": True}

def release(key):
    if command("EVAL", RELEASE, 1, key, held[key]) == "1":
        return {"ok": True}
    return {"ok": False, "error": "not held", "definite": True}

for request in map(json.loads, sys.stdin):
    try:
        if request["op"] == "open":
            (host, port), ttl = request["servers"][0].rsplit(":", 1), request["ttl_ms"]
            server, answer = (host, int(port)), {"ok": True}
        elif request["op"] == "acquire":
            answer = acquire(request["key"], request.get("timeout_ms", 60_000))
        elif request["op"] == "release":
            answer = release(request["key"])
        elif request["op"] == "close":
            break
        else:
            answer = {"ok": False, "error": "unknown request", "definite": True}
    except OSError as e:  # it may have taken effect or not
        answer = {"ok": False, "error": str(e), "definite": False}
    print(json.dumps({"id": request["id"], **answer}), flush=True)
