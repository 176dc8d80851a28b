"""Tests of a distributed lock in pytest: picklock starts the servers, lets real clients fight
over your lock, does harm to them, and proves what held (https://github.com/picklock/picklock).

Copy this file beside conftest.py, and say there: pytest_plugins = ["picklock_pytest"].

    def my_lock(client):  # makes what one client holds, in a process of its own
        return MyLock(client.servers[0], client.key, ttl=client.ttl)

    def test_my_lock(picklock):
        picklock.run(my_lock, cluster="redis", faults=["kill:client"], duration="5s").holds()

What my_lock returns is used again and again for its key, and has:

    acquire(timeout)   true if it got the lock within so many seconds
    release()          False if the lock was no longer its own
    renew()            optional, as release: the lease begins anew
    lease              optional: how many seconds the service promises each grant
    since              optional: time.monotonic_ns() right before the request that was granted.
                       Without it, a lease that was waited for proves little
    token              optional: the grant's fencing token, a number that rises
    watchdog           optional: True if it renews by itself until its release
    notifies           optional: True if it promises to report a loss, with client.lost()
    confirms           optional: True if the service compares the owner in release and renew
    definite(error)    optional: whether what was raised certainly had no effect. All else counts
                       as unknown: it may have
    close()            optional: ends what it has started

lease, since and token are values or methods. A watchdog calls client.renewed(lease, since) and
client.lost(). What the lock prints goes to the client's log. It is made once more at the
start, with another key, to see which of these it has.

PICKLOCK is the program (else it is looked for on PATH), PICKLOCK_OUT the folder where the
records of failed tests are kept (else the one for temporary files).
"""
import importlib
import importlib.util
import json
import os
import queue
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

INSTALL = "go install github.com/picklock/picklock/cmd/picklock@latest, or set PICKLOCK to the program"


# ---- in the test ---------------------------------------------------------------------

