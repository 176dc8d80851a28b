"""portalocker's RedisLock (https://github.com/wolph/portalocker) on one Redis: a subscription to a channel, as
shipped. The argument names the lock: plain, or fenced with the library's own tokens.

Its documentation (4.4.2, https://portalocker.readthedocs.io/en/latest/portalocker.redis.html) promises that
the lock is free as soon as its holder's connection has ended; that a holder learns of the end of its
connection by on_lost; that Redis and the holder may learn of it at different times; and, with fencing, a token that rises with each exclusive grant.
"""
import inspect
import logging
import sys

import portalocker
import redis

import picklock

logging.disable(logging.CRITICAL)
FENCED = sys.argv[1] == "fenced"
KNOWN = inspect.signature(portalocker.RedisLock).parameters  # older versions know neither losses nor tokens


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.held, self.locks = set(), {}
        host, port = servers[0].rsplit(":", 1)
        self.settings = {"host": host, "port": int(port)}
        return {"lease": False, "tokens": FENCED, **picklock.loaded("portalocker")}

    def acquire(self, key, timeout_ms, shared):
        # Without interrupt_on_lost a loss would raise KeyboardInterrupt here, in the main thread.
        wanted = {"fencing": FENCED, "interrupt_on_lost": False, "on_lost": lambda _: self.over(key, lock)}
        lock = portalocker.RedisLock(
            key, timeout=timeout_ms / 1000, redis_kwargs=self.settings,
            **{k: v for k, v in wanted.items() if FENCED or k in KNOWN},
        )
        try:
            lock.acquire()
        except portalocker.AlreadyLocked:
            return None
        except redis.RedisError as e:
            raise picklock.Unknown(repr(e)) from e
        self.locks[key] = lock
        self.held.add(key)
        return {"token": lock.fence_token} if FENCED else {}

    def answered(self, key):
        if self.lost(self.locks[key]):  # before it was noted here as held
            self.over(key, self.locks[key])

    @staticmethod
    def lost(lock):
        return getattr(lock, "lost", False)

    def over(self, key, lock):
        """Tells of a loss, unless the lock has been released or acquired anew."""
        if key in self.held and self.locks[key] is lock:
            picklock.lost(key)

    def release(self, key):
        """It does not say whether the lock was still held, unless it has learnt of a loss."""
        if key not in self.locks:
            return False
        self.held.discard(key)
        lock = self.locks[key]
        lost = self.lost(lock)
        try:
            lock.release()
        except redis.RedisError as e:
            raise picklock.Unknown(repr(e)) from e
        return not lost

    def close(self):
        for lock in self.locks.values():
            lock.release()


picklock.serve(Lock)
