"""sherlock's MCLock (https://github.com/py-sherlock/sherlock) on one memcached, with pylibmc, as shipped: all defaults
but the expiry and the timeout.

Its documentation (0.4.1, https://sher-lock.readthedocs.io/en/latest/) promises a lock that only its owner
can release, which is over after its expiry, in whole seconds, and a LockException for a release of a lock
that is not its own. renew() tells whether it has renewed the lock.

memcached counts whole ticks of a second, so that a key may end up to a second early
(https://docs.memcached.org/protocols/basic/). The library is given one second more than the lease that is claimed.
"""
import pylibmc
import sherlock

import picklock


class Noting(sherlock.MCLock):
    """The library's own, which also notes when each request for the lock is sent."""

    def _acquire(self):
        self.since = picklock.monotonic()
        return super()._acquire()


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.seconds, self.held = max(1, ttl_ms // 1000), {}
        self.client = pylibmc.Client([servers[0]], binary=True)  # as in the library's documentation
        return {"lease": True, "renew": True, "confirms": True, **picklock.loaded("sherlock")}

    def lease(self, since):
        return {"lease_ms": self.seconds * 1000, "since_ns": since}

    def acquire(self, key, timeout_ms, shared):
        lock = Noting(key, client=self.client, expire=self.seconds + 1, timeout=timeout_ms / 1000)
        try:
            lock.acquire()
        except sherlock.LockTimeoutException:
            return None
        except pylibmc.Error as e:  # it may have taken effect or not
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
        except pylibmc.Error as e:
            raise picklock.Unknown(repr(e)) from e

    def release(self, key):
        if key not in self.held:
            return False
        try:
            self.held[key].release()
        except sherlock.LockException:
            return False
        except pylibmc.Error as e:
            raise picklock.Unknown(repr(e)) from e
        return True

    def close(self):
        self.client.disconnect_all()


picklock.serve(Lock)
