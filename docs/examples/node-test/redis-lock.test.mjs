// node --test docs/examples/node-test, with picklock and redis-server at hand.
import { test } from 'node:test';

import { picklock } from './picklock.mjs';

const lock = new URL('redis-lock.picklock.mjs', import.meta.url);

test('the adapter is right', async (t) => {
  await picklock(t).check(lock, { cluster: 'redis' });
});

test('holds when clients are killed', async (t) => {
  await picklock(t).run(lock, { cluster: 'redis', fencing: 'read-write', faults: ['kill:holder'], duration: '3s' }).holds();
});

test('releases only its own', async (t) => {
  await picklock(t).scenario('del-without-owner', lock, { cluster: 'redis' }).holds();
});

test('a paused holder writes too late', async (t) => {
  await picklock(t).scenario('pause-holder', lock, { cluster: 'redis' }).breaks('stale-write');
});

test('unless the resource looks at tokens', async (t) => {
  await picklock(t).scenario('pause-holder', lock, { cluster: 'redis', fencing: 'read-write' }).holds();
});
