"""kazoo's Lock as shipped, for picklock (Debian: python3-kazoo):

    picklock run --lock 'exec:/usr/bin/python3 docs/examples/kazoo_lock.py' --cluster zookeeper

Option listener (--lock-option): on what a holder counts its lock as lost. suspended
(default): when the connection is down, as the library's documentation advises; lost:
when the session has ended; none: never, as of a program that adds no state listener.
"""
import json, logging, sys, threading
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, LockTimeout

logging.basicConfig(stream=sys.stderr, level=logging.CRITICAL)
held = {}  # by key
writing = threading.Lock()


def say(line):
    with writing:
        print(json.dumps(line), flush=True)


def changed(state):
    """Told by the library, in a thread of its own, of every change of the session."""
    if state in losing:
        for key in list(held):
            say({"event": "lost", "key": key})


def acquire(key, timeout_ms):
    lock = zk.Lock("/picklock/" + key, client_name)
    try:
        lock.acquire(timeout=timeout_ms / 1000)
    except LockTimeout:
        # Its node is taken out of the line if that can be done, and not looked after.
        left = any(node.startswith(lock.prefix) for node in zk.get_children("/picklock/" + key))
        return {"ok": False, "error": "timeout", "definite": not left}
    held[key] = lock
    return {"ok": True}


def release(key):
    held.pop(key).release()  # of a node that is gone too, without a word
    return {"ok": True}


for request in map(json.loads, sys.stdin):
    try:
        if request["op"] == "open":
            listener, client_name = request["options"].get("listener", "suspended"), request["client"]
            losing = {"none": [], "lost": [KazooState.LOST], "suspended": [KazooState.SUSPENDED, KazooState.LOST]}[listener]
            zk = KazooClient(",".join(request["servers"]), timeout=request["ttl_ms"] / 1000)
            zk.add_listener(changed)
            zk.start()
            answer = {"ok": True}
        elif request["op"] == "acquire":
            answer = acquire(request["key"], request.get("timeout_ms", 60_000))
        elif request["op"] == "release":
            answer = release(request["key"])
        elif request["op"] == "close":
            zk.stop()
            break
        else:
            answer = {"ok": False, "error": "unknown request", "definite": True}
    except (KazooException, zk.handler.timeout_exception) as e:  # it may have taken effect or not
        answer = {"ok": False, "error": repr(e), "definite": False}
    say({"id": request["id"], **answer})
