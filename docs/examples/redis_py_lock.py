"""redis-py's Lock as shipped, for picklock (Debian: python3-redis):

    picklock run --lock 'exec:/usr/bin/python3 docs/examples/redis_py_lock.py' --cluster redis

Options (--lock-option): socket_timeout=SECONDS (default: none, so that a command waits
for its answer for ever) and sleep=SECONDS between two tries (default: 0.1).
"""
import json, sys, time
import redis
from redis.exceptions import ConnectionError, LockNotOwnedError, RedisError, ResponseError


class Lock(redis.lock.Lock):
    """The library's own, which also notes when each request for the lock is sent."""

    def do_acquire(self, token):
        self.since = time.monotonic_ns()
        return super().do_acquire(token)


def acquire(key, timeout_ms):
    lock = Lock(client, key, timeout=ttl / 1000, sleep=sleep, blocking_timeout=timeout_ms / 1000)
    try:
        if not lock.acquire():
            return {"ok": False, "error": "timeout", "definite": True}
    except ConnectionError as e:  # refused before anything was sent, or broken after it
        return {"ok": False, "error": str(e), "definite": isinstance(e.__context__, ConnectionRefusedError)}
    except ResponseError as e:  # the server's own word
        return {"ok": False, "error": str(e), "definite": True}
    held[key] = lock
    return {"ok": True, "lease_ms": ttl, "since_ns": lock.since}


def release(key):
    try:
        held.pop(key).release()
    except LockNotOwnedError:
        return {"ok": False, "error": "not held", "definite": True}
    return {"ok": True}


held = {}  # by key
for request in map(json.loads, sys.stdin):
    try:
        if request["op"] == "open":
            host, port = request["servers"][0].rsplit(":", 1)
            ttl, options = request["ttl_ms"], request["options"]
            sleep = float(options.get("sleep", 0.1))
            patience = options.get("socket_timeout")
            client = redis.Redis(host, int(port), socket_timeout=patience and float(patience))
            answer = {"ok": True}
        elif request["op"] == "acquire":
            answer = acquire(request["key"], request.get("timeout_ms", 60_000))
        elif request["op"] == "release":
            answer = release(request["key"])
        elif request["op"] == "close":
            break
        else:
            answer = {"ok": False, "error": "unknown request", "definite": True}
    except RedisError as e:  # it may have taken effect or not
        answer = {"ok": False, "error": str(e), "definite": False}
    print(json.dumps({"id": request["id"], **answer}), flush=True)
