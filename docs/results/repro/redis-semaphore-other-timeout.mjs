// redis-semaphore: does a permit last for its own lockTimeout if another client of the semaphore has a shorter one?
//
// Needs Redis and `npm install redis-semaphore@5.8.0 ioredis`, and no picklock: node redis-semaphore-other-timeout.mjs PORT
import Redis from 'ioredis';
import { Semaphore } from 'redis-semaphore';

const redis = new Redis(Number(process.argv[2]));
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const started = Date.now();
const holders = new Set();

async function acquire(name, lockTimeout, key) {
  const semaphore = new Semaphore(redis, key, 1, { lockTimeout, acquireTimeout: 100, onLockLost: () => holders.delete(name) });
  const got = await semaphore.tryAcquire();
  if (got) holders.add(name);
  console.log(`${Date.now() - started} ms: ${name} asks with a lockTimeout of ${lockTimeout} ms and is ${got ? 'granted' : 'refused'} a permit; holders: ${[...holders]} of 1`);
  return semaphore;
}

for (const ofB of [30_000, 1000]) {
  holders.clear();
  const key = `job-${process.pid}-${ofB}`;
  const a = await acquire('A', 30_000, key); // it refreshes after 24 s
  await sleep(1500);
  const b = await acquire('B', ofB, key);
  console.log(holders.size > 1 ? 'BROKEN: two clients have the one permit' : 'one client has the permit');
  await a.release();
  await b.release();
}
redis.disconnect();
