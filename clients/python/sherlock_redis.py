"""sherlock's RedisLock (https://github.com/py-sherlock/sherlock) on one Redis, as shipped: all defaults but the
expiry and the timeout.

Its documentation (0.4.1, https://sher-lock.readthedocs.io/en/latest/) promises a lock that only its owner
can release, which is over after its expiry, in whole seconds, and a LockException for a release of a lock
that is not its own.
"""
import redis
import sherlock

import picklock


class Noting(sherlock.RedisLock):
    """The library's own, which also notes when each request for the lock is sent."""

    def _acquire(self):
        self.since = picklock.monotonic()
        return super()._acquire()


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.expire, self.held = max(1, ttl_ms // 1000), {}
        host, port = servers[0].rsplit(":", 1)
        self.client = redis.Redis(host, int(port))
        return {"lease": True, "renew": True, "confirms": True, **picklock.loaded("sherlock")}

    def lease(self, since):
        return {"lease_ms": self.expire * 1000, "since_ns": since}

    def acquire(self, key, timeout_ms, shared):
        lock = Noting(key, client=self.client, expire=self.expire, timeout=timeout_ms / 1000)
        try:
            lock.acquire()
        except sherlock.LockTimeoutException:
            return None
        except redis.RedisError as e:  # it may have taken effect or not
            raise picklock.Unknown(str(e)) from e
        self.held[key] = lock
        return self.lease(lock.since)

    def renew(self, key):
        if key not in self.held:
            return None
        since = picklock.monotonic()
        try:
            return self.lease(since) if self.held[key].renew() else None
        except redis.RedisError as e:
            raise picklock.Unknown(str(e)) from e

    def release(self, key):
        if key not in self.held:
            return False
        lock = self.held[key]
        try:
            lock.release()
        except sherlock.LockException:
            return False
        except redis.RedisError as e:
            raise picklock.Unknown(str(e)) from e
        return True

    def close(self):
        self.client.close()


picklock.serve(Lock)
