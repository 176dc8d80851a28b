// A lock on one Redis, spoken to without a library, as a service of yours may have it.
import crypto from 'node:crypto';
import net from 'node:net';

// In one step, so that a later grant has a greater token.
const ACQUIRE = 'if redis.call("set",KEYS[1],ARGV[1],"NX","PX",ARGV[2]) then return redis.call("incr",KEYS[2]) else return false end';
const RELEASE = 'if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end';
const RENEW = 'if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end';

// The request certainly had no effect.
export class NotSent extends Error {}

export class RedisLock {
  token = null;
  since = null;
  confirms = true; // ACQUIRE, RELEASE and RENEW compare the owner

  #server;
  #key;
  #owner = '';
  #connection = null;

  constructor(server, key, ttl) {
    const colon = server.lastIndexOf(':');
    this.#server = { host: server.slice(0, colon), port: Number(server.slice(colon + 1)) };
    this.#key = key;
    this.lease = ttl;
  }

  async acquire(timeout) {
    const owner = crypto.randomUUID();
    for (const end = performance.now() + timeout; performance.now() < end;) {
      this.since = process.hrtime.bigint(); // right before the request that may be granted
      const token = await this.#command('EVAL', ACQUIRE, 2, this.#key, this.#key + ':token', owner, this.lease);
      if (token !== null) {
        this.token = token;
        this.#owner = owner;
        return true;
      }
      await new Promise((done) => setTimeout(done, 10));
    }
    return false;
  }

  async release() {
    return await this.#command('EVAL', RELEASE, 1, this.#key, this.#owner) === 1;
  }

  async renew() {
    return await this.#command('EVAL', RENEW, 1, this.#key, this.#owner, this.lease) === 1;
  }

  definite(error) {
    return error instanceof NotSent;
  }

  close() {
    this.#connection?.destroy();
  }

  // Sends a command whose reply is a number or nil (null).
  async #command(...words) {
    const socket = this.#connection ??= await this.#connect();
    const text = await new Promise((done, fail) => {
      let text = '';
      const take = (more) => {
        text += more;
        if (text.endsWith('\r\n')) settle(done, text);
      };
      const gone = () => settle(fail, new Error('connection closed: nobody knows what came of it'));
      const settle = (how, what) => {
        socket.setTimeout(0).off('data', take).off('close', gone);
        how(what);
      };
      socket.on('data', take).on('close', gone);
      socket.setTimeout(this.lease); // for the answer: between two commands the connection may be idle
      socket.write(`*${words.length}\r\n` + words.map((w) => `$${Buffer.byteLength(String(w))}\r\n${w}\r\n`).join(''));
    });
    if (text[0] === ':') return Number(text.slice(1));
    if (text === '$-1\r\n') return null;
    throw new Error(text);
  }

  #connect() {
    return new Promise((done, fail) => {
      const socket = net.connect(this.#server, () => done(socket));
      socket.setEncoding('utf8').setTimeout(this.lease, () => socket.destroy()); // what may come yet is the answer to an old command
      socket.on('error', () => {}); // its end follows
      socket.on('close', () => {
        if (this.#connection === socket) this.#connection = null;
        fail(new NotSent('no connection')); // if there has been none
      });
    });
  }
}
