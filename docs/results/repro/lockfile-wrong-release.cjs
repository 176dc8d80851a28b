// lockfile: does the unlock of a lock that was taken over free the lock of another process?
// Needs node and `npm install lockfile@1.0.4`, and no picklock: node lockfile-wrong-release.cjs
const lockfile = require('lockfile');
const path = 'job.lock';
const options = { stale: 2000 }; // ms: an older file counts as left behind
const began = Date.now();
const say = (text) => console.log(`${String(Date.now() - began).padStart(5)} ms  ${text}`);

lockfile.lock(path, options, (e) => {
  say(`A: lock: ${e?.message ?? 'granted'}`);
  setTimeout(() => lockfile.lock(path, options, (e) => { // A works for longer than that
    say(`B: lock: ${e?.message ?? 'granted'}`);
    setTimeout(() => lockfile.unlock(path, (e) => {
      say(`A: unlock: ${e?.message ?? 'no error'}`);
      lockfile.lock(path, options, (e) => {
        say(`C: lock: ${e?.message ?? 'granted, 0.1 s after B'}`);
        lockfile.unlockSync(path);
      });
    }), 100);
  }), 2300);
});
