//! kube-leader-election (https://github.com/hendrikmaus/kube-leader-election) on a Lease object of Kubernetes, on kube
//! with its defaults.
//!
//! Its README (0.44.0, https://crates.io/crates/kube-leader-election/0.44.0) promises "a very basic form of leader
//! election without fencing, i.e., only use this if your application can tolerate multiple replicas acting as leader for
//! a short amount of time". Clocks decide whether a Lease is over: it is "volatile to datetime skew".
//!
//! `try_acquire_or_renew` is called every third of a lease, as the documentation has it. It is the renewal as well. A lease
//! has whole seconds. A call that has no answer is given up after a lease, as its user has to decide.
use std::collections::HashMap;
use std::time::Duration;

use kube::{Client, Config};
use kube_leader_election::{Error, LeaseLock, LeaseLockParams, LeaseLockResult};
use picklock_adapter::{locked_version, monotonic, serve, Failure, Grant, Lease, Lock, Open};
use serde_json::{json, Value};
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// The API server that picklock starts knows this token, and Leases are kept in this namespace there.
const TOKEN: &str = "picklock";
const NAMESPACE: &str = "default";

struct Leadership {
    runtime: Runtime,
    client: Option<Client>,
    name: String,
    ttl: Duration,
    locks: HashMap<String, LeaseLock>,
}

/// Says that the call has certainly written nothing: its read failed, or the server refused its write.
fn wrote_nothing(e: &Error) -> bool {
    match e {
        // It passes an error on as it is only from its first read.
        Error::GetLease(_) | Error::ApiError { .. } | Error::TraverseLease { .. } | Error::Kube(_) => true,
        Error::CreateLease(kube::Error::Api(s)) | Error::AcquireLease(kube::Error::Api(s)) | Error::RenewLease(kube::Error::Api(s)) => s.code < 500,
        _ => false,
    }
}

impl Leadership {
    /// What one call has said: the lease if the client leads now.
    fn call(&self, key: &str, within: Duration) -> Result<Option<Lease>, Called> {
        let since_ns = monotonic();
        let lock = &self.locks[key];
        match self.runtime.block_on(async { timeout(within, lock.try_acquire_or_renew()).await }) {
            Ok(Ok(LeaseLockResult::Acquired(_))) => Ok(Some(Lease { lease_ms: self.ttl.as_secs() * 1000, since_ns })),
            Ok(Ok(LeaseLockResult::NotAcquired(_))) => Ok(None),
            Ok(Err(e)) if wrote_nothing(&e) => Err(Called::Nothing),
            Ok(Err(e)) => Err(Called::Unknown(e.to_string())),
            Err(_) => Err(Called::Unknown("no answer".into())),
        }
    }
}

/// Why a call has failed.
enum Called {
    Nothing, // and had no effect
    Unknown(String),
}

impl Lock for Leadership {
    fn open(&mut self, request: Open) -> Result<Value, Failure> {
        let _inside = self.runtime.enter(); // the client starts a task
        let url = format!("https://{}", request.servers[0]);
        let mut config = Config::new(url.parse().map_err(|_| Failure::NotSent(format!("{url} is no address")))?);
        config.accept_invalid_certs = true; // the server makes its certificate at its start
        config.auth_info.token = Some(TOKEN.to_string().into());
        self.client = Some(Client::try_from(config).map_err(|e| Failure::NotSent(e.to_string()))?);
        self.ttl = Duration::from_millis(request.ttl_ms);
        self.name = request.client;
        Ok(json!({
            "lease": true, "renew": true, "confirms": true,
            "library": "crates:kube-leader-election", "version": locked_version(include_str!("../Cargo.lock"), "kube-leader-election"),
        }))
    }

    fn acquire(&mut self, key: &str, timeout_ms: u64, _shared: bool) -> Result<Option<Grant>, Failure> {
        let client = self.client.clone().expect("open comes first");
        let params = LeaseLockParams { holder_id: self.name.clone(), lease_name: key.to_string(), lease_ttl: self.ttl };
        self.locks.insert(key.to_string(), LeaseLock::new(client, NAMESPACE, params));
        let end = monotonic() + timeout_ms as i64 * 1_000_000;
        loop {
            match self.call(key, self.ttl) {
                Ok(Some(lease)) => return Ok(Some(Grant { token: None, lease: Some(lease) })),
                Err(Called::Unknown(why)) => return Err(Failure::Unknown(why)),
                Ok(None) | Err(Called::Nothing) => {}
            }
            let left = end - monotonic();
            if left <= 0 {
                return Ok(None);
            }
            std::thread::sleep((self.ttl / 3).min(Duration::from_nanos(left as u64)));
        }
    }

    fn renew(&mut self, key: &str) -> Result<Option<Lease>, Failure> {
        if !self.locks.contains_key(key) {
            return Ok(None);
        }
        self.call(key, self.ttl).map_err(|e| match e {
            Called::Nothing => Failure::NotSent("the call failed before it wrote".into()),
            Called::Unknown(why) => Failure::Unknown(why),
        })
    }

    fn release(&mut self, key: &str) -> Result<bool, Failure> {
        let Some(lock) = self.locks.remove(key) else { return Ok(false) };
        match self.runtime.block_on(async { timeout(self.ttl, lock.step_down()).await }) {
            Ok(Ok(())) => Ok(true),
            Ok(Err(Error::ReleaseLockWhenNotLeading { .. })) => Ok(false),
            Ok(Err(e)) => Err(Failure::Unknown(e.to_string())),
            Err(_) => Err(Failure::Unknown("no answer".into())),
        }
    }
}

fn main() {
    let runtime = Runtime::new().expect("start the runtime");
    serve(Leadership { runtime, client: None, name: String::new(), ttl: Duration::ZERO, locks: HashMap::new() });
}
