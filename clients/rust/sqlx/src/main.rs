//! sqlx's PgAdvisoryLock (https://github.com/launchbadge/sqlx) on Postgres, on a pool with all defaults.
//!
//! Its documentation (0.9.0, https://docs.rs/sqlx/0.9.0/sqlx/postgres/struct.PgAdvisoryLock.html) promises a
//! "mutex-like type utilizing Postgres advisory locks", which are "explicitly locked and unlocked, or
//! automatically released when a connection is closed". There is no lease, and nothing tells a holder
//! that its connection has ended.
//!
//! `acquire` waits in the server. It is "cancel safe": the end of the wait is the end of its future. A release that has no
//! answer is given up after a lease, as its user has to decide.
use std::collections::HashMap;
use std::time::Duration;

use picklock_adapter::{locked_version, monotonic, serve, Failure, Grant, Lock, Open};
use serde_json::{json, Value};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgAdvisoryLock, PgAdvisoryLockGuard, PgPool, PgPoolOptions, Postgres};
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// How long to wait before another connection is asked for.
const AGAIN: Duration = Duration::from_millis(50);

struct Sqlx {
    runtime: Runtime,
    pool: Option<PgPool>,
    ttl: Duration,
    held: HashMap<String, PgAdvisoryLockGuard<PoolConnection<Postgres>>>,
}

impl Lock for Sqlx {
    fn open(&mut self, request: Open) -> Result<Value, Failure> {
        let _inside = self.runtime.enter(); // the pool starts tasks
        let url = format!("postgres://postgres@{}/postgres?sslmode=disable", request.servers[0]);
        self.pool = Some(PgPoolOptions::new().connect_lazy(&url).map_err(|e| Failure::NotSent(e.to_string()))?);
        self.ttl = Duration::from_millis(request.ttl_ms);
        Ok(json!({
            "lease": false,
            "library": "crates:sqlx", "version": locked_version(include_str!("../Cargo.lock"), "sqlx"),
        }))
    }

    /// Without a connection nothing was asked for. Of an error after that nobody knows what came of it.
    fn acquire(&mut self, key: &str, timeout_ms: u64, _shared: bool) -> Result<Option<Grant>, Failure> {
        let pool = self.pool.as_ref().expect("open comes first");
        let lock = PgAdvisoryLock::new(key);
        let end = monotonic() + timeout_ms as i64 * 1_000_000;
        let left = || Duration::from_nanos((end - monotonic()).max(0) as u64);
        let granted = self.runtime.block_on(async {
            let connection = loop {
                match timeout(left(), pool.acquire()).await {
                    Ok(Ok(connection)) => break connection,
                    Err(_) => return Ok(None),
                    Ok(Err(_)) => tokio::time::sleep(AGAIN.min(left())).await,
                }
            };
            match timeout(left(), lock.acquire(connection)).await {
                Ok(Ok(guard)) => Ok(Some(guard)),
                Ok(Err(e)) => Err(Failure::Unknown(e.to_string())),
                Err(_) => Ok(None),
            }
        })?;
        let Some(guard) = granted else { return Ok(None) };
        self.held.insert(key.to_string(), guard);
        Ok(Some(Grant { token: None, lease: None }))
    }

    /// The library logs that the connection did not hold the lock, and tells no difference.
    fn release(&mut self, key: &str) -> Result<bool, Failure> {
        let Some(guard) = self.held.remove(key) else { return Ok(false) };
        // A connection that goes back to its pool starts a task: it has to be dropped in here.
        match self.runtime.block_on(async { timeout(self.ttl, guard.release_now()).await.map(|answer| answer.map(drop)) }) {
            Ok(Ok(())) => Ok(true),
            Ok(Err(e)) => Err(Failure::Unknown(e.to_string())),
            Err(_) => Err(Failure::Unknown("no answer".into())),
        }
    }
}

fn main() {
    let runtime = Runtime::new().expect("start the runtime");
    serve(Sqlx { runtime, pool: None, ttl: Duration::ZERO, held: HashMap::new() });
}
