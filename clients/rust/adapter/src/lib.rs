//! Speaks picklock's exec protocol for a lock: one request or answer a line, as JSON
//! (https://github.com/picklock/picklock/blob/main/docs/reference/exec.md).
//!
//! A lock implements `Lock`; `serve` does the rest.
use std::collections::HashMap;
use std::io::{BufRead, Write};

use serde_json::{json, Map, Value};

/// Why a request failed.
pub enum Failure {
    /// Nobody knows whether the request took effect.
    Unknown(String),
    /// The request certainly had no effect.
    NotSent(String),
}

/// Since when a lease runs, and for how long: `since_ns` is `monotonic()` right before the request
/// that was answered.
pub struct Lease {
    pub lease_ms: u64,
    pub since_ns: i64,
}

/// What an acquire has got.
pub struct Grant {
    pub token: Option<i64>,
    pub lease: Option<Lease>,
}

/// What `open` is told. `servers` are the "host:port" of the Compose file's servers.
pub struct Open {
    pub servers: Vec<String>,
    pub client: String,
    pub ttl_ms: u64,
    pub options: HashMap<String, String>,
}

pub trait Lock {
    /// Called once. Returns the abilities as JSON; "library" and "version" beside them name what is
    /// tested (see `locked_version`).
    fn open(&mut self, request: Open) -> Result<Value, Failure>;
    /// Returns `None` if the lock was not to be had in time. `shared` is only ever true for a lock
    /// of the kind "rw".
    fn acquire(&mut self, key: &str, timeout_ms: u64, shared: bool) -> Result<Option<Grant>, Failure>;
    /// Returns the lease that begins anew, or `None` if the lock was no longer ours.
    fn renew(&mut self, _key: &str) -> Result<Option<Lease>, Failure> {
        Err(Failure::NotSent("unknown request renew".into()))
    }
    /// Returns false if the service says that the lock was no longer ours.
    fn release(&mut self, key: &str) -> Result<bool, Failure>;
}

/// CLOCK_MONOTONIC in ns, which picklock reads too: the time of `since_ns`.
pub fn monotonic() -> i64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // It fails only for a clock that there is not.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as i64 * 1_000_000_000 + t.tv_nsec as i64
}

/// The version of a crate in the text of the Cargo.lock that a program was built with.
pub fn locked_version<'a>(lock: &'a str, name: &str) -> &'a str {
    let wanted = format!("name = \"{name}\"\nversion = \"");
    lock.split_once(wanted.as_str()).and_then(|(_, rest)| rest.split_once('"')).map_or("", |(version, _)| version)
}

/// To call when the lock has renewed its lease by itself.
pub fn renewed(key: &str, lease: Lease) {
    tell(json!({"event": "renewed", "key": key, "lease_ms": lease.lease_ms, "since_ns": lease.since_ns}));
}

/// To call when it has learnt by itself that it no longer holds the lock.
pub fn lost(key: &str) {
    tell(json!({"event": "lost", "key": key}));
}

/// Writes one line, whole: threads may call it at once.
fn tell(message: Value) {
    let mut out = std::io::stdout().lock();
    // If nobody reads any more, the input ends as well.
    let _ = out.write_all(format!("{message}\n").as_bytes()).and_then(|()| out.flush());
}

fn failed(error: &str, definite: bool) -> Value {
    json!({"ok": false, "error": error, "definite": definite})
}

fn put_lease(answer: &mut Map<String, Value>, lease: Option<Lease>) {
    if let Some(lease) = lease {
        answer.insert("lease_ms".into(), lease.lease_ms.into());
        answer.insert("since_ns".into(), lease.since_ns.into());
    }
}

fn opening(request: &Value) -> Open {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
    Open {
        servers: request["servers"].as_array().map(|all| all.iter().map(text).collect()).unwrap_or_default(),
        client: text(&request["client"]),
        ttl_ms: request["ttl_ms"].as_u64().unwrap_or_default(),
        options: request["options"].as_object().map(|all| all.iter().map(|(k, v)| (k.clone(), text(v))).collect()).unwrap_or_default(),
    }
}

fn answer(lock: &mut impl Lock, request: &Value) -> Result<Value, Failure> {
    let key = request["key"].as_str().unwrap_or_default();
    let mut answer = Map::from_iter([("ok".to_string(), Value::Bool(true))]);
    match request["op"].as_str().unwrap_or_default() {
        "open" => {
            if let Value::Object(abilities) = lock.open(opening(request))? {
                answer.extend(abilities);
            }
        }
        "acquire" => match lock.acquire(key, request["timeout_ms"].as_u64().unwrap_or(60_000), request["mode"] == "shared")? {
            None => return Ok(failed("timeout", true)),
            Some(grant) => {
                if let Some(token) = grant.token {
                    answer.insert("token".into(), token.into());
                }
                put_lease(&mut answer, grant.lease);
            }
        },
        "renew" => match lock.renew(key)? {
            None => return Ok(failed("not held", true)),
            lease => put_lease(&mut answer, lease),
        },
        "release" => {
            if !lock.release(key)? {
                return Ok(failed("not held", true));
            }
        }
        _ => return Ok(failed("unknown request", true)),
    }
    Ok(Value::Object(answer))
}

/// Answers requests until the program is told to end, or its input does.
pub fn serve(mut lock: impl Lock) {
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let request: Value = serde_json::from_str(&line).expect("a request is JSON");
        if request["op"] == "close" {
            break;
        }
        let mut reply = match answer(&mut lock, &request) {
            Ok(reply) => reply,
            Err(Failure::Unknown(why)) => failed(&why, false),
            Err(Failure::NotSent(why)) => failed(&why, true),
        };
        reply["id"] = request["id"].clone();
        tell(reply);
    }
    std::process::exit(0) // threads of the library may still run
}
