// A scenario of a file.
import { test } from 'node:test';

import { picklock } from './picklock.mjs';

const lock = new URL('redis-lock.picklock.mjs', import.meta.url);

test('file', async (t) => {
  const result = await picklock(t).scenario('own.yaml', lock, { cluster: 'redis' }).asExpected();
  await result.breaks('stale-write');
});
