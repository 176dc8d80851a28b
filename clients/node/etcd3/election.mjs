// etcd3's Election (https://github.com/microsoft/etcd3), as shipped: who leads holds the lock.
//
// Its documentation (1.1.2, https://microsoft.github.io/etcd3/classes/election.html) promises one leader among those that
// campaign, as etcd's client in Go has it: by a key under a lease, which the library keeps alive. If the campaign's
// event "error" comes, another one leads, and its user has to stop and to campaign anew.
import { Etcd3 } from 'etcd3';

import { Unknown, loaded, lost, serve } from '../adapter.mjs';

const led = new Map(); // by key: the campaigns that its user has been told of
let client, seconds, name;

function open(servers, who, ttlMs) {
  name = who;
  seconds = Math.max(1, Math.ceil(ttlMs / 1000)); // it counts in whole ones
  client = new Etcd3({ hosts: servers.map((server) => 'http://' + server) });
  return { lease: false, watchdog: true, cancels: true, ...loaded('etcd3', import.meta.url) };
}

async function acquire(key, timeoutMs, shared, signal) {
  const campaign = client.election('picklock/' + key, seconds).campaign(name);
  const outcome = new Promise((resolve) => {
    campaign.on('elected', () => resolve('elected'));
    campaign.on('error', (e) => resolve(e));
    setTimeout(resolve, timeoutMs, 'timeout').unref();
    signal?.addEventListener('abort', () => resolve('timeout'), { once: true });
  });
  const came = await outcome;
  if (came === 'elected') {
    led.set(key, campaign);
    campaign.on('error', () => {
      if (led.get(key) !== campaign) return;
      led.delete(key);
      lost(key);
    });
    return {};
  }
  try {
    await campaign.resign();
  } catch (e) {
    throw new Unknown(e.message);
  }
  if (came !== 'timeout') throw new Unknown(came.message);
  return null;
}

async function release(key) {
  const campaign = led.get(key);
  if (!campaign) return false;
  led.delete(key);
  try {
    await campaign.resign();
  } catch (e) {
    throw new Unknown(e.message);
  }
  return true;
}

function close() {
  // Its client goes on to renew what it holds when it has been closed.
  const former = client;
  const resigned = Promise.allSettled([...led.values()].map((campaign) => campaign.resign()));
  led.clear();
  return resigned.then(() => former.close());
}

serve({ open, acquire, release, close });
