"""filelock's FileLock (https://github.com/tox-dev/filelock): flock(2) on a file in a shared directory, as shipped.

Its documentation (4.2.12, https://py-filelock.readthedocs.io/en/latest/) promises a lock that one process holds at
a time, which the system frees when the process ends, and a Timeout if it was not to be had in time.
"""
import os

from filelock import FileLock, Timeout

import picklock


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.directory, self.held = servers[0], {}
        return {"lease": False, **picklock.loaded("filelock")}

    def acquire(self, key, timeout_ms, shared):
        lock = FileLock(os.path.join(self.directory, key + ".lock"))
        try:
            lock.acquire(timeout=timeout_ms / 1000)
        except Timeout:
            return None
        self.held[key] = lock
        return {}

    def release(self, key):
        if key not in self.held:
            return False
        self.held[key].release()
        return True

    def close(self):
        for lock in self.held.values():
            lock.release(force=True)


picklock.serve(Lock)
