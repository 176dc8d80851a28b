// @microfleet/ioredis-lock (https://github.com/microfleet/ioredis-lock) on one Redis, as shipped: all
// defaults but the timeout and the number of tries.
//
// Its README (6.0.1, https://www.npmjs.com/package/@microfleet/ioredis-lock) promises a lock that expires
// after its timeout, extend() that prolongs it, and a release that fails if the lock had expired or
// is another's.
import { createLock } from '@microfleet/ioredis-lock';
import Redis from 'ioredis';

import { Unknown, loaded, monotonic, serve } from '../adapter.mjs';

const DELAY = 50; // ms between two tries, as the library has it
const held = new Map(); // by key
let redis, ttl;

function open(servers, client, ttlMs) {
  ttl = ttlMs;
  const at = servers[0].lastIndexOf(':');
  redis = new Redis(Number(servers[0].slice(at + 1)), servers[0].slice(0, at));
  redis.on('error', () => {}); // it connects again by itself
  return { lease: true, renew: true, several: true, confirms: true, ...loaded('@microfleet/ioredis-lock', import.meta.url) };
}

async function acquire(key, timeoutMs) {
  const lock = createLock(redis, { timeout: ttl, retries: Math.floor(timeoutMs / DELAY) });
  let since;
  const attempt = lock._attemptLock;
  lock._attemptLock = (...of) => { // each try, which the library begins by this call
    since = monotonic();
    return attempt.apply(lock, of);
  };
  try {
    await lock.acquire(key);
  } catch (e) {
    if (/^Could not acquire lock/.test(e.message)) return null;
    throw new Unknown(e.message); // what the client of Redis has said
  }
  held.set(key, lock);
  return { lease_ms: ttl, since_ns: since };
}

// The lock is called expired if the service has said so.
function notHeld(e) {
  if (/had expired$/.test(e.message)) return true;
  throw new Unknown(e.message);
}

async function renew(key) {
  const lock = held.get(key);
  if (!lock) return null;
  const since = monotonic();
  try {
    await lock.extend(ttl);
  } catch (e) {
    if (notHeld(e)) return null;
  }
  return { lease_ms: ttl, since_ns: since };
}

async function release(key) {
  const lock = held.get(key);
  if (!lock) return false;
  try {
    await lock.release();
  } catch (e) {
    return !notHeld(e);
  }
  return true;
}

function close() {
  held.clear();
  redis.disconnect();
}

serve({ open, acquire, renew, release, close });
