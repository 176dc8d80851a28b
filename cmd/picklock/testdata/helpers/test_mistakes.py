"""What tests with mistakes in them come to; test_found has none."""
import os

from redis_lock import RedisLock
from test_redis_lock import lock


class Noisy(RedisLock):
    token = property(lambda self: 1, lambda self, token: None)  # none that rises

    def __init__(self, client):
        super().__init__(client.servers[0], client.key, client.ttl)
        print("a word of the lock")
        os.system("echo a word of its child")


class Dozing(RedisLock):
    watchdog = True  # it does not renew

    def __init__(self, client):
        super().__init__(client.servers[0], client.key, client.ttl)


def test_noisy(picklock):
    picklock.check(Noisy, cluster="redis")


def test_dozing(picklock):
    picklock.check(Dozing, cluster="redis")


def test_found(picklock):
    picklock.hunt(lock, cluster="redis", max_faults=0, faults="none", jobs=1, duration="20s", fail_fast=True, finish="0s").breaks("stale-write")


def test_unproved(picklock):
    picklock.run(lock, cluster="redis", clients=1, duration="1s").holds()


def test_unasked(picklock):
    picklock.run(lock, cluster="redis", clients=1, duration="1s")


def test_cannot(picklock):
    picklock.run(lock, cluster="nowhere").holds()


def test_unnamed(picklock):
    picklock.run(lambda client: None, cluster="redis").holds()


def test_other_anomaly(picklock):
    picklock.scenario("pause-holder", lock, cluster="redis").as_expected().breaks("token-reuse")
