// Tests of a distributed lock in node:test: picklock starts the servers, lets real clients
// fight over your lock, does harm to them, and proves what held
// (https://github.com/picklock/picklock). Copy this file beside your tests.
//
//     // my-lock.picklock.mjs: makes what one client holds, in a process of its own
//     export default (client) => new MyLock(client.servers[0], client.key, client.ttl);
//
//     // my-lock.test.mjs
//     const lock = new URL('my-lock.picklock.mjs', import.meta.url); // '#name' for a named export
//     test('my lock', async (t) => {
//       await picklock(t).run(lock, { cluster: 'redis', faults: ['kill:client'], duration: '5s' }).holds();
//     });
//
// What it makes, or promises to make, is used again and again for its key, and has these
// methods; each may return a promise. Times are in milliseconds.
//
//     acquire(timeout)   true if it got the lock within that time
//     release()          false if the lock was no longer its own
//     renew()            optional, as release: the lease begins anew
//     lease              optional: how long the service promises each grant
//     since              optional: process.hrtime.bigint() right before the request that was
//                        granted. Without it, a lease that was waited for proves little
//     token              optional: the grant's fencing token, a number that rises
//     watchdog           optional: true if it renews by itself until its release
//     notifies           optional: true if it promises to report a loss, with client.lost()
//     confirms           optional: true if the service compares the owner in release and renew
//     definite(error)    optional: whether what was thrown certainly had no effect. All else
//                        counts as unknown: it may have
//     close()            optional: ends what it has started
//
// lease, since and token are values or methods. A watchdog calls client.renewed(lease, since)
// and client.lost(). What the lock prints goes to the client's log. It is made once more at the
// start, with another key, to see which of these it has.
//
// PICKLOCK is the program (else it is looked for on PATH), PICKLOCK_OUT the folder where the
// records of failed tests are kept (else the one for temporary files).
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

const INSTALL = 'go install github.com/picklock/picklock/cmd/picklock@latest, or set PICKLOCK to the program';
const helper = fileURLToPath(import.meta.url);

// ---- in the test ------------------------------------------------------------------

// Returns what runs picklock in the test t. The names of flags are those of its --help:
// duration: '5s' is --duration=5s, and a list gives a flag several times. A test that does
// not ask what came of a run fails. CI may not do without the program; elsewhere the
// test is skipped.
export function picklock(t) {
  const program = find(process.env.PICKLOCK || 'picklock');
  const results = [];
  if (program === null) {
    const missing = `there is no program ${process.env.PICKLOCK || 'picklock'}: ${INSTALL}`;
    if (process.env.PICKLOCK || process.env.CI) throw new Error(missing);
    t.skip(missing);
  }
  t.after(() => {
    for (const r of results) if (r.passed) fs.rmSync(r.kept, { recursive: true });
    const left = results.filter((r) => !r.judged).map((r) => r.what);
    if (left.length > 0) throw new Error(`nobody asked what came of picklock ${left.join(', ')}: say await ... .holds(), .breaks(...) or .asExpected()`);
  });
  const judge = (words, lock, flags) => {
    const result = new Result(t, program, words, lock, flags);
    if (program !== null) results.push(result);
    return result;
  };
  return {
    // Real clients under faults that strike at random: picklock run.
    run: (lock, flags = {}) => judge(['run'], lock, flags),
    // A scenario of the catalogue (picklock list scenarios), or a file: 'counterexample-1.yaml'.
    scenario: (scenario, lock, flags = {}) => judge(['scenario', 'run', scenario], lock, flags),
    // A search for the least that breaks the lock: picklock hunt. duration: '1m' is how long.
    hunt: (lock, flags = {}) => judge(['hunt'], lock, { finish: '30s', ...flags }),
    // Fails unless the lock is adapted as it has to be: picklock lock check.
    check: async (lock, flags = {}) => {
      if (program === null) return;
      const { code, stdout, stderr } = await start(t, program, ['lock', 'check', command(lock), ...args(flags)]);
      if (code !== 0) throw new Error(stdout + stderr);
    },
  };
}

