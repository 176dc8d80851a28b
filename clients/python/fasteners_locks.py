"""fasteners' locks between processes (https://github.com/harlowja/fasteners): lockf(3) on a file in a shared
directory, as shipped. The argument names the lock: lock (InterProcessLock) or rw (InterProcessReaderWriterLock).

Its documentation (0.20, https://fasteners.readthedocs.io/en/latest/api/inter_process/) promises a lock that one process
holds at a time, or several that only read, which the system frees when the process ends. acquire returns False
if its time is over.

Such locks belong to the process. It cannot drop an old one beside a new one, so that a client is not opened again.
"""
import os
import sys

import fasteners

import picklock

TYPE = sys.argv[1]


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.directory, self.held = servers[0], {}
        kind = {"kind": "rw"} if TYPE == "rw" else {}
        return {"lease": False, **kind, **picklock.loaded("fasteners")}

    def acquire(self, key, timeout_ms, shared):
        path = os.path.join(self.directory, key + ".lock")
        if TYPE == "rw":
            lock = fasteners.InterProcessReaderWriterLock(path)
            acquire, release = (lock.acquire_read_lock, lock.release_read_lock) if shared else (lock.acquire_write_lock, lock.release_write_lock)
        else:
            lock = fasteners.InterProcessLock(path)
            acquire, release = lock.acquire, lock.release
        if not acquire(timeout=timeout_ms / 1000):
            return None
        self.held[key] = release
        return {}

    def release(self, key):
        if key not in self.held:
            return False
        self.held.pop(key)()
        return True


picklock.serve(Lock)
