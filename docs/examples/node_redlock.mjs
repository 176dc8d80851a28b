// node-redlock (https://github.com/mike-marcacci/node-redlock, version 5) as shipped,
// for picklock:
//
//   npm install redlock@5.0.0-beta.2 ioredis
//   picklock run --lock 'exec:node docs/examples/node_redlock.mjs' --cluster redlock
//
// Options (--lock-option) are the library's settings: retryCount, retryDelay,
// retryJitter, driftFactor.
import readline from "node:readline";
import Redis from "ioredis";
import * as library from "redlock";

const Redlock = library.default.default ?? library.default; // as the package is built
const held = new Map(); // by key
let redlock, clients, ttl, drift;

function open({ servers, ttl_ms, options }) {
  ttl = ttl_ms;
  clients = servers.map((server) => {
    const at = server.lastIndexOf(":");
    const client = new Redis(Number(server.slice(at + 1)), server.slice(0, at));
    client.on("error", () => {}); // it connects again by itself
    return client;
  });
  const settings = Object.fromEntries(Object.entries(options).map(([name, value]) => [name, Number(value)]));
  redlock = new Redlock(clients, settings);
  drift = Math.round(redlock.settings.driftFactor * ttl) + 2; // as the library counts it
  return { ok: true };
}

// What the library promises is lock.expiration, on the wall clock. A lock that it
// returns after that is a lock all the same: it does not look, and leaves that to its
// user.
async function acquire({ key }) {
  const asked = process.hrtime.bigint();
  let lock;
  try {
    lock = await redlock.acquire([key], ttl);
  } catch (e) {
    return { ok: false, error: e.message, definite: true }; // no majority: nobody holds it
  }
  held.set(key, lock);
  const lease = ttl - drift;
  const now = process.hrtime.bigint();
  let since = now - BigInt(Math.round((lease - (lock.expiration - Date.now())) * 1e6));
  since = since < asked ? asked : since > now ? now : since;
  return { ok: true, lease_ms: lease, since_ns: Number(since) };
}

async function release({ key }) {
  const lock = held.get(key);
  held.delete(key);
  await lock.release();
  return { ok: true };
}

const acts = { open, acquire, release };
for await (const line of readline.createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.op === "close") break;
  let answer;
  try {
    answer = await acts[request.op](request);
  } catch (e) { // it may have taken effect or not
    answer = { ok: false, error: e.message, definite: false };
  }
  process.stdout.write(JSON.stringify({ id: request.id, ...answer }) + "\n");
}
process.exit(0);
