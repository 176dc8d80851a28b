"""redis-py's Lock for asyncio (https://github.com/redis/redis-py) on one Redis, as shipped: all defaults
but the timeout. Its documentation (8.1.0, https://redis.readthedocs.io/en/stable/examples/asyncio_examples.html)
promises what that of the Lock without asyncio does: see redis_py.py.
"""
import asyncio

import redis.asyncio
from redis.asyncio.lock import Lock as LibraryLock
from redis.exceptions import LockError, RedisError

import picklock


class Noting(LibraryLock):
    """The library's own, which also notes when each request for the lock is sent."""

    async def do_acquire(self, token):
        self.since = picklock.monotonic()
        return await super().do_acquire(token)


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.ttl, self.held, self.loop, self.asked = ttl_ms, {}, asyncio.new_event_loop(), None
        host, port = servers[0].rsplit(":", 1)
        self.client = redis.asyncio.Redis(host=host, port=int(port))
        return {"lease": True, "renew": True, "confirms": True, "holds": True, **picklock.loaded("redis")}

    def call(self, coroutine):
        try:
            return self.loop.run_until_complete(coroutine)
        except LockError:
            raise
        except RedisError as e:  # it may have taken effect or not
            raise picklock.Unknown(str(e)) from e

    def acquire(self, key, timeout_ms, shared):
        lock = Noting(self.client, key, timeout=self.ttl / 1000, blocking_timeout=timeout_ms / 1000)
        self.asked = self.loop.create_task(lock.acquire())
        try:
            if not self.call(self.asked):
                return None
        except asyncio.CancelledError:
            raise picklock.Cancelled from None
        finally:
            self.asked = None
        self.held[key] = lock
        return {"lease_ms": self.ttl, "since_ns": lock.since}

    def cancel(self, key):
        """Ends the task that waits, as asyncio.timeout() and a task group do."""
        if task := self.asked:
            self.loop.call_soon_threadsafe(task.cancel)

    def renew(self, key):
        if key not in self.held:
            return None
        since = picklock.monotonic()
        try:
            self.call(self.held[key].reacquire())
        except LockError:
            return None
        return {"lease_ms": self.ttl, "since_ns": since}

    def holds(self, key):
        """What owned() says, which asks the server."""
        return key in self.held and bool(self.call(self.held[key].owned()))

    def release(self, key):
        if key not in self.held:
            return False
        try:
            self.call(self.held[key].release())
        except LockError:
            return False
        return True

    def close(self):
        self.loop.run_until_complete(self.client.connection_pool.disconnect())
        self.loop.close()


picklock.serve(Lock)
