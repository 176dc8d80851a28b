// A lock on nothing, whose key says what comes of it.
class FakeLock {
  token = 7;
  lease = 1250;
  notifies = true;

  constructor(client) {
    this.client = client;
    this.since = client.key === 'no since' ? null : 42n;
    if (client.key === 'unmade') throw new Error('unmade');
  }

  async acquire(timeout) {
    const { servers, name, ttl, options, directory, key } = this.client;
    if (key === 'told') throw new Error(`${servers[0]} ${name} ${ttl} ${options.a} ${directory} ${timeout}`);
    if (key === 'definite') throw new TypeError(key);
    if (key === 'events') {
      this.client.renewed(1000, 43n);
      this.client.lost();
    }
    if (key === 'forever') await new Promise(() => {});
    return key !== 'busy';
  }

  release() {
    console.log('a word of the lock');
    if (this.client.key === 'told') throw new Error('told');
    if (this.client.key === 'gone') return false;
  }

  renew() {
    return this.client.key !== 'gone';
  }

  definite(error) {
    return error instanceof TypeError;
  }

  close() {
    console.log('closed', this.client.key);
  }
}

export const fake = (client) => new FakeLock(client);
