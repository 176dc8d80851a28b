// node-redlock 5.0.0-beta.2, and @sesamecare-oss/redlock 1.4.0: a client that waits alone for a free lock does not
// get it. node-redlock 4.2.0 frees its keys after each try that fails, and gets it.
//
// Five Redis servers. A former holder's keys are over at different times, as after servers that were killed came
// back one by one. From then on nobody but this client asks. Each of its tries leaves its key on the servers that
// were free, and the next try counts that key as another client's. The keys end and come again one after another,
// so that no majority is ever free at once.
//
//   npm install redlock@5.0.0-beta.2 @sesamecare-oss/redlock@1.4.0 ioredis     (and redis-server in the PATH)
//   node node-redlock-own-keys.mjs                              # fails
//   node node-redlock-own-keys.mjs redlock together             # the former holder's keys end together: acquired
//   node node-redlock-own-keys.mjs @sesamecare-oss/redlock      # fails
import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { Redis } from 'ioredis';

const [name = 'redlock', keys] = process.argv.slice(2);
const library = await import(name);
const Redlock = library.Redlock ?? library.default.default ?? library.default;
const ports = [7101, 7102, 7103, 7104, 7105];
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const servers = ports.map((port) => spawn('redis-server', ['--port', port, '--save', '', '--dir', mkdtempSync('/tmp/redlock-')], { stdio: 'ignore' }));
await sleep(1000);
const clients = ports.map((port) => new Redis(port, '127.0.0.1'));

// The former holder's keys: over after 300, 900 and 1,500 ms. If they end together, all are over after 300 ms.
const ends = keys === 'together' ? [300, 300, 300, 300, 300] : [300, 300, 900, 900, 1500];
await Promise.all(clients.map((client, i) => client.set('lock', 'former holder', 'PX', ends[i])));

const began = Date.now();
const acquired = new Redlock(clients).acquire(['lock'], 2000, { retryCount: 60 }) // 12 s of tries, 200 ms apart
  .then(() => 'acquired', (error) => error.message);
const owners = sleep(6000).then(async () => console.log('after 6 s the keys are', await Promise.all(clients.map((client) => client.get('lock')))));
console.log(await acquired, `after ${Date.now() - began} ms`);
await owners;
servers.forEach((server) => server.kill());
process.exit(0);
