// node-redlock (https://github.com/mike-marcacci/node-redlock), Redlock over several Redis servers,
// as shipped: all defaults but the number of tries, which follows from how long an acquire may take.
//
// Its README (5.0.0-beta.2, https://www.npmjs.com/package/redlock/v/5.0.0-beta.2) promises Redlock: a
// lock that a majority of the servers has granted, until its expiration. A release that no majority
// confirms is an error.
//
// Options are the library's settings: retryCount, retryDelay, retryJitter, driftFactor.
import Redis from 'ioredis';
import * as library from 'redlock';

import { NotSent, Unknown, loaded, monotonic, serve } from '../adapter.mjs';

const Redlock = library.default.default ?? library.default; // as the package is built
const held = new Map(); // by key
let clients, redlock, settings, ttl, lease;

function open(servers, client, ttlMs, options) {
  ttl = ttlMs;
  clients = servers.map((server) => {
    const at = server.lastIndexOf(':');
    const client = new Redis(Number(server.slice(at + 1)), server.slice(0, at));
    client.on('error', () => {}); // it connects again by itself
    return client;
  });
  settings = Object.fromEntries(Object.entries(options).map(([name, value]) => [name, Number(value)]));
  redlock = new Redlock(clients, settings);
  redlock.on?.('error', () => {}); // of version 4: what failed on one of the servers
  const drift = Math.round((settings.driftFactor ?? redlock.settings?.driftFactor ?? redlock.driftFactor) * ttl) + 2; // as the library counts it
  lease = ttl - drift;
  return { lease: true, renew: true, several: true, ...loaded('redlock', import.meta.url) };
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
  const delay = settings.retryDelay ?? 200; // the library's
  const tries = { retryCount: settings.retryCount ?? Math.floor(timeoutMs / delay) };
  let lock;
  try {
    lock = redlock.acquire.length > 2 || !redlock.lock ? await redlock.acquire([key], ttl, tries) : await redlock.lock(key, ttl);
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
    await (lock.release ?? lock.unlock).call(lock);
  } catch (e) {
    // No majority has answered that it was released: it does not say whether the rest had no answer
    // or a lock that was not this one's.
    throw new Unknown(e.message);
  }
  return true;
}

function close() {
  held.clear();
  for (const redis of clients) redis.disconnect();
}

serve({ open, acquire, renew, release, close });
