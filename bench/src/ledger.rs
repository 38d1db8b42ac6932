//! Keyed calls through a ledger in a SQLite file, with full sync: 64 callers at once, against one transaction for each transition.
//!
//! A ledger without `Event::Start` has three transitions per call: claim, dispatch, complete. `bare` is the least that such a thing can
//! be, with the same driver and the same promise. Both on a fresh file on the disk that this program is on: in memory, as `/tmp` is on some systems, to make a write
//! durable costs nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use candor::store::{
    AuditContext, Event, EventReply, Fingerprint, Holder, Key, LedgerLimits, Options, OutcomeKind,
    Owner, Quotas, RecordId, Scope, Store, StoreError, StoredResult as Kept, open,
};
use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::load::Outcome;

const CALLERS: u32 = 64;
const CALLS_EACH: u32 = 300;

/// The transitions of `bare`: a tenth of the above, because each takes as long as ten.
const TRANSITIONS: u32 = 3_000;
const TRANSITIONS_PER_CALL: f64 = 3.0;

/// As long as the log beside the file still grows, to sync it is twice the work, and most so for small transactions. So this
/// many transitions go before each measurement.
const WARM_UP: u32 = 1_000;

/// In microseconds for one call, of many at once.
pub async fn together() -> Outcome<Value> {
    let file = Fresh::new("ledger")?;
    let quotas = Quotas {
        records: u64::MAX,
        bytes: u64::MAX / 2,
        keys_per_hour: u64::MAX,
        ..Quotas::default()
    };
    let options =
        Options { rules: LedgerLimits { quotas, ..LedgerLimits::default() }, ..Options::default() };
    let store = open(&format!("sqlite:{}", file.0.display()), options)?;
    all(&store, "warm-up", WARM_UP / CALLERS).await?;
    let begun = Instant::now();
    all(&store, "caller", CALLS_EACH).await?;
    let us = begun.elapsed().as_secs_f64() * 1e6 / f64::from(CALLERS * CALLS_EACH);
    Ok(json!({"us": us, "callers": CALLERS}))
}

async fn all(store: &Arc<dyn Store>, name: &'static str, each: u32) -> Outcome<()> {
    let tasks: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                for at in 0..each {
                    call(&*store, &format!("{name}-{caller}-{at}")).await?;
                }
                Ok::<(), StoreError>(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}

async fn call(store: &dyn Store, key: &str) -> Result<(), StoreError> {
    let id = id(key);
    let owner = Owner::random()?;
    let say = |event| store.apply(&id, event, AuditContext::default());
    let fingerprint = Fingerprint([7; 32]);
    let start = Event::Start { fingerprint, owner, idempotent: false, approval: None };
    let EventReply::Started { fence, .. } = say(start).await? else { panic!("{key} is taken") };
    let holder = Holder { owner, fence };
    let outcome = Kept::new(OutcomeKind::Success, vec![b'x'; 200]);
    assert_eq!(say(Event::Complete { holder, outcome }).await?, EventReply::Done);
    Ok(())
}

fn id(key: &str) -> RecordId {
    RecordId {
        scope: Scope {
            principal: "ada".into(),
            server: "invoices".into(),
            instance: "file:data".into(),
            tool: "create_invoice".into(),
        },
        key: Key::new(key).expect("a key"),
    }
}

/// In microseconds for one call. Reads where the record stands, writes it, appends a row, commits: one record, no index beside its
/// key, no outcome, no limits.
pub fn bare() -> Outcome<Value> {
    let file = Fresh::new("bare")?;
    let db = Connection::open(&file.0)?;
    db.execute_batch(
        "PRAGMA journal_mode = WAL;
        PRAGMA synchronous = FULL;
        CREATE TABLE records (id BLOB PRIMARY KEY, fence INTEGER NOT NULL) STRICT;
        CREATE TABLE audit (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, record BLOB NOT NULL, principal TEXT NOT NULL,
            server TEXT NOT NULL, instance TEXT NOT NULL, tool TEXT NOT NULL, key TEXT NOT NULL, event TEXT NOT NULL) STRICT;",
    )?;
    let digest = id("bare").digest();
    db.execute("INSERT INTO records VALUES (?, 1)", [&digest.0[..]])?;
    let mut begun = Instant::now();
    for at in 0..TRANSITIONS + WARM_UP {
        if at == WARM_UP {
            begun = Instant::now();
        }
        db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let fence: i64 = db
            .prepare_cached("SELECT fence FROM records WHERE id = ?")?
            .query_row([&digest.0[..]], |row| row.get(0))?;
        db.prepare_cached("UPDATE records SET fence = ? WHERE id = ?")?
            .execute(params![fence, &digest.0[..]])?;
        db.prepare_cached(
            "INSERT INTO audit (at, record, principal, server, instance, tool, key, event) \
             VALUES (0, ?, 'ada', 'invoices', 'file:data', 'create_invoice', 'k', 'bare')",
        )?
        .execute([&digest.0[..]])?;
        db.prepare_cached("COMMIT")?.execute([])?;
    }
    let us = begun.elapsed().as_secs_f64() * 1e6 / f64::from(TRANSITIONS) * TRANSITIONS_PER_CALL;
    Ok(json!({"us": us}))
}

/// A file that is gone afterwards.
struct Fresh(PathBuf);

impl Fresh {
    fn new(name: &str) -> std::io::Result<Self> {
        let name = format!("bench-{name}-{}.db", std::process::id());
        let fresh = Self(std::env::current_exe()?.with_file_name(name));
        fresh.remove();
        Ok(fresh)
    }

    fn remove(&self) {
        for beside in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{beside}", self.0.display()));
        }
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        self.remove();
    }
}