function find(program) {
  const folders = program.includes(path.sep) ? [''] : (process.env.PATH ?? '').split(path.delimiter);
  return folders.map((f) => path.resolve(f, program)).find((f) => fs.statSync(f, { throwIfNoEntry: false })?.isFile()) ?? null;
}

// The command that serves lock to picklock: this file, with what node was told here.
function command(lock) {
  const told = process.execArgv.filter((a) => !a.startsWith('--test'));
  return [process.execPath, ...told, helper, '--serve', String(lock)].map((w) => `'${w.replaceAll("'", "'\\''")}'`).join(' ');
}

function args(flags) {
  const dashed = (name) => '--' + name.replace(/[A-Z]/g, (c) => '-' + c.toLowerCase());
  return Object.entries(flags).flatMap(([name, values]) => [values].flat().map((v) => `${dashed(name)}=${v}`));
}

function start(t, program, words) {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env; // what a client imports is no test
  return new Promise((done, fail) => {
    const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'], env, signal: t.signal });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => { said[name] += text; });
    child.on('error', fail).on('close', (code, signal) => done({ code: code ?? signal, ...said }));
  });
}

// What came of it. One of holds, breaks and asExpected has to be asked, and awaited.
class Result {
  judged = false;
  passed = false;

  constructor(t, program, words, lock, flags) {
    this.what = words.join(' ');
    if (program === null) return;
    const kept = process.env.PICKLOCK_OUT || os.tmpdir();
    fs.mkdirSync(kept, { recursive: true });
    this.kept = fs.mkdtempSync(path.resolve(kept, 'picklock-'));
    this.dir = path.join(this.kept, 'run');
    this.done = start(t, program, [...words, '--lock', 'exec:' + command(lock), '--out', this.dir, ...args(flags)]);
    this.done.catch(() => {}); // whoever asks is told
  }

  // Nothing that the lock has to keep to was broken, and enough was tried to say so.
  async holds() {
    return this.#expect('hold', () => this.outcome === 'holds');
  }

  // The lock broke, with these anomalies among others (docs/reference/anomalies.md).
  async breaks(...anomalies) {
    return this.#expect(['break', ...(anomalies.length > 0 ? ['with'] : []), ...anomalies].join(' '),
      () => this.outcome === 'broken' && anomalies.every((a) => this.anomalies.includes(a)));
  }

  // What the scenario itself expects came of it.
  async asExpected() {
    return this.#expect('do as the scenario expects', () => this.code === 0);
  }

  async #expect(what, met) {
    if (this.done === undefined) return this; // skipped
    const { code, stdout, stderr } = await this.done.finally(() => { this.judged = true; });
    if (![0, 1, 2].includes(code)) throw new Error(`picklock ${this.what} could not run (${code}):\n${stderr.slice(-3000)}`);
    this.#read(code, stdout);
    this.passed = met();
    if (!this.passed) {
      const said = { holds: 'it held', broken: 'it broke: ' + this.anomalies.join(', '), unknown: 'nothing was proved' };
      throw new Error(`picklock ${this.what}: ${said[this.outcome]}. The lock was to ${what}.\n${stdout}kept: ${this.dir}`);
    }
    return this;
  }

  #read(code, summary) {
    Object.assign(this, { code, summary });
    const json = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));
    let verdicts = files(this.dir).filter((f) => path.basename(f) === 'verdict.json').map(json);
    if (this.what === 'hunt') {
      const found = json(path.join(this.dir, 'hunt.json')).counterexamples ?? [];
      verdicts = [{ valid: code === 0, anomalies: found.flatMap((w) => w.anomalies.map((name) => ({ name }))) }];
    }
    const valid = verdicts.map((v) => v.valid);
    this.anomalies = [...new Set(verdicts.flatMap((v) => v.anomalies.map((a) => a.name)))].sort();
    this.outcome = 'unknown';
    if (code !== 2 && valid.length > 0 && !valid.includes('unknown')) this.outcome = valid.every(Boolean) ? 'holds' : 'broken';
  }
}