class Picklock:
    """Runs picklock. The names of flags are those of its --help: duration="5s" is
    --duration 5s, and a list gives a flag several times."""

    def __init__(self, program):
        self.program, self.results = program, []

    def run(self, lock, **flags):
        """Real clients under faults that strike at random: picklock run."""
        return self._judge(["run"], lock, flags)

    def scenario(self, scenario, lock, **flags):
        """A scenario of the catalogue (picklock list scenarios), or a file: "counterexample-1.yaml"."""
        return self._judge(["scenario", "run", str(scenario)], lock, flags)

    def hunt(self, lock, **flags):
        """A search for the least that breaks the lock: picklock hunt. duration="1m" is how long."""
        return self._judge(["hunt"], lock, {"finish": "30s", **flags})

    def check(self, lock, **flags):
        """Fails unless the lock is adapted as it has to be: picklock lock check."""
        __tracebackhide__ = True
        done = self._start(["lock", "check", command(lock)] + arguments(flags))
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)

    def _judge(self, words, lock, flags):
        __tracebackhide__ = True
        kept = Path(os.environ.get("PICKLOCK_OUT") or tempfile.gettempdir())
        kept.mkdir(parents=True, exist_ok=True)
        out = Path(tempfile.mkdtemp(prefix="picklock-", dir=kept.absolute()))
        done = self._start(words + ["--lock", "exec:" + command(lock), "--out", str(out / "run")] + arguments(flags))
        result = Result(" ".join(words), out / "run", done)
        self.results.append(result)
        if done.returncode not in (0, 1, 2):
            result.judged = True
            raise RuntimeError(f"picklock {words[0]} could not run ({done.returncode}):\n{done.stderr[-3000:]}")
        return result

    def _start(self, words):
        return subprocess.run([self.program, *words], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8")


def command(lock):
    """The command that serves lock to picklock: this file, in this interpreter."""
    module, name = sys.modules[lock.__module__], getattr(lock, "__qualname__", "<")
    if "<" in name:
        raise ValueError(f"{lock!r} has to be a class or a function of a module, so that a client's process finds it")
    folders = [os.path.abspath(p) for p in sys.path if not os.path.abspath(p).startswith((sys.prefix, sys.base_prefix))]
    return shlex.join([sys.executable, os.path.abspath(__file__), "--serve", f"{module.__name__}:{name}", module.__file__, *folders])


def arguments(flags):
    words = []
    for name, values in flags.items():
        for value in values if isinstance(values, (list, tuple)) else [values]:
            words.append(f"--{name.replace('_', '-')}={str(value).lower() if isinstance(value, bool) else value}")
    return words


class Result:
    """What came of it. One of holds, breaks and as_expected has to be asked."""

    def __init__(self, what, directory, done):
        self.what, self.dir, self.code, self.summary = what, directory, done.returncode, done.stdout
        self.judged = self.passed = False
        verdicts = [json.loads(f.read_text()) for f in sorted(directory.glob("**/verdict.json"))]
        if what == "hunt" and self.code in (0, 1, 2):
            found = json.loads((directory / "hunt.json").read_text())["counterexamples"] or []
            verdicts = [{"valid": self.code == 0, "anomalies": [{"name": n} for w in found for n in w["anomalies"]]}]
        valid = [v["valid"] for v in verdicts]
        self.anomalies = sorted({a["name"] for v in verdicts for a in v["anomalies"]})
        self.outcome = "unknown"
        if self.code != 2 and valid and "unknown" not in valid:
            self.outcome = "holds" if all(valid) else "broken"

    def holds(self):
        """Nothing that the lock has to keep to was broken, and enough was tried to say so."""
        __tracebackhide__ = True
        return self._expect(self.outcome == "holds", "to hold")

    def breaks(self, *anomalies):
        """The lock broke, with these anomalies among others (docs/reference/anomalies.md)."""
        __tracebackhide__ = True
        met = self.outcome == "broken" and set(anomalies) <= set(self.anomalies)
        return self._expect(met, " ".join(["to break", *(["with"] if anomalies else []), *anomalies]))

    def as_expected(self):
        """What the scenario itself expects came of it."""
        __tracebackhide__ = True
        return self._expect(self.code == 0, "to do as the scenario expects")

    def _expect(self, met, what):
        __tracebackhide__ = True
        self.judged, self.passed = True, met
        if not met:
            said = {"holds": "it held", "broken": "it broke: " + ", ".join(self.anomalies), "unknown": "nothing was proved"}
            raise AssertionError(f"picklock {self.what}: {said[self.outcome]}. The lock was to {what[3:]}.\n{self.summary}kept: {self.dir}")
        return self


# ---- in a client's process -----------------------------------------------------------

class Client:
    """For whom a lock is made: servers ("host:port" each), key, ttl (the lease to ask for,
    in seconds), name, options (of --lock-option) and directory, where the cluster has one."""

    def __init__(self, opened, key, tell):
        self.servers, self.name, self.ttl = opened.get("servers", []), opened["client"], opened["ttl_ms"] / 1000
        self.options, self.directory, self.key, self._tell = opened.get("options", {}), opened.get("directory"), key, tell

    def lost(self):
        """To call when the lock has learnt by itself that it is no longer held."""
        self._tell({"event": "lost", "key": self.key})

    def renewed(self, lease, since):
        """To call when it has renewed its lease by itself: since is time.monotonic_ns()
        right before the request that was answered."""
        self._tell({"event": "renewed", "key": self.key, "lease_ms": int(lease * 1000), "since_ns": since})


class Adapter:
    """Speaks the protocol (docs/reference/exec.md) for the locks that make makes."""

    def __init__(self, make, out):
        self.make, self.out, self.locks, self.writing = make, out, {}, threading.Lock()

    def tell(self, message):
        with self.writing:
            self.out.write(json.dumps(message) + "\n")
            self.out.flush()

    def answer(self, q):
        op, lock, before = q["op"], None, None
        try:
            if op == "open":
                self.opened = q
                return self.abilities()
            if op not in ("acquire", "renew", "release") or q.get("mode"):
                return failed("unknown request", True)
            lock = self.locks.get(q["key"]) or self.locks.setdefault(q["key"], self.make(Client(self.opened, q["key"], self.tell)))
            before = time.monotonic_ns()  # right before the request, if there is only one
            if op == "acquire":
                if not lock.acquire(q.get("timeout_ms", 60_000) / 1000):
                    return failed("timeout", True)
                return {"ok": True, **self.granted(lock, value(lock, "since") or before)}
            if getattr(lock, op)() is False:
                return failed("not held", True)
            return {"ok": True, **(self.leased(lock, before) if op == "renew" else {})}
        except Exception as e:
            traceback.print_exc()
            return failed(repr(e), before is None or bool(getattr(lock, "definite", lambda _: False)(e)))

    def abilities(self):
        lock = self.make(Client(self.opened, "picklock-looks", self.tell))
        can = {"tokens": "token", "lease": "lease", "renew": "renew"}
        declared = {name: hasattr(lock, attribute) for name, attribute in can.items()}
        close(lock)
        return {"ok": True, "kind": "mutex", **{name: bool(getattr(lock, name, False)) for name in ("watchdog", "notifies", "confirms")}, **declared}

    def granted(self, lock, since):
        token = value(lock, "token")
        return {**self.leased(lock, since), **({} if token is None else {"token": int(token)})}

    def leased(self, lock, since):
        lease = value(lock, "lease")
        return {"since_ns": since, **({} if lease is None else {"lease_ms": int(lease * 1000)})}


def failed(error, definite):
    return {"ok": False, "error": error, "definite": definite}


def value(lock, name):
    v = getattr(lock, name, None)
    return v() if callable(v) else v


def close(lock):
    if hasattr(lock, "close"):
        lock.close()


def load(target, file):
    module, name = target.split(":")
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError:  # it was no module of a folder that is looked into
        spec = importlib.util.spec_from_file_location(module, file)
        loaded = sys.modules[module] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
    for part in name.split("."):
        loaded = getattr(loaded, part)
    return loaded


def serve(target, file, *folders):
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the lock prints must not come between the protocol's lines
    sys.path[1:1] = folders
    adapter, requests = Adapter(load(target, file), out), queue.Queue()

    def read():
        for line in sys.stdin:
            q = json.loads(line)
            if q["op"] == "close":
                break
            requests.put(q)
        stop = threading.Timer(0.5, os._exit, [0])  # whatever it is waiting for
        stop.daemon = True
        stop.start()
        requests.put(None)

    threading.Thread(target=read, daemon=True).start()
    for q in iter(requests.get, None):
        adapter.tell({"id": q["id"], **adapter.answer(q)})
    for lock in adapter.locks.values():
        close(lock)


if __name__ == "__main__":
    serve(*sys.argv[2:])
else:
    import pytest

    @pytest.fixture
    def picklock():
        """picklock, if this machine has it. A test that does not ask what came of a run
        fails. CI may not do without the program; elsewhere the test is skipped."""
        program = shutil.which(os.environ.get("PICKLOCK") or "picklock")
        if program is None:
            missing = pytest.fail if os.environ.get("PICKLOCK") or os.environ.get("CI") else pytest.skip
            missing("there is no program " + (os.environ.get("PICKLOCK") or "picklock") + ": " + INSTALL)
        p = Picklock(program)
        yield p
        for r in p.results:
            if r.passed:
                shutil.rmtree(r.dir.parent)
        left = [r.what for r in p.results if not r.judged]
        assert not left, f"nobody asked what came of picklock {', '.join(left)}: say .holds(), .breaks(...) or .as_expected()"
