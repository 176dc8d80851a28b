"""A lock on one Redis (Debian: python3-redis), as a service of yours may have it."""
import secrets
import time

import redis

# In one step, so that a later grant has a greater token.
ACQUIRE = 'if redis.call("set",KEYS[1],ARGV[1],"NX","PX",ARGV[2]) then return redis.call("incr",KEYS[2]) else return false end'
RELEASE = 'if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end'
RENEW = 'if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end'


class RedisLock:
    confirms = True  # ACQUIRE, RELEASE and RENEW compare the owner

    def __init__(self, server, key, ttl):
        host, port = server.rsplit(":", 1)
        self.redis = redis.Redis(host, int(port), socket_timeout=ttl)
        self.key, self.lease = key, ttl
        self.owner = self.token = self.since = None

    def acquire(self, timeout):
        owner, end = secrets.token_hex(16), time.monotonic() + timeout
        while time.monotonic() < end:
            self.since = time.monotonic_ns()  # right before the request that may be granted
            token = self.redis.eval(ACQUIRE, 2, self.key, self.key + ":token", owner, self._ms())
            if token is not None:
                self.owner, self.token = owner, token
                return True
            time.sleep(0.01)
        return False

    def release(self):
        return self.redis.eval(RELEASE, 1, self.key, self.owner) == 1

    def renew(self):
        return self.redis.eval(RENEW, 1, self.key, self.owner, self._ms()) == 1

    def definite(self, error):
        """Whether nothing can have come of a request that raised this."""
        return isinstance(error.__context__, ConnectionRefusedError)

    def _ms(self):
        return int(self.lease * 1000)
