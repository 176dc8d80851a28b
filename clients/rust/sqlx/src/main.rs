//! sqlx's `PgAdvisoryLock` (https://github.com/launchbadge/sqlx) on a connection of a pool, as shipped.
//!
//! Its documentation (0.9.0, https://docs.rs/sqlx/0.9.0/sqlx/postgres/struct.PgAdvisoryLock.html) promises a mutex
//! that Postgres keeps for as long as the session of its connection lives, and a guard that releases it. It says
//! nothing of a holder whose connection has ended. `acquire` has no time-out, so that this asks again and again.
use std::collections::HashMap;
use std::time::Duration;

use picklock_adapter::{locked_version, monotonic, serve, Failure, Grant, Lock, Open};
use serde_json::{json, Value};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgAdvisoryLock, PgAdvisoryLockGuard, PgPoolOptions};
use sqlx::{Either, PgPool, Postgres};
use tokio::runtime::Runtime;

struct Sqlx {
    runtime: Runtime,
    pool: Option<PgPool>,
    held: HashMap<String, PgAdvisoryLockGuard<PoolConnection<Postgres>>>,
}

fn unknown(e: sqlx::Error) -> Failure {
    Failure::Unknown(e.to_string())
}

impl Lock for Sqlx {
    fn open(&mut self, request: Open) -> Result<Value, Failure> {
        let url = format!("postgres://postgres@{}/postgres", request.servers[0]);
        let _entered = self.runtime.enter();
        let pool = PgPoolOptions::new().connect_lazy(&url).map_err(|e| Failure::NotSent(e.to_string()))?;
        self.pool = Some(pool);
        Ok(json!({"lease": false, "library": "crates:sqlx", "version": locked_version(include_str!("../Cargo.lock"), "sqlx")}))
    }

    fn acquire(&mut self, key: &str, timeout_ms: u64, _shared: bool) -> Result<Option<Grant>, Failure> {
        let end = monotonic() + timeout_ms as i64 * 1_000_000;
        let pool = self.pool.clone().ok_or(Failure::NotSent("not open".into()))?;
        let lock = PgAdvisoryLock::new(key);
        let got = self.runtime.block_on(async {
            let mut connection = pool.acquire().await.map_err(|e| Failure::NotSent(e.to_string()))?;
            loop {
                match lock.try_acquire(connection).await.map_err(unknown)? {
                    Either::Left(guard) => return Ok(Some(guard)),
                    Either::Right(_) if monotonic() >= end => return Ok(None),
                    Either::Right(same) => connection = same,
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })?;
        Ok(got.map(|guard| {
            self.held.insert(key.to_string(), guard);
            Grant { token: None, lease: None }
        }))
    }

    /// Of a lock that is gone too, with no more than a line in the log.
    fn release(&mut self, key: &str) -> Result<bool, Failure> {
        let Some(guard) = self.held.remove(key) else { return Ok(false) };
        self.runtime.block_on(guard.release_now()).map(|_| true).map_err(unknown)
    }
}

fn main() {
    let runtime = Runtime::new().expect("start the runtime");
    serve(Sqlx { runtime, pool: None, held: HashMap::new() });
}
