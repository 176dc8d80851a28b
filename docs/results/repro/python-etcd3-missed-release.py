"""python-etcd3: does a waiting client get a lock that is released just before it begins to watch?

Needs a server of etcd and `pip install etcd3==0.12.0 protobuf==3.20.3`, and no picklock:
python3 python-etcd3-missed-release.py PORT
"""
import sys
import threading
import time

import etcd3

TIMEOUT = 6  # s


def wait_for_lock(released_before_the_watch):
    holder, waiter = (etcd3.client(port=int(sys.argv[1])) for _ in range(2))
    held, wanted = holder.lock("job", ttl=60), waiter.lock("job", ttl=60)
    assert held.acquire(timeout=5)
    watch_once, calls = waiter.watch_once, []

    def watch(key, timeout=None, **options):  # the waiter has been refused, and begins to watch the key
        if not calls:
            calls.append(key)
            if released_before_the_watch:
                held.release()
            else:
                threading.Timer(0.5, held.release).start()
        return watch_once(key, timeout, **options)

    waiter.watch_once = watch
    began = time.monotonic()
    got = wanted.acquire(timeout=TIMEOUT)
    print("released %s the watch: acquire(timeout=%d) is %s after %.2f s" % (
        "before" if released_before_the_watch else "during", TIMEOUT, got, time.monotonic() - began))
    wanted.release()


for before in False, True:
    wait_for_lock(before)
