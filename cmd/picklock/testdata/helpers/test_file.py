"""A scenario of a file, which needs no name beside it."""
from test_redis_lock import lock


def test_file(picklock):
    picklock.scenario(None, lock, file="own.yaml", cluster="redis").as_expected().breaks("stale-write")
