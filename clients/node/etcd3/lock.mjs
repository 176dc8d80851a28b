// etcd3's Lock (https://github.com/microsoft/etcd3), as shipped: all defaults but the ttl.
//
// Its documentation (1.1.2, https://microsoft.github.io/etcd3/classes/lock.html) promises a lock by a key
// under a lease, which the library keeps alive and revokes at the release; that etcd ends it if the holder
// is cut off; and that in rare cases, such as a disconnect, the caller may lose the lock while it still works. The
// lock has no signal for that. Whoever waits asks again.
import { setTimeout as sleep } from 'node:timers/promises';
import { Etcd3, EtcdLockFailedError } from 'etcd3';

import { Unknown, loaded, serve } from '../adapter.mjs';

const held = new Map(); // by key
let client, seconds;

function open(servers, name, ttlMs) {
  seconds = Math.max(1, Math.ceil(ttlMs / 1000)); // it counts in whole ones
  client = new Etcd3({ hosts: servers.map((server) => 'http://' + server) });
  return { lease: false, watchdog: true, several: true, ...loaded('etcd3', import.meta.url) };
}

async function acquire(key, timeoutMs) {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const lock = client.lock('picklock/' + key).ttl(seconds);
    try {
      await lock.acquire();
      held.set(key, lock);
      return {};
    } catch (e) {
      if (!(e instanceof EtcdLockFailedError)) throw new Unknown(e.message);
    }
    if (performance.now() >= end) return null;
    await sleep(50);
  }
}

// It does not say whether the lease was still there.
async function release(key) {
  const lock = held.get(key);
  if (!lock) return false;
  try {
    await lock.release();
  } catch (e) {
    throw new Unknown(e.message);
  }
  return true;
}

function close() {
  // Its client goes on to renew what it holds when it has been closed.
  const former = client;
  const released = Promise.allSettled([...held.values()].map((lock) => lock.release()));
  held.clear();
  return released.then(() => former.close());
}

serve({ open, acquire, release, close });
