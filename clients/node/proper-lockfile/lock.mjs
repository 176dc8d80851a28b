// proper-lockfile (https://github.com/moxystudio/node-proper-lockfile): a folder beside a file in a
// shared directory, as shipped: all defaults but the staleness and the tries.
//
// Its README (4.1.2, https://www.npmjs.com/package/proper-lockfile) promises a lock by an atomic mkdir, whose
// mtime is updated every half of stale, at least every second, while it is held; that a lock whose mtime
// is older than stale (2 s at least) may be taken over; and a call of onCompromised if it was, or could not be updated in time.
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import library from 'proper-lockfile';

import { Unknown, loaded, lost, monotonic, renewed, serve } from '../adapter.mjs';

const locks = new Map(); // by key: the function that releases
const held = new Set(); // the keys that are held
let directory, stale;

function open(servers, client, ttlMs) {
  directory = servers[0];
  stale = Math.max(ttlMs, 2000); // as the library has it
  return { lease: true, watchdog: true, notifies: true, ...loaded('proper-lockfile', import.meta.url) };
}

// A lease counts from the mtime, on the clock of this process, which wrote it.
const sinceMtime = (mtime) => monotonic() - Math.round(Math.max(0, Date.now() - mtime.getTime()) * 1e6);

// The file system, which also notes the tries and tells of each update.
function noting(key, note) {
  return {
    ...fs,
    mkdir(dir, done) {
      note.since = monotonic();
      fs.mkdir(dir, done);
    },
    utimes(dir, atime, mtime, done) {
      const since = sinceMtime(mtime);
      fs.utimes(dir, atime, mtime, (err) => {
        if (!err && held.has(key)) renewed(key, stale, since);
        done(err);
      });
    },
  };
}

async function acquire(key, timeoutMs) {
  const end = performance.now() + timeoutMs;
  const note = {};
  const options = {
    stale, realpath: false, fs: noting(key, note),
    onCompromised: () => {
      if (held.has(key)) lost(key);
    },
  };
  for (;;) {
    try {
      locks.set(key, await library.lock(path.join(directory, key), options));
      held.add(key);
      return { lease_ms: stale, since_ns: note.since };
    } catch (e) {
      if (e.code !== 'ELOCKED') throw new Unknown(e.message);
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
    if (e.code === 'ERELEASED' || e.code === 'ENOTACQUIRED') return false; // it was compromised, or released before
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
