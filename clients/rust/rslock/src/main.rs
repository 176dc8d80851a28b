//! rslock (https://github.com/hexcowboy/rslock), Redlock over several Redis servers, as shipped.
//!
//! Its documentation (0.10.0, https://docs.rs/rslock/0.10.0) promises Redlock. What its user gets is
//! `Lock::validity_time`, for how long the lock is still valid, and a release by best effort that
//! says nothing of its outcome.
use std::collections::HashMap;
use std::time::Duration;

use picklock_adapter::{locked_version, monotonic, serve, Failure, Grant, Lease, Lock, Open};
use rslock::{LockError, LockManager};
use serde_json::{json, Value};
use tokio::runtime::Runtime;

struct Rslock {
    runtime: Runtime,
    manager: LockManager,
    ttl: Duration,
    held: HashMap<String, rslock::Lock>,
}

/// As the library has them.
const RETRIES: u64 = 3;
const RETRY_DELAY: u64 = 200;

impl Rslock {
    /// One call of the library with its lease, which it counts from the start of the round of
    /// requests that was granted. That was certainly not before the call.
    fn lease(&self, since_ns: i64) -> Lease {
        let ttl = self.ttl.as_millis() as u64;
        let drift = (ttl as f32 * 0.01) as u64 + 2; // as the library has it
        Lease { lease_ms: ttl.saturating_sub(drift), since_ns }
    }
}

impl Lock for Rslock {
    fn open(&mut self, request: Open) -> Result<Value, Failure> {
        let servers: Vec<String> = request.servers.iter().map(|s| format!("redis://{s}/")).collect();
        self.manager = LockManager::new(servers);
        self.ttl = Duration::from_millis(request.ttl_ms);
        Ok(json!({
            "lease": true, "renew": true,
            "library": "crates:rslock", "version": locked_version(include_str!("../Cargo.lock"), "rslock"),
        }))
    }

    /// Calls lock until it is granted or the time is over, as the library's own acquire does for ever.
    fn acquire(&mut self, key: &str, timeout_ms: u64, _shared: bool) -> Result<Option<Grant>, Failure> {
        let end = monotonic() + timeout_ms as i64 * 1_000_000;
        loop {
            let since = monotonic();
            let left = (end - since).max(0) as u64 / 1_000_000;
            self.manager.set_retry((1 + left / RETRY_DELAY).min(RETRIES) as u32, Duration::from_millis(RETRY_DELAY));
            match self.runtime.block_on(self.manager.lock(key, self.ttl)) {
                Ok(lock) => {
                    self.held.insert(key.to_string(), lock);
                    return Ok(Some(Grant { token: None, lease: Some(self.lease(since)) }));
                }
                Err(LockError::TtlTooLarge) => return Err(Failure::NotSent("the lease is too long".into())),
                Err(_) if monotonic() >= end => return Ok(None),
                Err(_) => {}
            }
            // The library's last try is not followed by a delay.
            std::thread::sleep(Duration::from_millis(RETRY_DELAY / 10));
        }
    }

    /// An error may mean that only some of the servers could be reached.
    fn renew(&mut self, key: &str) -> Result<Option<Lease>, Failure> {
        let Some(lock) = self.held.get(key) else { return Ok(None) };
        let since = monotonic();
        match self.runtime.block_on(self.manager.extend(lock, self.ttl)) {
            Ok(extended) => {
                self.held.insert(key.to_string(), extended);
                Ok(Some(self.lease(since)))
            }
            Err(e) => Err(Failure::Unknown(e.to_string())),
        }
    }

    /// What is true is only that the call has returned: the library does not say what came of it.
    fn release(&mut self, key: &str) -> Result<bool, Failure> {
        let Some(lock) = self.held.remove(key) else { return Ok(false) };
        self.runtime.block_on(lock.release());
        Ok(true)
    }
}

fn main() {
    let runtime = Runtime::new().expect("start the runtime");
    let manager = LockManager::from_clients(Vec::new()); // until open names the servers
    serve(Rslock { runtime, manager, ttl: Duration::ZERO, held: HashMap::new() });
}
