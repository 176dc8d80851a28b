"""redlock-py (https://github.com/SPSCommerce/redlock-py) over several Redis servers, as shipped: all defaults but the
lease and how often it tries, which is what the wait has time for.

Its README (1.0.8, https://pypi.org/project/redlock-py/1.0.8/) promises Redlock: lock() returns False, or a lock with
its validity, "the time the lock will be valid for". A MultipleRedlockException says that some servers failed. It is
raised of a lock that a majority has granted, too. unlock() says nothing of what it has done.
"""
import logging

import redis
import redlock
from redlock import Redlock

import picklock

logging.disable(logging.CRITICAL)
SomeFailed = getattr(redlock, "MultipleRedlockException", ())  # older versions raise none


class Noting(Redlock):
    """The library's own, which also notes when each round of requests begins."""

    def lock_instance(self, server, resource, val, ttl):
        if server is self.servers[0]:
            self.since = picklock.monotonic()
        return super().lock_instance(server, resource, val, ttl)


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.ttl, self.held = ttl_ms, {}
        self.servers = [redis.StrictRedis(host, int(port)) for host, port in (server.rsplit(":", 1) for server in servers)]
        return {"lease": True, **picklock.loaded("redlock-py")}

    def acquire(self, key, timeout_ms, shared):
        tries = int(timeout_ms / 1000 / Redlock.default_retry_delay) + 1
        by = Noting(self.servers, retry_count=tries)
        try:
            lock = by.lock(key, self.ttl)
        except SomeFailed as e:
            raise picklock.Unknown(repr(e)) from e
        if not lock:
            return None
        self.held[key] = by, lock
        # What the library counts on: less 1 % and 2 ms for clocks that run at different speeds.
        return {"lease_ms": self.ttl - int(self.ttl * by.clock_drift_factor) - 2, "since_ns": by.since}

    def release(self, key):
        if key not in self.held:
            return False
        by, lock = self.held[key]
        try:
            by.unlock(lock)
        except SomeFailed as e:
            raise picklock.Unknown(repr(e)) from e
        return True

    def close(self):
        for server in self.servers:
            server.close()


picklock.serve(Lock)
