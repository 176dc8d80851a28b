"""A lock on nothing, whose key says what comes of it."""
import time


class FakeLock:
    token, lease, confirms, notifies = 7, 1.25, False, True

    def __init__(self, client):
        self.client = client
        self.since = None if client.key == "no since" else 42
        if client.key == "unmade":
            raise OSError("unmade")

    def acquire(self, timeout):
        c, key = self.client, self.client.key
        if key == "told":
            raise OSError(f"{c.servers[0]} {c.name} {c.ttl * 1000:.0f} {c.options['a']} {c.directory} {timeout * 1000:.0f}")
        if key == "definite":
            raise ValueError(key)
        if key == "events":
            c.renewed(1, 43)
            c.lost()
        if key == "forever":
            time.sleep(3600)
        return key != "busy"

    def release(self):
        print("a word of the lock")
        if self.client.key == "told":
            raise OSError("told")
        return False if self.client.key == "gone" else None

    def renew(self):
        return self.client.key != "gone"

    def definite(self, error):
        return isinstance(error, ValueError)

    def close(self):
        print("closed", self.client.key)
