"""A Redis lock for picklock with nothing but Python's standard library:

    picklock run --lock 'exec:python3 docs/examples/redis_lock.py' --cluster redis
"""
import json, random, secrets, socket, sys, time

RELEASE = 'if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end'
redis, held = None, {}  # the connection; by key, the value that we set

def connect():
    global redis
    if redis is None:
        host, port = server.rsplit(":", 1)
        redis = socket.create_connection((host, int(port)), ttl / 1000).makefile("rwb")

def command(*words):
    """Send a command and return its reply: "OK", a number, or None for nil."""
    global redis
    try:
        words = [str(w).encode() for w in words]
        redis.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        redis.flush()
        line = redis.readline().decode()
        if not line.endswith("\r\n") or line[0] == "-":
            raise OSError(line or "connection closed")
    except OSError:
        redis = None  # whatever still comes on this connection answers an old command
        raise
    return {"+": line[1:-2], ":": line[1:-2], "$": None}[line[0]]

def acquire(key, timeout_ms):
    end, value = time.monotonic() + timeout_ms / 1000, secrets.token_hex(16)
    while time.monotonic() < end:
        try:
            connect()
        except OSError:  # nothing was sent, so this is safe to try again
            time.sleep(0.01)
            continue
        since = time.monotonic_ns()
        if command("SET", key, value, "NX", "PX", ttl) == "OK":
            held[key] = value
            return {"ok": True, "lease_ms": ttl, "since_ns": since}
        time.sleep(random.uniform(0.002, 0.02))
    return {"ok": False, "error": "timeout", "definite": True}

def release(key):
    connect()
    if command("EVAL", RELEASE, 1, key, held.pop(key)) == "1":
        return {"ok": True}
    return {"ok": False, "error": "not held", "definite": True}

for line in sys.stdin:
    request = json.loads(line)
    try:
        if request["op"] == "open":
            server, ttl, answer = request["servers"][0], request["ttl_ms"], {"ok": True}
        elif request["op"] == "acquire":
            answer = acquire(request["key"], request.get("timeout_ms", 60_000))
        elif request["op"] == "release":
            answer = release(request["key"])
        else:
            break
    except OSError as e:  # it may have happened or not
        answer = {"ok": False, "error": str(e), "definite": False}
    print(json.dumps({"id": request["id"], **answer}), flush=True)
