"""redis-py's Lock (https://github.com/redis/redis-py) on one Redis, as shipped: all defaults but
the timeout.

Its documentation (8.1.0, https://redis.readthedocs.io/en/stable/lock.html) promises that True means
the lock is acquired; that the lock lives no longer than its timeout; and that release raises
LockNotOwnedError if the lock is no longer its own. It leaves deadlocks to its user.

Options: socket_timeout=SECONDS (default: the library's) and sleep=SECONDS between two tries
(default: 0.1, the library's).
"""
import redis
from redis.exceptions import ConnectionError, LockError, RedisError, ResponseError

import picklock


class Noting(redis.lock.Lock):
    """The library's own, which also notes when each request for the lock is sent."""

    def do_acquire(self, token):
        self.since = picklock.monotonic()
        return super().do_acquire(token)


class Sending(redis.Connection):
    """The library's own, which also counts what it sends."""
    sent = 0

    def send_packed_command(self, *args, **kwargs):
        Sending.sent += 1
        return super().send_packed_command(*args, **kwargs)


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.ttl, self.sleep, self.held = ttl_ms, float(options.get("sleep", 0.1)), {}
        settings = {"socket_timeout": float(options["socket_timeout"])} if "socket_timeout" in options else {}
        host, port = servers[0].rsplit(":", 1)
        self.client = redis.Redis(host, int(port), **settings)
        self.client.connection_pool.connection_class = Sending
        return {"lease": True, "renew": True, "confirms": True, "holds": True, "several": True, **picklock.loaded("redis")}

    def acquire(self, key, timeout_ms, shared):
        lock = Noting(self.client, key, timeout=self.ttl / 1000, sleep=self.sleep, blocking_timeout=timeout_ms / 1000)
        before = Sending.sent
        try:
            if not lock.acquire():
                return None
        except ConnectionError as e:  # refused before anything was sent, or broken after it: the library tries again by itself
            if isinstance(e.__context__, ConnectionRefusedError) and Sending.sent == before:
                raise picklock.NotSent(str(e)) from e
            raise picklock.Unknown(str(e)) from e
        except ResponseError as e:  # the server's own word
            raise picklock.NotSent(str(e)) from e
        except RedisError as e:
            raise picklock.Unknown(str(e)) from e
        self.held[key] = lock
        return {"lease_ms": self.ttl, "since_ns": lock.since}

    def renew(self, key):
        if key not in self.held:
            return None
        since = picklock.monotonic()
        try:
            self.held[key].reacquire()  # "resets a TTL of an already acquired lock back to a timeout value"
        except LockError:
            return None
        except RedisError as e:
            raise picklock.Unknown(str(e)) from e
        return {"lease_ms": self.ttl, "since_ns": since}

    def holds(self, key):
        """What owned() says, which asks the server."""
        try:
            return key in self.held and bool(self.held[key].owned())
        except RedisError as e:
            raise picklock.NotSent(str(e)) from e

    def release(self, key):
        if key not in self.held:
            return False
        try:
            self.held[key].release()
        except LockError:
            return False
        except RedisError as e:
            raise picklock.Unknown(str(e)) from e
        return True

    def close(self):
        self.client.close()


picklock.serve(Lock)
