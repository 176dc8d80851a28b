"""python-redis-lock's Lock (https://github.com/ionelmc/python-redis-lock) on one Redis, as shipped: with
an expiry, and without auto_renewal.

Its documentation (4.0.1, https://python-redis-lock.readthedocs.io/en/latest/readme.html) promises a lock
that no two clients hold, which is over after its expiry, and a release that raises NotAcquired if the
lock is no longer its own. It counts an expiry and a wait in whole seconds.
"""
import time

import redis
import redis_lock

import picklock


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.expire, self.held = max(1, ttl_ms // 1000), {}
        host, port = servers[0].rsplit(":", 1)
        self.client = redis.Redis(host, int(port))
        return {"lease": True, "renew": True, "confirms": True, "several": True, **picklock.loaded("python-redis-lock")}

    def lease(self, since):
        return {"lease_ms": self.expire * 1000, "since_ns": since}

    def acquire(self, key, timeout_ms, shared):
        """The library waits for no longer than the expiry: who wants to wait longer asks again."""
        end = time.monotonic() + timeout_ms / 1000
        while True:
            lock, since = redis_lock.Lock(self.client, key, expire=self.expire), picklock.monotonic()
            left = int(min(end - time.monotonic(), self.expire))
            try:
                got = lock.acquire(timeout=left) if left else lock.acquire(blocking=False)
            except redis.RedisError as e:
                raise picklock.Unknown(str(e)) from e
            if got:
                self.held[key] = lock
                return self.lease(since)
            if time.monotonic() >= end:
                return None
            time.sleep(0.05)

    def renew(self, key):
        if key not in self.held:
            return None
        since = picklock.monotonic()
        try:
            self.held[key].extend()
        except redis_lock.NotAcquired:
            return None
        except redis.RedisError as e:
            raise picklock.Unknown(str(e)) from e
        return self.lease(since)

    def release(self, key):
        if key not in self.held:
            return False
        try:
            self.held[key].release()
        except redis_lock.NotAcquired:
            return False
        except redis.RedisError as e:
            raise picklock.Unknown(str(e)) from e
        return True

    def close(self):
        self.client.close()


picklock.serve(Lock)
