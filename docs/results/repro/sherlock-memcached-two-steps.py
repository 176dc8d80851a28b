"""sherlock's MCLock: what does a release, or a renewal, do whose first answer is slow?

Needs memcached and `pip install sherlock==0.4.1 pylibmc`, and no picklock:
python3 sherlock-memcached-two-steps.py PORT
"""
import sys
import threading
import time

import pylibmc
import sherlock

SERVER = ["127.0.0.1:" + sys.argv[1]]


class Slow(pylibmc.Client):
    """A client whose reads are answered late, as through a slow network."""

    def get(self, key, *rest):
        value = super().get(key, *rest)
        time.sleep(2.5)
        return value


def lock(expire, client=pylibmc.Client):
    return sherlock.MCLock("job", expire=expire, timeout=4, retry_interval=0.02, client=client(SERVER, binary=True))


def two_steps(what):
    pylibmc.Client(SERVER, binary=True).delete("job")
    a, b = lock(1, Slow), lock(60)
    assert a.acquire()
    call = threading.Thread(target=getattr(a, what))
    call.start()
    assert b.acquire()  # A's lease, of one second, is over
    who = {None: "nobody has it", a._owner: "A has it", b._owner: "B has it, for 60 s"}
    print("A's %s is under way: %s" % (what, who[pylibmc.Client(SERVER, binary=True).get("job")]))
    call.join()
    print("A's %s has ended: %s" % (what, who[pylibmc.Client(SERVER, binary=True).get("job")]))


for what in "release", "renew":
    two_steps(what)
