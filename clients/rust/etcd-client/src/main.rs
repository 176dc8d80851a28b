//! etcd-client (https://github.com/etcdv3/etcd-client): its `lock`, which is the lock service of etcd, under a lease.
//!
//! Its documentation (0.21.1, https://docs.rs/etcd-client/0.21.1/etcd_client/struct.LockClient.html) promises a lock that
//! is held until it is unlocked or its lease ends. The library renews no lease by itself: `LeaseKeeper::keep_alive` sends one
//! request, and the stream beside it has the answers. The example keeps a lease alive while it waits for the lock, too.
//!
//! A request that has no answer is given up after a lease, as its user has to decide: the library has no limit of its own.
use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use etcd_client::{Client, Error, LeaseKeepAliveStream, LeaseKeeper, LockOptions};
use picklock_adapter::{locked_version, monotonic, serve, Failure, Grant, Lease, Lock, Open};
use serde_json::{json, Value};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

/// A lease, and what keeps it alive: none after a request that had no answer, since the next answer would be that one's.
struct Kept {
    id: i64,
    since_ns: i64,
    alive: Option<(LeaseKeeper, LeaseKeepAliveStream)>,
}

struct Held {
    lease: Kept,
    key: Vec<u8>,
    released: bool,
}

struct EtcdLock {
    runtime: Runtime,
    client: Option<Client>,
    ttl: Duration, // whole seconds: etcd counts no less
    held: HashMap<String, Held>,
}

fn unknown(e: impl ToString) -> Failure {
    Failure::Unknown(e.to_string())
}

/// What a call comes to within that time.
async fn within<T>(limit: Duration, call: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
    match timeout(limit, call).await {
        Ok(done) => done.map_err(|e| e.to_string()),
        Err(_) => Err("no answer".into()),
    }
}

impl Kept {
    async fn grant(client: &mut Client, ttl: Duration) -> Result<Kept, String> {
        let since_ns = monotonic();
        let id = within(ttl, client.lease_grant(ttl.as_secs() as i64, None)).await?.id();
        Ok(Kept { id, since_ns, alive: None })
    }

    /// Renews the lease: true unless it has ended.
    async fn renew(&mut self, client: &mut Client, ttl: Duration) -> Result<bool, String> {
        let since_ns = monotonic();
        if let Some((mut keeper, mut stream)) = self.alive.take() {
            within(ttl, keeper.keep_alive()).await?;
            match within(ttl, stream.message()).await? {
                Some(answer) if answer.ttl() > 0 => self.alive = Some((keeper, stream)),
                Some(_) => return Ok(false),
                None => return Err("the stream of the lease has ended".into()),
            }
        } else {
            match timeout(ttl, client.lease_keep_alive(self.id)).await {
                Ok(Ok(alive)) => self.alive = Some(alive), // which has sent one request, and has its answer
                Ok(Err(Error::LeaseKeepAliveError(_))) => return Ok(false),
                Ok(Err(e)) => return Err(e.to_string()),
                Err(_) => return Err("no answer".into()),
            }
        }
        self.since_ns = since_ns;
        Ok(true)
    }
}

impl EtcdLock {
    fn lease(&self, since_ns: i64) -> Lease {
        Lease { lease_ms: self.ttl.as_millis() as u64, since_ns }
    }
}

impl Lock for EtcdLock {
    fn open(&mut self, request: Open) -> Result<Value, Failure> {
        self.ttl = Duration::from_secs(request.ttl_ms.div_ceil(1000).max(1));
        let servers: Vec<String> = request.servers.iter().map(|s| format!("http://{s}")).collect();
        self.client = Some(self.runtime.block_on(Client::connect(servers, None)).map_err(|e| Failure::NotSent(e.to_string()))?);
        Ok(json!({
            "lease": true, "renew": true,
            "library": "crates:etcd-client", "version": locked_version(include_str!("../Cargo.lock"), "etcd-client"),
        }))
    }

    fn acquire(&mut self, key: &str, timeout_ms: u64, _shared: bool) -> Result<Option<Grant>, Failure> {
        let mut client = self.client.clone().expect("open comes first");
        let (ttl, name) = (self.ttl, format!("picklock/{key}"));
        let got = self.runtime.block_on(async {
            let mut lease = Kept::grant(&mut client, ttl).await.map_err(Failure::NotSent)?;
            let options = LockOptions::new().with_lease(lease.id);
            let mut locks = client.lock_client();
            let mut leases = client.clone();
            let asked = async {
                let mut lock = std::pin::pin!(locks.lock(name, Some(options)));
                loop {
                    tokio::select! {
                        got = &mut lock => return got.map(Some).map_err(unknown),
                        () = sleep(ttl / 3) => if !lease.renew(&mut leases, ttl).await.map_err(Failure::Unknown)? {
                            return Ok(None); // the lease has ended, and its place in the queue
                        }
                    }
                }
            };
            match timeout(Duration::from_millis(timeout_ms), asked).await {
                Ok(Ok(Some(got))) => Ok(Some(Held { lease, key: got.key().to_vec(), released: false })),
                Ok(Ok(None)) => Ok(None),
                Ok(Err(e)) => {
                    let _ = within(ttl, client.lease_revoke(lease.id)).await;
                    Err(e)
                }
                // It waits on at the server: without its lease it cannot.
                Err(_) => within(ttl, client.lease_revoke(lease.id)).await.map(|_| None).map_err(Failure::Unknown),
            }
        })?;
        Ok(got.map(|held| {
            let lease = self.lease(held.lease.since_ns);
            self.held.insert(key.to_string(), held);
            Grant { token: None, lease: Some(lease) }
        }))
    }

    fn renew(&mut self, key: &str) -> Result<Option<Lease>, Failure> {
        let mut client = self.client.clone().expect("open comes first");
        let Some(held) = self.held.get_mut(key) else { return Ok(None) };
        let kept = self.runtime.block_on(held.lease.renew(&mut client, self.ttl)).map_err(Failure::Unknown)?;
        let since_ns = held.lease.since_ns;
        Ok(kept.then(|| self.lease(since_ns)))
    }

    /// Of a lock that is gone too, without a word.
    fn release(&mut self, key: &str) -> Result<bool, Failure> {
        let mut client = self.client.clone().expect("open comes first");
        let Some(held) = self.held.get_mut(key) else { return Ok(false) };
        let ttl = self.ttl;
        self.runtime.block_on(within(ttl, client.unlock(held.key.clone()))).map_err(Failure::Unknown)?;
        if !held.released {
            held.released = true;
            self.runtime.block_on(within(ttl, client.lease_revoke(held.lease.id))).map_err(Failure::Unknown)?;
        }
        Ok(true)
    }
}

fn main() {
    let runtime = Runtime::new().expect("start the runtime");
    serve(EtcdLock { runtime, client: None, ttl: Duration::ZERO, held: HashMap::new() });
}
