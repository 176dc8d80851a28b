// advisory-lock (https://github.com/binded/advisory-lock) on Postgres, as shipped.
//
// Its README (2.0.0, https://www.npmjs.com/package/advisory-lock) promises a lock by Postgres' advisory
// locks, each on a connection of its own, and that a lock is released when its connection ends. It says
// nothing of a holder whose connection has ended: pg then raises an error that nobody handles, which ends the program.
import { setTimeout as sleep } from 'node:timers/promises';
import library from 'advisory-lock';

import { Unknown, loaded, lost, serve } from '../adapter.mjs';

const locks = new Map(); // by key: the function that releases
const held = new Set(); // the keys that are held
let mutex;

function open(servers) {
  mutex = (library.default ?? library)(`postgres://postgres@${servers[0]}/postgres`);
  return { lease: false, ...loaded('advisory-lock', import.meta.url) };
}

// What would end a program of its user ends what this one holds.
process.on('uncaughtException', (e) => {
  console.error(e);
  for (const key of held) lost(key);
});

async function acquire(key, timeoutMs) {
  const end = performance.now() + timeoutMs;
  const { tryLock } = mutex(key); // lock() would wait for ever
  for (;;) {
    let unlock;
    try {
      unlock = await tryLock();
    } catch (e) {
      throw new Unknown(e.message);
    }
    if (unlock) {
      locks.set(key, unlock);
      held.add(key);
      return {};
    }
    if (performance.now() >= end) return null;
    await sleep(50);
  }
}

async function release(key) {
  const unlock = locks.get(key);
  if (!unlock) return false;
  held.delete(key);
  try {
    await unlock();
  } catch (e) {
    throw new Unknown(e.message);
  }
  return true;
}

function close() {
  const unlocks = [...held].map((key) => locks.get(key)());
  held.clear();
  locks.clear();
  return Promise.all(unlocks);
}

serve({ open, acquire, release, close });
