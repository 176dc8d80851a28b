"""Speaks picklock's exec protocol for a lock: one request or answer a line, as JSON
(https://github.com/picklock/picklock/blob/main/docs/reference/exec.md).

A lock is an object with open, acquire and release, and with renew, holds and downgrade if it can. serve() does the rest.
One with close can be opened again in the same process: another object is opened then, and the former one is closed.
One with answered is told when the answer of an acquire that was granted has been written: a loss that is told before is taken for a former grant's.
One with cancel has its acquire cancelled: cancel(key) is called in another thread while acquire waits, which then raises Cancelled.
"""
import contextlib
import importlib.metadata
import json
import os
import sys
import threading
import time
import traceback


class Unknown(Exception):
    """Nobody knows whether the request took effect."""


class NotSent(Exception):
    """The request certainly had no effect."""


class Cancelled(Exception):
    """The user of the lock has cancelled the acquire, and was told that it does not hold the lock."""


def monotonic():
    """CLOCK_MONOTONIC in ns, which picklock reads too: the time of since_ns."""
    return time.monotonic_ns()


def loaded(distribution):
    """What open adds to its answer, so that records name the version that runs."""
    return {"library": "pypi:" + distribution, "version": importlib.metadata.version(distribution)}


def renewed(key, lease_ms, since_ns):
    """To call when the lock has renewed its lease by itself."""
    _tell({"event": "renewed", "key": key, "lease_ms": lease_ms, "since_ns": since_ns})


def lost(key):
    """To call when it has learnt by itself that it no longer holds the lock."""
    _tell({"event": "lost", "key": key})


# Only answers may be on standard output: what a library prints goes to standard error.
_out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
_writing = threading.Lock()


def _tell(message):
    """Writes one line, whole: threads may call it at once."""
    with _writing:
        _out.write(json.dumps(message) + "\n")
        _out.flush()


NOT_HELD = {"ok": False, "error": "not held", "definite": True}


def _answer(lock, request):
    op, key = request["op"], request.get("key")
    if op == "open":
        # A lock in files has no servers: it gets the folder that all clients share in their place.
        servers, options = request.get("servers", [request.get("directory")]), request["options"]
        answer = {"ok": True, **lock.open(servers, request["client"], request["ttl_ms"], options)}
        if hasattr(lock, "cancel"):
            answer["cancels"] = True
        return {**answer, "reopens": True} if hasattr(lock, "close") else answer
    if op == "acquire":
        with _cancelling(lock, key, request.get("cancel_ms")):
            grant = lock.acquire(key, request.get("timeout_ms", 60_000), request.get("mode") == "shared")
        return {"ok": False, "error": "timeout", "definite": True} if grant is None else {"ok": True, **grant}
    if op == "renew" and hasattr(lock, "renew"):
        lease = lock.renew(key)
        return NOT_HELD if lease is None else {"ok": True, **lease}
    if op == "release":
        return {"ok": True} if lock.release(key) else NOT_HELD
    if op == "holds" and hasattr(lock, "holds"):
        return {"ok": True, "held": lock.holds(key)}
    if op == "downgrade" and hasattr(lock, "downgrade"):
        grant = lock.downgrade(key)
        return NOT_HELD if grant is None else {"ok": True, **grant}
    return {"ok": False, "error": "unknown request " + op, "definite": True}


@contextlib.contextmanager
def _cancelling(lock, key, after_ms):
    """Cancels what waits for the lock after a time; None: never."""
    if after_ms is None or not hasattr(lock, "cancel"):
        yield
        return
    clock = threading.Timer(after_ms / 1000, lock.cancel, [key])
    clock.daemon = True
    clock.start()
    try:
        yield
    finally:
        clock.cancel()


MOST_CLOSING = 2
_closing = []  # the threads that close what was opened before


def _close_aside(lock):
    """Closes a lock, and does not wait for that: its connections may be those that a fault has harmed."""
    _closing[:] = [t for t in _closing if t.is_alive()]
    if len(_closing) >= MOST_CLOSING:
        raise NotSent("locks that were opened before are still being closed")
    _closing.append(threading.Thread(target=lock.close, daemon=True))
    _closing[-1].start()


def serve(make):
    """Answers requests until the program is told to end, or its input does. make makes a lock that is not open yet."""
    lock = None
    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] == "close":
            break
        try:
            if request["op"] == "open":
                if lock is not None:
                    _close_aside(lock)
                lock = make()
            reply = _answer(lock, request)
        except Cancelled:
            reply = {"ok": False, "error": "cancelled", "definite": True}
        except NotSent as e:
            reply = {"ok": False, "error": str(e), "definite": True}
        except Unknown as e:
            reply = {"ok": False, "error": str(e), "definite": False}
        except Exception as e:  # whoever gets it does not know more either
            traceback.print_exc()
            reply = {"ok": False, "error": repr(e), "definite": False}
        _tell({"id": request["id"], **reply})
        if request["op"] == "acquire" and reply["ok"] and hasattr(lock, "answered"):
            lock.answered(request["key"])
    os._exit(0)  # threads of the library may still run
