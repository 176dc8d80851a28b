// What tests with mistakes in them come to; 'found' has none.
import { test } from 'node:test';

import { picklock } from './picklock.mjs';

const lock = new URL('redis-lock.picklock.mjs', import.meta.url);
const noisy = new URL('noisy.mjs#noisy', import.meta.url);
const dozing = new URL('noisy.mjs#dozing', import.meta.url);

test('noisy', async (t) => {
  await picklock(t).check(noisy, { cluster: 'redis' });
});

test('dozing', async (t) => {
  await picklock(t).check(dozing, { cluster: 'redis' });
});

test('found', async (t) => {
  await picklock(t).hunt(lock, { cluster: 'redis', maxFaults: 0, faults: 'none', jobs: 1, duration: '20s', failFast: true, finish: '0s' }).breaks('stale-write');
});

test('unproved', async (t) => {
  await picklock(t).run(lock, { cluster: 'redis', clients: 1, duration: '1s' }).holds();
});

test('unasked', (t) => {
  picklock(t).run(lock, { cluster: 'redis', clients: 1, duration: '1s' });
});

test('not awaited', (t) => {
  picklock(t).run(lock, { cluster: 'redis', clients: 1, duration: '1s' }).holds();
});

test('cannot', async (t) => {
  await picklock(t).run(lock, { cluster: 'nowhere' }).holds();
});

test('another anomaly', async (t) => {
  await (await picklock(t).scenario('pause-holder', lock, { cluster: 'redis' }).asExpected()).breaks('token-reuse');
});
