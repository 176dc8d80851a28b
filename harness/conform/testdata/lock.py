"""A lock in a file, for the tests: right as it stands, and wrong in the one way that its
argument names."""
import fcntl
import json
import os
import subprocess
import sys
import threading
import time

MISTAKE = sys.argv[1] if len(sys.argv) > 1 else ""
path, ttl, held, began, client, opened = "", 0, {}, {}, "", {}


def wrong(name):
    return MISTAKE == name


def tell(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def change(key, step):
    """Reads what the file says of a key, has step change it, and writes it back."""
    with open(path, "a+") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        f.seek(0)
        state = json.loads(f.read() or "{}")
        of = state.setdefault(key, {"owner": "", "until": 0, "token": 0})
        out = step(of)
        f.seek(0)
        f.truncate()
        f.write(json.dumps(state))
        return out


# The monotonic clock is read first: if this process waits for a processor in between, now() is early, and never later than it is.
booted = -time.monotonic_ns() + time.time_ns()


def now():
    """The monotonic clock, as the mistake has it."""
    if wrong("wall-clock"):
        return time.time_ns()
    if wrong("wall-clock-since-boot"):
        return time.time_ns() - booted
    if wrong("milliseconds"):
        return time.monotonic_ns() // 1_000_000
    if wrong("future"):
        return time.monotonic_ns() + 10**12
    return time.monotonic_ns()


def acquire(key, timeout_ms, cancel_ms):
    seconds = time.time if wrong("wall-clock-time-out") else time.monotonic
    end = seconds() + timeout_ms / 1000
    cancelled = seconds() + cancel_ms / 1000 if cancel_ms and not wrong("cancels-never") else float("inf")

    def step(of):
        if of["owner"] and of["until"] > time.monotonic_ns() or of.get("next", client) != client:
            return None
        token = of["token"] + 1
        of.update(owner=client, until=time.monotonic_ns() + ttl * 1_000_000, token=token)
        return token

    while True:
        since = now()
        token = None if wrong("several-refuses") and held and key not in held else change(key, step)
        if token:
            held[key] = token
            began[key] = time.monotonic()
            if MISTAKE in ("watchdog", "watchdog-forgets", "reopens", "reopens-and-keeps"):
                threading.Thread(target=watch, args=(key, token), daemon=True).start()
            grant = {"ok": True, "token": token, "lease_ms": ttl, "since_ns": since}
            if wrong("no-token"):
                del grant["token"]
            if wrong("token-falls"):
                grant["token"] = 1000 - token
            if wrong("no-lease"):
                del grant["lease_ms"], grant["since_ns"]
            if wrong("no-since"):
                del grant["since_ns"]
            if wrong("lease-negative"):
                grant["lease_ms"] = -ttl
            return grant
        if wrong("reopens-and-sleeps"):
            time.sleep(max(0, end - seconds()))
            return {"ok": False, "error": "timeout", "definite": True}
        if seconds() > cancelled:
            if wrong("cancels-and-keeps"):
                change(key, lambda of: of.update(next=client))
            return {"ok": False, "error": "timeout" if wrong("cancels-as-time-out") else "cancelled", "definite": True}
        if not wrong("waits-for-ever") and seconds() > end:
            if wrong("late"):
                time.sleep(ttl / 1000 * 2)
            return {"ok": False, "error": "timeout", "definite": True}
        time.sleep(0.01)


def owned(key, of):
    return of["owner"] == client and of["token"] == held[key] or wrong("confirms-all")


def renew(key):
    since = now()

    def step(of):
        if not owned(key, of) or wrong("refuses-renew"):
            return False
        of["until"] = time.monotonic_ns() + ttl * 1_000_000
        return True

    if not change(key, step):
        return {"ok": False, "error": "not held", "definite": True}
    lease = {"ok": True, "lease_ms": ttl, "since_ns": since}
    if wrong("renew-without-lease"):
        del lease["lease_ms"]
    if wrong("renew-without-since"):
        del lease["since_ns"]
    return lease


def holds(key):
    def step(of):
        return of["owner"] == client and of["token"] == held[key] and of["until"] > time.monotonic_ns()

    answer = {"ok": True, "held": (change(key, step) or wrong("holds-always")) and not wrong("holds-never")}
    if wrong("holds-without-held"):
        del answer["held"]
    return answer


def watch(key, token):
    """Renews by itself until the release."""
    while held.get(key) == token:
        time.sleep(ttl / 4000)
        if held.get(key) == token and not renew(key)["ok"]:
            return


def release(key):
    def step(of):
        if not owned(key, of):
            return False
        if not wrong("keeps"):
            of["owner"] = ""
        return True

    forgot = wrong("several-forgets") and key not in held or wrong("watchdog-forgets") and time.monotonic() - began[key] > ttl / 1000
    done = not wrong("refuses-release") and not forgot and change(key, step)
    if wrong("several-forgets"):
        held.clear()
    return {"ok": True} if done else {"ok": False, "error": "not held", "definite": True}


def open_lock(request):
    global path, ttl, client
    path, ttl, client = request["options"]["file"], request["ttl_ms"], request["client"]
    said = {"ok": True, "tokens": True, "lease": True, "kind": "mutex", "renew": True, "confirms": True, "holds": True}
    if MISTAKE.startswith("reopens"):
        again = "reopens" in opened
        opened["reopens"] = True
        said["reopens"] = True
        if again and wrong("reopens-once"):
            return {"ok": False, "error": "it is open", "definite": True}
        if again and wrong("reopens-otherwise"):
            said["holds"] = False
        if not wrong("reopens-and-keeps"):
            held.clear()
    if MISTAKE.startswith("cancels"):
        said["cancels"] = True
    if MISTAKE.startswith("several"):
        said["several"] = True
    if MISTAKE.startswith("watchdog"):
        said["watchdog"] = True
    if wrong("kind"):
        said["kind"] = "latch"
    if wrong("tokens-in-words"):
        said["tokens"] = "yes"
    if wrong("reentrant"):
        said["kind"] = "reentrant"
    if wrong("rw"):
        said["kind"] = "rw"
    if wrong("semaphore"):
        said.update(kind="semaphore", permits=2)
    if wrong("declares-no-lease"):
        said["lease"] = False
    if wrong("child"):
        subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    if wrong("session"):
        subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    if wrong("refuses-open"):
        return {"ok": False, "error": "no luck", "definite": True}
    return said


def answer(request):
    op = request["op"]
    if wrong("crash-at-" + op):
        raise RuntimeError("no luck")
    if wrong("exit-at-" + op):
        sys.exit(3)
    if op == "open":
        return open_lock(request)
    if op == "acquire":
        reply = acquire(request["key"], request.get("timeout_ms", 60_000), request.get("cancel_ms"))
        if wrong("event"):
            tell({"event": "found", "key": request["key"]})
        if wrong("event-without-key"):
            tell({"event": "lost"})
        if wrong("renewed-without-since"):
            tell({"event": "renewed", "key": request["key"], "lease_ms": ttl})
        if wrong("renewed-by-wall-clock"):
            tell({"event": "renewed", "key": request["key"], "lease_ms": ttl, "since_ns": time.time_ns()})
        return reply
    if op == "renew":
        return renew(request["key"])
    if op == "holds":
        return holds(request["key"])
    if op == "release":
        return release(request["key"])
    if wrong("ok-to-unknown"):
        return {"ok": True}
    return {"ok": False, "error": "unknown request", "definite": True}


if wrong("greets"):
    print("Welcome", flush=True)
if wrong("exit"):
    sys.exit(0)
lines = iter(sys.stdin.readline, "")
for line in lines:
    request = json.loads(line)
    if request["op"] == "close":
        while wrong("close-blocks"):
            time.sleep(1)
        if wrong("close-blocks-holding") and held:
            time.sleep(600)
        break
    if wrong("babbles") or wrong("babbles-at-" + request["op"]):
        print("what is the matter?" if wrong("babbles") else "granted!", flush=True)
        continue
    reply = answer(request)
    if request["op"] == "acquire" and wrong("prints"):
        print("DEBUG: acquired", flush=True)
    if wrong("silent-at-" + request["op"]) or wrong("silent-at-unknown") and reply.get("error") == "unknown request":
        continue
    message = {"id": request["id"], **reply}
    if wrong("wrong-id"):
        message["id"] += 1
    if wrong("no-id"):
        del message["id"]
    if wrong("id-in-quotes"):
        message["id"] = str(message["id"])
    if wrong("no-ok"):
        del message["ok"]
    if wrong("ok-in-quotes"):
        message["ok"] = "true" if message["ok"] else "false"
    if wrong("no-reason"):
        message.pop("error", None)
    if wrong("long-line"):
        message["padding"] = "x" * 70_000
    if wrong("half-line") and request["op"] == "acquire":
        sys.stdout.write('{"id":2,"ok":')
        sys.stdout.flush()
        os._exit(0)
    if wrong("list"):
        sys.stdout.write(json.dumps([message]) + "\n")
        sys.stdout.flush()
        continue
    tell(message)
    if wrong("twice"):
        tell(message)
if wrong("outlives-stdin"):
    time.sleep(600)
