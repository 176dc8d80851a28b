"""pytest docs/examples/pytest, with picklock, redis-server and redis-py at hand."""
from redis_lock import RedisLock


def lock(client):
    return RedisLock(client.servers[0], client.key, client.ttl)


def test_the_adapter_is_right(picklock):
    picklock.check(lock, cluster="redis")


def test_holds_when_clients_are_killed(picklock):
    picklock.run(lock, cluster="redis", fencing="read-write", faults=["kill:holder"], duration="3s").holds()


def test_releases_only_its_own(picklock):
    picklock.scenario("del-without-owner", lock, cluster="redis").holds()


def test_a_paused_holder_writes_too_late(picklock):
    picklock.scenario("pause-holder", lock, cluster="redis").breaks("stale-write")


def test_unless_the_resource_looks_at_tokens(picklock):
    picklock.scenario("pause-holder", lock, cluster="redis", fencing="read-write").holds()
