// dynamodb-lock-client (https://github.com/tristanls/dynamodb-lock-client) on DynamoDB: its FailOpen client with
// heartbeats, as shipped. A lease has as many heartbeats as in its README (10 s and 3 s).
//
// Its README (0.7.3, https://www.npmjs.com/package/dynamodb-lock-client/v/0.7.3) promises a lock that is "automatically
// released" if no heartbeat renews it within leaseDurationMs, and fencing tokens that rise with each grant. An error
// event may say that a heartbeat failed: the library then sends no more, and that is the loss here. It promises no such
// event before the lease is over: the SDK tries for longer. A release that comes too late succeeds, too.
//
// An acquire cannot be stopped. Here it tries as often as the wait has time for, and when that is over, its next
// write is not made. The SDK has its defaults: it repeats a request whose answer is lost.
import DynamoDB from 'aws-sdk/clients/dynamodb.js';
import library from 'dynamodb-lock-client';

import { NotSent, Unknown, loaded, lost, monotonic, renewed, serve } from '../adapter.mjs';

const TABLE = 'dynamodb-lock-client';
const locks = new Map(); // by key, what is held or was
let db, documents, lease;

function open(servers, client, ttlMs) {
  lease = ttlMs;
  db = new DynamoDB({ endpoint: `http://${servers[0]}`, region: 'us-east-1', accessKeyId: 'picklock', secretAccessKey: 'picklock' }); // the emulator checks none
  documents = new DynamoDB.DocumentClient({ service: db });
  return { lease: true, watchdog: true, tokens: true, ...loaded('dynamodb-lock-client', import.meta.url) };
}

// DynamoDB knows these words in small letters, too. The emulator that is built into picklock does not.
const upper = (params) => ({ ...params, ConditionExpression: params.ConditionExpression.replace(/ (and|or) /g, (word) => word.toUpperCase()) });

// The client of DynamoDB that the library is given, which also notes the writes of one grant.
const noting = (grant) => ({
  get: (params, done) => documents.get(params, done),
  delete: (params, done) => documents.delete(params, done), // its FailOpen wants one, and never uses it
  put(params, done) {
    if (grant.over) return done(new Error('the wait is over'));
    const since = monotonic();
    grant.writing = true;
    return documents.put(upper(params), function answered(e, data) {
      grant.writing = false;
      if (!e) {
        grant.since = since;
        if (grant.held) renewed(grant.key, lease, since);
      } else if (e.code !== 'ResourceNotFoundException' && (e.code !== 'ConditionalCheckFailedException' || this.retryCount > 0)) {
        grant.doubt = true; // a condition that fails at a repetition says nothing: the first one may have been carried out
      }
      done(e, data);
      grant.idle?.();
    });
  },
});

function attempt(grant, timeoutMs) {
  const retryCount = Math.max(0, Math.floor(timeoutMs / lease));
  const client = new library.FailOpen({
    dynamodb: noting(grant), lockTable: TABLE, partitionKey: 'id', heartbeatPeriodMs: Math.round(lease * 0.3), leaseDurationMs: lease, retryCount,
  });
  return new Promise((resolve, reject) => {
    client.acquireLock(grant.key, (e, lock) => (e ? reject(e) : resolve(lock)));
  });
}

// The table is there from the first acquire on. Another client may have been quicker: the next try tells.
const create = () => db.createTable({
  TableName: TABLE, BillingMode: 'PAY_PER_REQUEST', AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
}).promise().catch(console.error);

const OVER = Symbol('over');

async function acquire(key, timeoutMs) {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const grant = { key, held: false, over: false, writing: false, doubt: false };
    const left = Math.max(0, end - performance.now());
    let timer;
    const wait = new Promise((resolve) => { timer = setTimeout(() => resolve(OVER), left); });
    const going = attempt(grant, left);
    going.catch(() => {}); // it may end after the wait
    try {
      let lock = await Promise.race([going, wait]);
      if (lock === OVER) {
        if (grant.writing) { // this write decides
          await Promise.race([new Promise((resolve) => { grant.idle = resolve; }), new Promise((resolve) => { setTimeout(resolve, lease); })]);
          if (grant.writing) grant.doubt = true;
        }
        grant.over = true;
        if (grant.since) lock = await going;
        else if (grant.doubt) throw new Unknown('a write was not answered');
        else return null;
      }
      return taken(grant, lock);
    } catch (e) {
      if (e instanceof Unknown) throw e;
      if (grant.doubt) throw new Unknown(e.message);
      if (e.code === 'ResourceNotFoundException') await create();
      else if (e.code !== 'FailedToAcquireLock') throw new NotSent(e.message);
      if (performance.now() >= end) return null;
    } finally {
      clearTimeout(timer);
    }
  }
}

function taken(grant, lock) {
  grant.lock = lock;
  grant.held = true;
  grant.over = false; // its heartbeats are writes
  lock.on('error', (e) => {
    console.error(e);
    if (grant.held) lost(grant.key);
    grant.held = false;
  });
  locks.set(grant.key, grant);
  return { token: lock.fencingToken, lease_ms: lease, since_ns: grant.since };
}

function release(key) {
  const grant = locks.get(key);
  if (!grant) return false;
  grant.held = false;
  return new Promise((resolve, reject) => {
    grant.lock.release((e) => (e ? reject(new Unknown(e.message)) : resolve(true)));
  });
}

function close() {
  const all = [...locks.keys()].map(release);
  locks.clear();
  return Promise.all(all);
}

serve({ open, acquire, release, close });
