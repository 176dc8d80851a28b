// simple-redis-mutex: which fencing token has a client whose lock was over before it drew one?
//
// Needs Redis and `npm install simple-redis-mutex@3.0.0 redis`, and no picklock: node simple-redis-mutex-token-order.mjs PORT
import { createClient } from 'redis';
import { tryLock } from 'simple-redis-mutex';

const connect = () => createClient({ url: `redis://127.0.0.1:${process.argv[2]}` }).connect();
const [a, b] = [await connect(), await connect()];
const tokens = {};

// A stops for longer than its lock lasts, between the two requests of an acquire, as a process can at any time.
const incr = a.incr;
a.incr = async (key) => {
  await new Promise((resolve) => { setTimeout(resolve, 400); });
  const [got, ofB] = await tryLock(b, 'job', { timeout: 60_000 });
  if (got) tokens.B = ofB.fencingToken;
  return incr.call(a, key);
};
const [, ofA] = await tryLock(a, 'job', { timeout: 200 });
tokens.A = ofA.fencingToken;

console.log(`B has the lock for 60 s with the token ${tokens.B}; A, whose lock was over before, has the token ${tokens.A}`);
console.log(tokens.A > tokens.B ? 'a resource that refuses smaller tokens takes the writes of A and refuses those of B' : 'in order');
process.exit();
