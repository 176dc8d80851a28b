"""sherlock's locks (https://github.com/py-sherlock/sherlock), as shipped: all defaults but the expiry and the timeout.
The argument names the service: redis (RedisLock) or memcached (MCLock, with pylibmc).

Its documentation (0.4.1, https://sher-lock.readthedocs.io/en/latest/) promises a lock that only its owner
can release, which is over after its expiry, in whole seconds, and a LockException for a release of a lock
that is not its own. renew() tells whether it has renewed the lock.

memcached counts whole ticks of a second, so that a key may end up to a second early
(https://docs.memcached.org/protocols/basic/). MCLock is given one second more than the lease that is claimed, unless
the option expiry is exact.
"""
import sys

import pylibmc
import redis
import sherlock

import picklock

SERVICE = sys.argv[1]
MEMCACHED = SERVICE == "memcached"
FAILURES = (redis.RedisError, pylibmc.Error)


class Noting(sherlock.MCLock if MEMCACHED else sherlock.RedisLock):
    """The library's own, which also notes when each request for the lock is sent."""

    def _acquire(self):
        self.since = picklock.monotonic()
        return super()._acquire()


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.seconds, self.held = max(1, ttl_ms // 1000), {}
        self.tick = int(MEMCACHED and options.get("expiry") != "exact")
        if MEMCACHED:
            self.client = pylibmc.Client([servers[0]], binary=True)  # as in the library's documentation
        else:
            host, port = servers[0].rsplit(":", 1)
            self.client = redis.Redis(host, int(port))
        return {"lease": True, "renew": True, "confirms": True, **picklock.loaded("sherlock")}

    def lease(self, since):
        return {"lease_ms": self.seconds * 1000, "since_ns": since}

    def acquire(self, key, timeout_ms, shared):
        lock = Noting(key, client=self.client, expire=self.seconds + self.tick, timeout=timeout_ms / 1000)
        try:
            lock.acquire()
        except sherlock.LockTimeoutException:
            return None
        except FAILURES as e:  # it may have taken effect or not
            raise picklock.Unknown(repr(e)) from e
        self.held[key] = lock
        return self.lease(lock.since)

    def renew(self, key):
        if key not in self.held:
            return None
        since = picklock.monotonic()
        try:
            return self.lease(since) if self.held[key].renew() else None
        except sherlock.LockException:  # it was released
            return None
        except FAILURES as e:
            raise picklock.Unknown(repr(e)) from e

    def release(self, key):
        if key not in self.held:
            return False
        try:
            self.held[key].release()
        except sherlock.LockException:
            return False
        except FAILURES as e:
            raise picklock.Unknown(repr(e)) from e
        return True

    def close(self):
        self.client.disconnect_all() if MEMCACHED else self.client.close()


picklock.serve(Lock)
