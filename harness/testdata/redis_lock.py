"""A lock on Redis with one mistake, or none, for the tests of the catalogue:

    python3 redis_lock.py MISTAKE

none                no mistake
tokens              none either; a fencing token is drawn in the script that takes the lock
check-then-set      it looks whether the key is there, and sets it in a second step
del-without-owner   it deletes the key without looking whose it is
setnx-no-ttl        the key never expires
incr-then-set       the token is drawn before the lock is won
"""
import json, random, secrets, socket, sys, time

mistake = sys.argv[1]
RELEASE = 'if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end'
TAKE = 'if redis.call("set",KEYS[1],ARGV[1],"NX","PX",ARGV[2]) then return redis.call("incr",KEYS[2]) else return 0 end'
conn, held = None, {}


def reply():
    line = conn.readline()
    if not line.endswith(b"\n") or line[:1] == b"-":
        raise OSError(line.decode().strip() or "connection closed")
    if line[:1] != b"$":
        return line[1:].strip().decode()
    size = int(line[1:])
    return None if size < 0 else conn.read(size + 2)[:-2].decode()


def command(*words):
    global conn
    try:
        conn = conn or socket.create_connection(server, 5).makefile("rwb")
        words = [str(word).encode() for word in words]
        conn.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        conn.flush()
        return reply()
    except OSError:
        conn = None  # what may yet come on this connection answers an old command
        raise


def take(key, value, token):
    """Try once. True or a token if the lock is ours."""
    if mistake == "check-then-set":
        return command("GET", key) is None and command("SET", key, value, "PX", ttl) == "OK"
    if mistake == "setnx-no-ttl":
        return command("SETNX", key, value) == "1"
    if mistake == "tokens":
        return int(command("EVAL", TAKE, 2, key, key + ":token", value, ttl))
    return command("SET", key, value, "NX", "PX", ttl) == "OK" and (token or True)


def acquire(key, timeout_ms):
    end, value, token = time.monotonic() + timeout_ms / 1000, secrets.token_hex(16), 0
    if mistake == "incr-then-set":
        token = int(command("INCR", key + ":token"))
    while time.monotonic() < end:
        since = time.monotonic_ns()
        won = take(key, value, token)
        if won:
            held[key] = value
            answer = {"ok": True}
            if mistake != "setnx-no-ttl":
                answer.update(lease_ms=ttl, since_ns=since)
            if won is not True:
                answer["token"] = won
            return answer
        time.sleep(random.uniform(0.002, 0.02))
    return {"ok": False, "error": "timeout", "definite": True}


def release(key):
    value = held.pop(key)
    if mistake == "del-without-owner":
        command("DEL", key)
        return {"ok": True}
    if command("EVAL", RELEASE, 1, key, value) == "1":
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
        else:
            break
    except OSError as e:  # it may have taken effect or not
        answer = {"ok": False, "error": str(e), "definite": False}
    print(json.dumps({"id": request["id"], **answer}), flush=True)
