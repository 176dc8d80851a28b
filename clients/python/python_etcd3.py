"""python-etcd3's Lock (https://github.com/kragniz/python-etcd3) on etcd, as shipped: all defaults but the ttl and
the timeout. It knows one server.

Its documentation (0.12.0, https://python-etcd3.readthedocs.io/en/latest/usage.html) promises a lock that "will be released
after this time elapses, unless refreshed", in whole seconds. acquire returns False when its time is over. release()
tells whether the lock was its own, and is_acquired() asks the server.

refresh() returns etcd's answers, whose TTL is 0 if the lease is over. The package needs an old protobuf. Its wait
function is one that tenacity 7 no longer calls, so that its manifest has 6.3.1.
"""
import etcd3
import grpc

import picklock

FAILURES = (etcd3.exceptions.Etcd3Exception, grpc.RpcError)


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.seconds, self.held = max(1, ttl_ms // 1000), {}
        host, port = servers[0].rsplit(":", 1)
        self.client = etcd3.client(host=host, port=int(port))
        self.grant = self.client.lease

        def noting(*words, **settings):
            self.since = picklock.monotonic()
            return self.grant(*words, **settings)

        self.client.lease = noting
        return {"lease": True, "renew": True, "confirms": True, "holds": True, **picklock.loaded("etcd3")}

    def lease(self, since):
        return {"lease_ms": self.seconds * 1000, "since_ns": since}

    def acquire(self, key, timeout_ms, shared):
        lock = self.client.lock(key, ttl=self.seconds)
        try:
            if not lock.acquire(timeout=timeout_ms / 1000):
                return None
        except FAILURES as e:  # it may have taken effect or not
            raise picklock.Unknown(repr(e)) from e
        self.held[key] = lock
        return self.lease(self.since)

    def renew(self, key):
        if key not in self.held:
            return None
        since = picklock.monotonic()
        try:
            answers = self.held[key].refresh()
        except FAILURES as e:
            raise picklock.Unknown(repr(e)) from e
        return self.lease(since) if answers and answers[-1].TTL > 0 else None

    def holds(self, key):
        try:
            return key in self.held and self.held[key].is_acquired()
        except FAILURES as e:
            raise picklock.NotSent(repr(e)) from e

    def release(self, key):
        if key not in self.held:
            return False
        try:
            return bool(self.held[key].release())
        except FAILURES as e:
            raise picklock.Unknown(repr(e)) from e

    def close(self):
        for lock in self.held.values():
            lock.release()
        self.client.close()


picklock.serve(Lock)
