"""kazoo's locks (https://github.com/python-zk/kazoo) on ZooKeeper, as shipped. The argument names the lock:
lock, rw (ReadLock and WriteLock) or semaphore.

Its documentation (2.11.0, https://kazoo.readthedocs.io/en/latest/api/recipe/lock.html) promises
mutual exclusion with waiting clients in line, for as long as the session lives. Of that a program
learns by a listener, and is to take its locks for lost when the connection is suspended
(https://kazoo.readthedocs.io/en/latest/basic_usage.html#understanding-kazoo-states).

Option listener: on what a holder counts its lock as lost. suspended (default): when the connection
is down, as the library's documentation advises; lost: when the session has ended; none: never, as
of a program that adds no state listener.
"""
import logging
import sys

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import CancelledError, KazooException, LockTimeout

import picklock

logging.basicConfig(stream=sys.stderr, level=logging.CRITICAL)

TYPE = sys.argv[1]
LOSING = {"none": [], "lost": [KazooState.LOST], "suspended": [KazooState.SUSPENDED, KazooState.LOST]}


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.name, self.held, self.locks, self.permits = client, set(), {}, int(options.get("permits", "2"))
        self.waiting = None  # the lock that is waited for
        self.losing = LOSING[options.get("listener", "suspended")]
        self.zk = KazooClient(",".join(servers), timeout=ttl_ms / 1000)
        self.failures = (KazooException, self.zk.handler.timeout_exception)
        self.zk.add_listener(self.changed)
        self.zk.start()
        kind = {"lock": {}, "rw": {"kind": "rw"}, "semaphore": {"kind": "semaphore", "permits": self.permits}}[TYPE]
        return {"lease": False, **kind, **picklock.loaded("kazoo")}

    def changed(self, state):
        """Told by the library, in a thread of its own, of every change of the session."""
        if state in self.losing:
            for key in list(self.held):
                picklock.lost(key)

    def lock(self, path, shared):
        if TYPE == "semaphore":
            return self.zk.Semaphore(path, self.name, max_leases=self.permits)
        if TYPE == "rw":
            return self.zk.ReadLock(path, self.name) if shared else self.zk.WriteLock(path, self.name)
        return self.zk.Lock(path, self.name)

    def acquire(self, key, timeout_ms, shared):
        lock = self.lock("/picklock/" + key, shared)
        own = lock.create_path.rsplit("/", 1)[1]  # how the name of its node begins
        self.waiting = lock
        try:
            lock.acquire(timeout=timeout_ms / 1000)
        except (LockTimeout, CancelledError) as e:
            # Its node is taken out of the line if that can be done, and not looked after.
            if any(node.startswith(own) for node in self.zk.get_children("/picklock/" + key)):
                raise picklock.Unknown("it gave up, and its node is left in the line") from None
            if isinstance(e, CancelledError):
                raise picklock.Cancelled from None
            return None
        except self.failures as e:  # it may have taken effect or not
            raise picklock.Unknown(repr(e)) from e
        finally:
            self.waiting = None
        self.locks[key] = lock
        self.held.add(key)
        return {}

    def cancel(self, key):
        """What the library offers other threads to end the wait with."""
        if lock := self.waiting:
            lock.cancel()

    def release(self, key):
        if key not in self.locks:
            return False
        self.held.discard(key)
        try:
            return self.locks[key].release()  # of a node that is gone too, without a word
        except self.failures as e:
            raise picklock.Unknown(repr(e)) from e

    def close(self):
        self.zk.stop()
        self.zk.close()


picklock.serve(Lock)
