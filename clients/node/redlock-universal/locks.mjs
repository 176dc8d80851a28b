// redlock-universal (https://github.com/alexpota/redlock-universal) with ioredis, as shipped: all defaults but
// the lease and the number of tries. The argument names the lock: simple on one Redis, redlock on several.
//
// Its README (0.8.5, https://www.npmjs.com/package/redlock-universal) promises a lock with a ttl, which
// extend() prolongs, and, over several servers, Redlock. A release or an extend tells by false that the
// lock was no longer its own.
import Redis from 'ioredis';
import { IoredisAdapter, createLock, createRedlock } from 'redlock-universal';

import { Unknown, loaded, monotonic, serve } from '../adapter.mjs';

const simple = process.argv[2] === 'simple';
const DELAY = simple ? 100 : 200; // ms between two tries, as the library has it
const held = new Map(); // by key: the lock and its handle
let clients, adapters, ttl, lease;
const sent = new Map(); // when the first request for a value was sent, by value

// The library's own, which also notes when each request for a lock is sent.
class Noting extends IoredisAdapter {
  setNX(key, value, ...rest) {
    // A try of Redlock has a value of its own, and asks all servers at once. On one server all tries have one value.
    if (simple || !sent.has(value)) sent.set(value, monotonic());
    return super.setNX(key, value, ...rest);
  }
}

function open(servers, client, ttlMs) {
  ttl = ttlMs;
  lease = simple ? ttl : ttl - Math.floor(ttl * 0.01) - 2; // as the library counts it
  clients = servers.map((server) => {
    const at = server.lastIndexOf(':');
    const redis = new Redis(Number(server.slice(at + 1)), server.slice(0, at));
    redis.on('error', () => {}); // it connects again by itself
    return redis;
  });
  adapters = clients.map((redis) => new Noting(redis));
  return { lease: true, renew: true, several: true, confirms: simple, ...loaded('redlock-universal', import.meta.url) };
}

async function acquire(key, timeoutMs) {
  const tries = { key, ttl, retryAttempts: Math.floor(timeoutMs / DELAY) };
  const lock = simple ? createLock({ adapter: adapters[0], ...tries }) : createRedlock({ adapters, ...tries });
  let handle;
  try {
    handle = await lock.acquire();
  } catch (e) {
    // On one server, an answer that did not come may have been a grant. Without a majority nobody holds it.
    if (simple && !/already held/.test(e.cause?.message ?? e.message)) throw new Unknown(e.cause?.message ?? e.message);
    return null;
  }
  held.set(key, { lock, handle });
  const since = sent.get(handle.value);
  sent.clear();
  return { lease_ms: lease, since_ns: since };
}

async function renew(key) {
  if (!held.has(key)) return null;
  const { lock, handle } = held.get(key);
  const since = monotonic();
  let extended;
  try {
    extended = await lock.extend(handle, ttl);
  } catch (e) {
    throw new Unknown(e.message);
  }
  if (extended) return { lease_ms: lease, since_ns: since };
  if (!simple) throw new Unknown('no majority has extended it');
  return null;
}

async function release(key) {
  if (!held.has(key)) return false;
  const { lock, handle } = held.get(key);
  let released;
  try {
    released = await lock.release(handle);
  } catch (e) {
    throw new Unknown(e.message);
  }
  // Over several servers false may also mean that too few have answered.
  if (!released && !simple) throw new Unknown('no majority has released it');
  return released;
}

function close() {
  held.clear();
  sent.clear();
  for (const redis of clients) redis.disconnect();
}

serve({ open, acquire, renew, release, close });
