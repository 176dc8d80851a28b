"""acquire returns a lock whose key has expired. Needs a Redis: main.py [PORT]."""
import sys
import threading
import time
import uuid

import redis

TTL = 1.0
late = False  # answers to A arrive 1.5 s late


class Slow(redis.Connection):
    def read_response(self, *args, **kwargs):
        response = super().read_response(*args, **kwargs)
        if late:
            time.sleep(TTL * 1.5)
        return response


port = int((sys.argv + ["6379"])[1])
a = redis.Redis(connection_pool=redis.ConnectionPool(connection_class=Slow, port=port))
b = redis.Redis(port=port)
job = str(uuid.uuid4())
a.ping()  # opens A's connection

start = time.monotonic()


def log(text):
    print(f"{(time.monotonic() - start) * 1000:4.0f} ms  {text}", flush=True)


def ask_after_expiry():
    time.sleep(TTL * 1.1)
    log(f"B: acquire: {b.lock(job, timeout=10 * TTL).acquire(blocking=False)}")


threading.Thread(target=ask_after_expiry).start()
late = True
got = a.lock(job, timeout=TTL).acquire(blocking=False)
log(f"A: acquire: {got}; its timeout was {TTL * 1000:.0f} ms")
if got:
    sys.exit("BROKEN: A and B were both given the lock, and A's was over when acquire returned")
print("ok")