function files(dir) {
  return fs.readdirSync(dir, { withFileTypes: true }).flatMap((e) => (e.isDirectory() ? files(path.join(dir, e.name)) : [path.join(dir, e.name)]));
}

// ---- in a client's process --------------------------------------------------------

// For whom a lock is made: servers ("host:port" each), key, ttl (the lease to ask for), name,
// options (of --lock-option) and directory, where the cluster has one.
class Client {
  #tell;

  constructor(opened, key, tell) {
    const { servers = [], client: name, ttl_ms: ttl, options = {}, directory } = opened;
    Object.assign(this, { servers, name, ttl, options, directory, key });
    this.#tell = tell;
  }

  // To call when the lock has learnt by itself that it is no longer held.
  lost() {
    this.#tell({ event: 'lost', key: this.key });
  }

  // To call when it has renewed its lease by itself: since is process.hrtime.bigint() right
  // before the request that was answered.
  renewed(lease, since) {
    this.#tell({ event: 'renewed', key: this.key, lease_ms: lease, since_ns: Number(since) });
  }
}

const failed = (error, definite) => ({ ok: false, error, definite });
const value = (lock, name) => (typeof lock[name] === 'function' ? lock[name]() : lock[name]) ?? undefined;

// Speaks the protocol (docs/reference/exec.md) for the locks that make makes.
class Adapter {
  locks = new Map();

  constructor(make, tell) {
    Object.assign(this, { make, tell });
  }

  async answer(q) {
    let lock, before;
    try {
      if (q.op === 'open') {
        this.opened = q;
        return await this.abilities();
      }
      if (!['acquire', 'renew', 'release'].includes(q.op) || q.mode) return failed('unknown request', true);
      lock = this.locks.get(q.key) ?? await this.make(new Client(this.opened, q.key, this.tell));
      this.locks.set(q.key, lock);
      before = process.hrtime.bigint(); // right before the request, if there is only one
      if (q.op === 'acquire') {
        if (!await lock.acquire(q.timeout_ms ?? 60_000)) return failed('timeout', true);
        return { ok: true, token: value(lock, 'token'), ...leased(lock, value(lock, 'since') ?? before) };
      }
      if (await lock[q.op]() === false) return failed('not held', true);
      return { ok: true, ...(q.op === 'renew' ? leased(lock, before) : {}) };
    } catch (e) {
      console.error(e);
      return failed(String(e), before === undefined || Boolean(lock.definite?.(e)));
    }
  }

  async abilities() {
    const lock = await this.make(new Client(this.opened, 'picklock-looks', this.tell));
    const flags = Object.fromEntries(['watchdog', 'notifies', 'confirms'].map((name) => [name, Boolean(lock[name])]));
    const declared = { tokens: 'token' in lock, lease: 'lease' in lock, renew: 'renew' in lock, ...flags };
    await lock.close?.();
    return { ok: true, kind: 'mutex', ...declared };
  }
}

const leased = (lock, since) => ({ lease_ms: value(lock, 'lease'), since_ns: Number(since) });

async function serve(target) {
  // What the lock prints must not come between the protocol's lines.
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const tell = (message) => write(JSON.stringify(message) + '\n');
  const loaded = await import(target);
  const adapter = new Adapter(loaded[new URL(target).hash.slice(1) || 'default'], tell);
  let last = Promise.resolve();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const q = JSON.parse(line);
    if (q.op === 'close') break;
    last = last.then(async () => tell({ id: q.id, ...await adapter.answer(q) }));
  }
  setTimeout(() => process.exit(0), 500); // whatever it is waiting for
  await last;
  for (const lock of adapter.locks.values()) await lock.close?.();
  process.exit(0);
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === helper && process.argv[2] === '--serve') await serve(process.argv[3]);
