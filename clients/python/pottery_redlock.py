"""pottery's Redlock (https://github.com/brainix/pottery) over several Redis servers, as shipped: all defaults
but the auto_release_time.

Its documentation (3.0.1, https://github.com/brainix/pottery#readme) promises Redlock: a lock that a majority of
the servers has granted, which is over after its auto_release_time; extend() up to three times; and a release
that raises ReleaseUnlockedLock if the lock is not held.
"""
import inspect
import logging

import redis
from pottery import ExtendUnlockedLock, Redlock, ReleaseUnlockedLock, TooManyExtensions

import picklock

logging.disable(logging.CRITICAL)


# In versions before 3 it is private, and the release time counts in ms.
_round = getattr(Redlock, "_acquire_masters", None) or Redlock._Redlock__acquire_masters
_SCALE = 1 if inspect.signature(Redlock).parameters["auto_release_time"].default >= 1000 else 1 / 1000


class Noting(Redlock):
    """The library's own, which also notes when each round of requests begins."""

    def _Redlock__acquire_masters(self, **settings):  # as acquire calls it
        self.since = picklock.monotonic()
        return _round(self, **settings)


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.ttl, self.held = ttl_ms, {}
        addresses = [server.rsplit(":", 1) for server in servers]
        self.masters = {redis.Redis(host, int(port)) for host, port in addresses}
        return {"lease": True, "renew": True, **picklock.loaded("pottery")}

    def lease(self, since):
        """What the library counts on: less 1 % and 2 ms for clocks that run at different speeds."""
        return {"lease_ms": self.ttl - self.ttl // 100 - 2, "since_ns": since}

    def acquire(self, key, timeout_ms, shared):
        lock = Noting(key=key, masters=self.masters, auto_release_time=self.ttl * _SCALE)
        if not lock.acquire(timeout=timeout_ms / 1000):
            return None
        self.held[key] = lock
        return self.lease(lock.since)

    def renew(self, key):
        if key not in self.held:
            return None
        since = picklock.monotonic()
        try:
            self.held[key].extend()
        except TooManyExtensions as e:
            raise picklock.NotSent(repr(e)) from e
        except ExtendUnlockedLock as e:
            return self.no_majority(e)
        return self.lease(since)

    def release(self, key):
        if key not in self.held:
            return False
        try:
            self.held[key].release()
        except ReleaseUnlockedLock as e:
            return bool(self.no_majority(e))
        return True

    def no_majority(self, e):
        """The lock is no longer ours, unless servers that did not answer have it."""
        if e.redis_errors:
            raise picklock.Unknown(repr(e)) from e

    def close(self):
        for master in self.masters:
            master.close()


picklock.serve(Lock)
