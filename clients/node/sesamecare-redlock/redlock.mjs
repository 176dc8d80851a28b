// @sesamecare-oss/redlock (https://github.com/sesamecare/redlock), a fork of node-redlock that is kept up,
// over several Redis servers, as shipped: all defaults but the number of tries.
//
// Its README (1.4.0, https://www.npmjs.com/package/@sesamecare-oss/redlock) promises Redlock: a lock that a
// majority of the servers has granted, until its expiration. A release that no majority confirms is an error.
//
// Option retryDelay: the library's setting.
import { Redlock } from '@sesamecare-oss/redlock';
import Redis from 'ioredis';

import { NotSent, Unknown, loaded, monotonic, serve } from '../adapter.mjs';

const held = new Map(); // by key
let clients, redlock, ttl, lease, delay;

function open(servers, client, ttlMs, options) {
  ttl = ttlMs;
  delay = Number(options.retryDelay ?? 200); // the library's
  clients = servers.map((server) => {
    const at = server.lastIndexOf(':');
    const redis = new Redis(Number(server.slice(at + 1)), server.slice(0, at));
    redis.on('error', () => {}); // it connects again by itself
    return redis;
  });
  redlock = new Redlock(clients, { retryDelay: delay });
  lease = ttl - Math.round(redlock.settings.driftFactor * ttl) - 2; // as the library counts it
  return { lease: true, renew: true, ...loaded('@sesamecare-oss/redlock', import.meta.url) };
}

// What the library promises is lock.expiration, on the wall clock. A lock that it returns after that
// is a lock all the same: it does not look.
function promised(lock, asked) {
  const now = monotonic();
  const since = now - Math.round((lease - (lock.expiration - Date.now())) * 1e6);
  return { lease_ms: lease, since_ns: Math.max(asked, Math.min(since, now)) };
}

async function acquire(key, timeoutMs) {
  const asked = monotonic();
  let lock;
  try {
    lock = await redlock.acquire([key], ttl, { retryCount: Math.floor(timeoutMs / delay) });
  } catch (e) {
    return null; // no majority: nobody holds it
  }
  held.set(key, lock);
  return { ...promised(lock, asked), expired: lock.expiration <= Date.now() };
}

async function renew(key) {
  const lock = held.get(key);
  if (!lock) return null;
  if (lock.expiration < Date.now()) throw new NotSent('expired'); // the library refuses it, too
  const asked = monotonic();
  try {
    const extended = await lock.extend(ttl);
    held.set(key, extended);
    return promised(extended, asked);
  } catch (e) {
    throw new Unknown(e.message);
  }
}

async function release(key) {
  const lock = held.get(key);
  if (!lock) return false;
  try {
    await lock.release();
  } catch (e) {
    // It does not say whether the rest had no answer or a lock that was not this one's.
    throw new Unknown(e.message);
  }
  return true;
}

function close() {
  held.clear();
  for (const redis of clients) redis.disconnect();
}

serve({ open, acquire, renew, release, close });
