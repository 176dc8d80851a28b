"""celery-redbeat's lock (https://github.com/sibson/redbeat) on one Redis, as its scheduler uses it: each acquire starts
a beat of celery's with RedBeatScheduler, whose lock key is the picklock key, and each release stops it.

Its documentation (2.4.2, https://redbeat.readthedocs.io/en/latest/config.html) says that the lock prevents several beats
from running, and that redbeat_lock_timeout is what it lasts after one that has crashed. A beat that ticks schedules
tasks: from its first tick on it holds the lock. Each tick extends that. A tick that fails ends the beat with its error,
which is the notice of a loss.

A beat waits for the lock for ever. Here it is stopped when the time of the request is over.
"""
import datetime
import logging
import threading

import celery.utils.time
from celery import Celery
from celery.beat import Service

if not hasattr(celery.utils.time, "FixedOffset"):
    # Releases before 2.2 import it, for the times of tasks, and today's celery has none. There are no tasks here.
    celery.utils.time.FixedOffset = datetime.timezone

from redbeat import RedBeatScheduler
from redbeat.schedulers import get_redis
from redis.exceptions import LockNotOwnedError
from redis.lock import Lock as RedisLock

import picklock

logging.disable(logging.CRITICAL)
TICKS = 5  # in a lease, as by default


class Stopped(BaseException):
    """Ends a beat that waits for the lock. Celery drops what is an Exception there."""


class Noting(RedisLock):
    """redis-py's own, which the library uses, and which also notes what it asks and is told."""

    asked = None  # when the last request for the lock or for its extension was sent
    freed = None  # what the server has said to the release

    def acquire(self, *args, **kwargs):
        if not super().acquire(*args, **kwargs):
            raise Stopped
        return True

    def do_acquire(self, token):
        self.asked = picklock.monotonic()
        return super().do_acquire(token)

    def extend(self, *args, **kwargs):
        self.asked = picklock.monotonic()
        return super().extend(*args, **kwargs)

    def owned(self):
        owned = super().owned()
        if not owned:
            self.freed = False
        return owned

    def do_release(self, expected_token):
        try:
            super().do_release(expected_token)
        except LockNotOwnedError:
            self.freed = False
            raise
        self.freed = True


class Beat(threading.Thread):
    """One beat, from its start to its end."""

    def __init__(self, server, key, seconds, wait):
        super().__init__(daemon=True)
        self.key, self.seconds = key, seconds
        self.works, self.error, self.lock = False, None, None
        self.begun, self.stopping = threading.Event(), threading.Event()
        app = Celery("beat", broker=f"redis://{server}", set_as_current=False)
        app.conf.update(redbeat_lock_key=key, redbeat_lock_timeout=seconds, result_expires=None)  # which would be a task
        self.redis = get_redis(app)
        make, beat = self.redis.lock, self

        def lock(*args, **kwargs):
            beat.lock = make(*args, lock_class=Noting, blocking_timeout=wait, **kwargs)
            return beat.lock

        class Ticking(RedBeatScheduler):
            def tick(self, *args, **kwargs):
                return beat.tick(super().tick, *args, **kwargs)

        self.redis.lock = lock
        self.service = Service(app, max_interval=seconds / TICKS, scheduler_cls=Ticking)

    def run(self):
        try:
            self.service.start()
        except (Exception, Stopped) as e:
            self.error = e
        self.redis.connection_pool.disconnect()
        self.begun.set()

    def tick(self, tick, *args, **kwargs):
        before = self.lock.asked
        try:
            interval = tick(*args, **kwargs)
        except Exception:
            if self.works and not self.stopping.is_set():
                picklock.lost(self.key)
                # The beat frees the lock at its end. Whoever is told that it ends shall know that by then.
                self.stopping.wait(self.seconds)
            raise
        if self.works and self.lock.asked != before:
            picklock.renewed(self.key, self.seconds * 1000, self.lock.asked)
        self.works = True
        self.begun.set()
        return interval


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.server, self.seconds, self.beats = servers[0], max(1, ttl_ms // 1000), {}  # whole ones
        return {"lease": True, "watchdog": True, **picklock.loaded("celery-redbeat")}

    def acquire(self, key, timeout_ms, shared):
        beat = Beat(self.server, key, self.seconds, timeout_ms / 1000)
        beat.start()
        beat.begun.wait()
        if beat.works:
            # One that works without the lock has it in its own eyes, since it asked for that.
            self.beats[key] = beat
            return {"lease_ms": self.seconds * 1000, "since_ns": beat.lock.asked}
        if isinstance(beat.error, Stopped):
            return None
        if beat.lock is None or beat.lock.asked is None:
            raise picklock.NotSent(repr(beat.error))
        raise picklock.Unknown(repr(beat.error))

    def release(self, key):
        if key not in self.beats:
            return False
        beat = self.beats.pop(key)
        beat.stopping.set()
        beat.service.stop()
        beat.join()
        if beat.lock.freed is None:
            raise picklock.Unknown(f"no answer to the release: {beat.error!r}")
        return beat.lock.freed

    def close(self):
        for beat in self.beats.values():
            beat.stopping.set()
            beat.service.stop()


picklock.serve(Lock)
