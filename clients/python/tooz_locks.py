"""tooz's locks (https://opendev.org/openstack/tooz), with its own heartbeats, as shipped: all defaults but the
time-outs. The argument names the driver: redis, zookeeper, etcd3gw, memcached, mysql or file.

Its documentation (9.1.0, https://docs.openstack.org/tooz/latest/user/tutorial/lock.html) promises a lock for one
client at a time, which is kept for as long as the coordinator's heartbeats come in time. release() tells whether it
has released the lock. There is no signal for a lock that was lost.

A heartbeat of Redis' driver that succeeds is a renewal. That of etcd's does not look at the answer, so that no
lease is claimed there. ZooKeeper's locks live as long as the session.

A heartbeat of memcached's driver that succeeds is a renewal. memcached counts whole ticks of a second, so that a key
may end up to a second early (https://docs.memcached.org/protocols/basic/). The driver is given one second more than
the lease that is claimed, unless the option expiry is exact. MySQL's driver takes GET_LOCK on a connection of the lock's own, and does not look at
the answer to its release. The file driver takes fasteners' lock, which the system frees when the process ends.
"""
import hashlib
import logging
import sys

import pymysql
from oslo_utils import secretutils

if not hasattr(secretutils, "md5"):  # versions before 7 import it, and today's oslo.utils, which they accept, has no more than hashlib's
    secretutils.md5 = hashlib.md5
import tooz
from kazoo.exceptions import KazooException, LockTimeout
from redis.exceptions import LockNotOwnedError
from tenacity import RetryError
from tooz import coordination

import picklock

logging.disable(logging.CRITICAL)
DRIVER = sys.argv[1]
TELLS = DRIVER in ("redis", "memcached")  # its renewals can be seen
BEATS = TELLS or DRIVER == "etcd3gw"
FAILURES = (tooz.ToozError, KazooException, pymysql.MySQLError)


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.seconds, self.held, self.locks = max(1, ttl_ms // 1000), set(), {}  # whole ones
        kept = self.seconds + (options.get("expiry") != "exact")  # memcached's ticks
        url = {
            "redis": f"redis://{servers[0]}?lock_timeout={self.seconds}&membership_timeout={self.seconds}",
            "etcd3gw": f"etcd3+http://{servers[0]}?lock_timeout={self.seconds}&membership_timeout={self.seconds}",
            "memcached": f"memcached://{servers[0]}?lock_timeout={kept}&membership_timeout={kept}",
            "mysql": f"mysql://root@{servers[0]}/",
            "file": f"file://{servers[0]}",
            "zookeeper": f"zookeeper://{','.join(servers)}?timeout={self.seconds}",
        }[DRIVER]
        self.coordinator = coordination.get_coordinator(url, client.encode())
        self.coordinator.start(start_heart=True)
        return {"lease": TELLS, "watchdog": BEATS, **picklock.loaded("tooz")}

    def lock(self, key):
        """A lock of the library that also tells of its renewals, if those can be seen."""
        lock = self.coordinator.get_lock(key.encode())
        if TELLS:
            beat = lock.heartbeat

            def telling():
                since = picklock.monotonic()
                renewed = beat()
                if renewed and key in self.held and self.locks[key] is lock:
                    picklock.renewed(key, self.seconds * 1000, since)
                return renewed

            lock.heartbeat = telling
        if DRIVER == "memcached":
            add = type(self.coordinator.client).add

            def asked(*words, **settings):
                lock.since = picklock.monotonic()
                return add(self.coordinator.client, *words, **settings)

            self.coordinator.client.add = asked
        if DRIVER == "redis":
            take = lock._lock.do_acquire

            def noting(token):
                lock.since = picklock.monotonic()
                return take(token)

            lock._lock.do_acquire = noting
            free, lock.refused = lock._lock.do_release, False

            def asking(token):
                try:
                    return free(token)
                except LockNotOwnedError:
                    lock.refused = True
                    raise

            lock._lock.do_release = asking
        return lock

    def acquire(self, key, timeout_ms, shared):
        lock = self.lock(key)
        try:
            got = lock.acquire(blocking=timeout_ms / 1000)
        except RetryError:
            return None
        except LockTimeout:
            return self.timed_out(lock._lock)
        except FAILURES as e:  # it may have taken effect or not
            raise picklock.Unknown(repr(e)) from e
        if not got:
            return None
        self.locks[key] = lock
        self.held.add(key)
        return {"lease_ms": self.seconds * 1000, "since_ns": lock.since} if TELLS else {}

    def timed_out(self, lock):
        """kazoo takes its node out of ZooKeeper's line if that can be done, and does not look."""
        own = lock.create_path.rsplit("/", 1)[1]
        try:
            left = any(node.startswith(own) for node in lock.client.get_children(lock.path))
        except KazooException as e:
            raise picklock.Unknown(repr(e)) from e
        if left:
            raise picklock.Unknown("timeout, and its node is left in the line")

    def release(self, key):
        if key not in self.locks:
            return False
        lock, held = self.locks[key], key in self.held
        self.held.discard(key)
        try:
            released = lock.release()
        except FAILURES as e:
            raise picklock.Unknown(repr(e)) from e
        if held and not released and DRIVER == "redis" and not lock.refused:
            # The library had no answer, tried again without its token, and takes that for a refusal.
            raise picklock.Unknown("no answer to the release")
        return released

    def close(self):
        if not (BEATS or DRIVER == "zookeeper"):  # what those hold does not end with the coordinator
            for key in list(self.held):
                self.release(key)
        self.coordinator.stop()


picklock.serve(Lock)
