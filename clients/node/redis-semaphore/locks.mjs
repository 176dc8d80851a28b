// redis-semaphore's locks (https://github.com/swarthy/redis-semaphore), as shipped: all defaults but
// the time-outs. The argument names the lock: mutex or semaphore on one Redis, redlock on several.
//
// Its README (5.8.0, https://www.npmjs.com/package/redis-semaphore) promises a lock that is over
// lockTimeout after its acquire or its last refresh, a refresh every 0.8 lockTimeout for as long as it is held, and a
// call of onLockLost when a refresh finds that the lock is lost.
import Redis from 'ioredis';
import * as library from 'redis-semaphore';

import { Unknown, loaded, lost, monotonic, renewed, serve } from '../adapter.mjs';

const type = process.argv[2];
const Library = { mutex: library.Mutex, semaphore: library.Semaphore, redlock: library.RedlockMutex }[type];
const held = new Map(); // by key
let clients, ttl, permits;

// The library's own, which also tells of each refresh that the service has confirmed.
class Telling extends Library {
  async _refresh() {
    const since = monotonic();
    let ok;
    try {
      ok = await super._refresh();
    } catch (e) {
      if (this.closed) return true; // its connection was closed meanwhile
      throw e; // nobody catches it in the library, and the process ends
    }
    if (ok && this.held) renewed(this.name, ttl, since);
    return ok;
  }
}

function open(servers, client, ttlMs, options) {
  ttl = ttlMs;
  permits = Number(options.permits ?? 2);
  clients = servers.map((server) => {
    const at = server.lastIndexOf(':');
    const redis = new Redis(Number(server.slice(at + 1)), server.slice(0, at));
    redis.on('error', () => {}); // it connects again by itself
    return redis;
  });
  const kind = type === 'semaphore' ? { kind: type, permits } : {};
  return { lease: true, watchdog: true, several: type !== 'semaphore', ...kind, ...loaded('redis-semaphore', import.meta.url) };
}

async function acquire(key, timeoutMs) {
  const options = { lockTimeout: ttl, acquireTimeout: timeoutMs, onLockLost: () => lost(key) };
  const on = type === 'redlock' ? clients : clients[0];
  const lock = type === 'semaphore' ? new Telling(on, key, permits, options) : new Telling(on, key, options);
  lock.name = key;
  const since = monotonic(); // it does not tell which of its tries was granted
  try {
    if (!await (lock.tryAcquire ?? acquired).call(lock)) return null;
  } catch (e) {
    throw new Unknown(e.message);
  }
  lock.held = true;
  held.set(key, lock);
  return { lease_ms: ttl, since_ns: since };
}

// The same in versions before 5.1, which throw when the time is over.
async function acquired() {
  try {
    await this.acquire();
    return true;
  } catch (e) {
    if (e instanceof library.TimeoutError) return false;
    throw e;
  }
}

// It does not say whether the lock was still held.
async function release(key) {
  const lock = held.get(key);
  if (!lock) return false;
  lock.held = false;
  try {
    await lock.release();
  } catch (e) {
    throw new Unknown(e.message);
  }
  return true;
}

function close() {
  for (const lock of held.values()) {
    lock.held = false;
    lock.closed = true;
    (lock.stopRefresh ?? lock._stopRefresh).call(lock); // its name before 5.0
  }
  held.clear();
  for (const redis of clients) redis.disconnect();
}

serve({ open, acquire, release, close });
