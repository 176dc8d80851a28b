"""A scenario of a file."""
from test_redis_lock import lock


def test_file(picklock):
    picklock.scenario("own.yaml", lock, cluster="redis").as_expected().breaks("stale-write")
