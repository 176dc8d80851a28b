// simple-redis-mutex (https://github.com/AmrSaber/simple-redis-mutex) on one Redis, as shipped: all defaults but the timeout,
// and how often it polls, which is a third of the timeout as in its defaults (30 s and 10 s).
//
// Its README (3.0.0, https://www.npmjs.com/package/simple-redis-mutex) promises a lock that expires after its timeout, a
// release that leaves another holder's lock alone, and "an increasing number that is used to identify the order at which locks are
// acquired" as the fencing token. Nothing tells whether a release or a refreshTimeout found the lock still held, so that no renewal is
// claimed.
import { createClient } from 'redis';
import { lock } from 'simple-redis-mutex';

import { Unknown, loaded, monotonic, serve } from '../adapter.mjs';

// The library leaves its own tries unwatched: one that fails for want of a connection would end the program.
process.on('unhandledRejection', (e) => console.error(`${e}`));

const held = new Map(); // by key
const granted = new Map(); // by Redis key: when the request was sent that was granted
let redis, ttl;

async function open(servers, client, ttlMs) {
  ttl = ttlMs;
  redis = createClient({ url: `redis://${servers[0]}` });
  redis.on('error', () => {}); // it connects again by itself
  const set = redis.set;
  redis.set = async (key, ...rest) => {
    const since = monotonic();
    const answer = await set.call(redis, key, ...rest);
    if (answer === 'OK') granted.set(key, since);
    return answer;
  };
  await redis.connect();
  return { lease: true, tokens: true, ...loaded('simple-redis-mutex', import.meta.url) };
}

async function acquire(key, timeoutMs) {
  let release;
  try {
    release = await lock(redis, key, { timeout: ttl, pollingInterval: Math.ceil(ttl / 3), failAfter: timeoutMs });
  } catch (e) {
    if (/could not be acquired/.test(e.message)) return null;
    throw new Unknown(e.message); // what the client of Redis has said
  }
  held.set(key, release);
  return { token: release.fencingToken, lease_ms: ttl, since_ns: granted.get(`@simple-redis-mutex:lock-${key}`) };
}

// It does not say whether the lock was still held.
async function release(key) {
  if (!held.has(key)) return false;
  try {
    await held.get(key)();
  } catch (e) {
    throw new Unknown(e.message);
  }
  return true;
}

serve({ open, acquire, release });
