// Speaks picklock's exec protocol for a lock: one request or answer a line, as JSON
// (https://github.com/picklock/picklock/blob/main/docs/reference/exec.md).
//
// A lock is an object with open, acquire and release, and with renew, holds and downgrade if it can. serve does the rest.
// One with close can be opened again in the same process: it then forgets at once what it has, and ends that meanwhile.
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

// Nobody knows whether the request took effect.
export class Unknown extends Error {}

// The request certainly had no effect.
export class NotSent extends Error {}

// CLOCK_MONOTONIC in ns, which picklock reads too: the time of since_ns.
export const monotonic = () => Number(process.hrtime.bigint());

// What open adds to its answer, so that records name the version that runs. from is the
// import.meta.url of the module that imports the package.
export function loaded(name, from) {
  for (let dir = path.dirname(fileURLToPath(from)); ; dir = path.dirname(dir)) {
    const file = path.join(dir, 'node_modules', name, 'package.json');
    if (fs.existsSync(file)) return { library: 'npm:' + name, version: JSON.parse(fs.readFileSync(file, 'utf8')).version };
    if (dir === path.dirname(dir)) throw new Error(`no package ${name} above ${from}`);
  }
}

// To call when the lock has renewed its lease by itself.
export function renewed(key, leaseMs, sinceNs) {
  tell({ event: 'renewed', key, lease_ms: leaseMs, since_ns: sinceNs });
}

// To call when it has learnt by itself that it no longer holds the lock.
export function lost(key) {
  tell({ event: 'lost', key });
}

// Only answers may be on standard output: what a library prints goes to standard error.
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

// Writes one line, whole.
function tell(message) {
  write(JSON.stringify(message) + '\n');
}

const CANCELLED = { ok: false, error: 'cancelled', definite: true };
const NOT_HELD = { ok: false, error: 'not held', definite: true };

async function answer(lock, request) {
  const { op, key } = request;
  switch (op) {
    case 'open':
      // A lock in files has no servers: it gets the folder that all clients share in their place.
      return { ok: true, ...await lock.open(request.servers ?? [request.directory], request.client, request.ttl_ms, request.options), ...(lock.close ? { reopens: true } : {}) };
    case 'acquire': {
      // Only a lock that declares "cancels" has its acquires cancelled: whatever it returns or throws then but a grant, its user does not hold it.
      const signal = request.cancel_ms ? AbortSignal.timeout(request.cancel_ms) : undefined;
      let grant;
      try {
        grant = await lock.acquire(key, request.timeout_ms ?? 60000, request.mode === 'shared', signal);
      } catch (e) {
        if (!signal?.aborted) throw e;
        grant = null;
      }
      if (grant === null && signal?.aborted) return CANCELLED;
      return grant === null ? { ok: false, error: 'timeout', definite: true } : { ok: true, ...grant };
    }
    case 'renew': {
      if (!lock.renew) break;
      const lease = await lock.renew(key);
      return lease === null ? NOT_HELD : { ok: true, ...lease };
    }
    case 'release':
      return await lock.release(key) ? { ok: true } : NOT_HELD;
    case 'holds':
      if (!lock.holds) break;
      return { ok: true, held: await lock.holds(key) };
    case 'downgrade': {
      if (!lock.downgrade) break;
      const grant = await lock.downgrade(key);
      return grant === null ? NOT_HELD : { ok: true, ...grant };
    }
  }
  return { ok: false, error: 'unknown request ' + op, definite: true };
}

const MOST_CLOSING = 2; // at once
let closing = 0;

// Has a lock end what it has, and does not wait for that: its connections may be those that a fault has harmed.
function closeAside(lock) {
  if (closing >= MOST_CLOSING) throw new NotSent('locks that were opened before are still being closed');
  closing++;
  Promise.resolve(lock.close()).catch(console.error).finally(() => closing--);
}

// Answers requests until the program is told to end, or its input does.
export async function serve(lock) {
  let opened = false;
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    if (request.op === 'close') break;
    let reply;
    try {
      if (request.op === 'open') {
        if (opened) closeAside(lock);
        opened = true;
      }
      reply = await answer(lock, request);
    } catch (e) { // whoever gets it knows no more, unless it says so
      if (!(e instanceof Unknown || e instanceof NotSent)) console.error(e);
      reply = { ok: false, error: e.message || String(e), definite: e instanceof NotSent };
    }
    tell({ id: request.id, ...reply });
  }
  process.exit(0);
}
