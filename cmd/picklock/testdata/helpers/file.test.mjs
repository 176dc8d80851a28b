// A scenario of a file, which needs no name beside it.
import { test } from 'node:test';

import { picklock } from './picklock.mjs';

const lock = new URL('redis-lock.picklock.mjs', import.meta.url);

test('file', async (t) => {
  const result = await picklock(t).scenario(null, lock, { file: 'own.yaml', cluster: 'redis' }).asExpected();
  await result.breaks('stale-write');
});
