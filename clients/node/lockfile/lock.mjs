// lockfile (https://github.com/npm/lockfile): a file made in a shared directory, as shipped: all defaults but the
// staleness and the wait.
//
// Its README (1.0.4, https://www.npmjs.com/package/lockfile/v/1.0.4) promises that the file "won't be deleted until we
// unlock it", and that a lock is taken over which is older than stale, by its ctime. Nothing renews it, and an
// unlock says nothing of what it has done.
import fs from 'node:fs';
import path from 'node:path';
import library from 'lockfile';

import { Unknown, loaded, monotonic, serve } from '../adapter.mjs';

const held = new Set(); // the paths of the locks that are held
const since = new Map(); // by path: when the file was last asked for
let directory, stale;

function open(servers, client, ttlMs) {
  directory = servers[0];
  stale = ttlMs;
  return { lease: true, ...loaded('lockfile', import.meta.url) };
}

// The library's own, which also notes each try. To take over a lock, it first makes another file, which then gets its name.
const { open: openFile } = fs;
fs.open = (file, ...rest) => {
  since.set(String(file).replace(/\.STALE$/, ''), monotonic());
  return openFile(file, ...rest);
};

function acquire(key, timeoutMs) {
  const file = path.join(directory, `${key}.lock`);
  return new Promise((resolve, reject) => {
    library.lock(file, { stale, wait: timeoutMs }, (e) => {
      if (e) return e.code === 'EEXIST' ? resolve(null) : reject(new Unknown(e.message));
      held.add(file);
      return resolve({ lease_ms: stale, since_ns: since.get(file) });
    });
  });
}

function release(key) {
  const file = path.join(directory, `${key}.lock`);
  if (!held.delete(file)) return false;
  return new Promise((resolve) => library.unlock(file, () => resolve(true)));
}

serve({ open, acquire, release });
