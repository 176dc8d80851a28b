// proper-lockfile: does the unlock of a lock that was taken over free the lock of another process?
// Needs node and `npm install proper-lockfile@4.1.2`, and no picklock: node proper-lockfile-wrong-release.mjs
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import library from 'proper-lockfile';

const began = Number(process.argv[3] ?? Date.now());
const say = (text) => console.log(`${String(Date.now() - began).padStart(5)} ms  ${process.argv[2] ?? 'A'}: ${text}`);
const options = { stale: 2000, realpath: false, onCompromised: (e) => say(`onCompromised: ${e.message}`) };
const lock = () => library.lock('job', options);
const stop = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms); // as a long computation, or a SIGSTOP

if (process.argv[2]) { // B or C: another process
  const until = Date.now() + 6000;
  for (;;) {
    try {
      await lock();
      break;
    } catch (e) {
      if (Date.now() > until) process.exit(say('lock: taken') ?? 0);
      await new Promise((done) => setTimeout(done, 50));
    }
  }
  say('lock: granted');
  fs.writeFileSync(process.argv[2] + '.granted', '');
  await new Promise((done) => setTimeout(done, 5000)); // it works, and its lock is kept up to date
  say('its work is done');
  process.exit(0);
}

for (const old of ['B.granted', 'C.granted']) fs.rmSync(old, { force: true });
fs.rmSync('job.lock', { recursive: true, force: true });
const unlock = await lock();
say('lock: granted');
spawn('node', [process.argv[1], 'B', began], { stdio: 'inherit' });
while (!fs.existsSync('B.granted')) stop(20);
await unlock();
say('unlock: no error');
spawn('node', [process.argv[1], 'C', began], { stdio: 'inherit' });
for (let i = 0; i < 150 && !fs.existsSync('C.granted'); i++) await new Promise((done) => setTimeout(done, 20));
const broken = fs.existsSync('C.granted');
say(broken ? 'BROKEN: B and C hold the lock' : 'as it should be: B alone holds the lock');
