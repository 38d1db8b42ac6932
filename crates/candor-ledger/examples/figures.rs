//! What the ledger costs here: `cargo run --release -p candor-ledger --example figures -- FOLDER`, or with
//! `--features postgres` and a `postgres://…` URL instead of the folder.
//!
//! A keyed call is three durable transitions. Measured one transaction per transition, then with many at once, which share
//! transactions; then a replay.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_ledger::*;
use rusqlite::{Connection, params};
use tokio::runtime::Runtime;

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

const SAME: Fingerprint = Fingerprint([7; 32]);

async fn call(store: &dyn Store, key: &str) -> Result<(), StoreError> {
    let id = id(key);
    let owner = Owner::random()?;
    let say = |event| store.apply(&id, event, Circumstances::default());
    let claim = Event::Claim { fingerprint: SAME, owner, by_nature: false };
    let Answer::Claimed { fence, .. } = say(claim).await? else { panic!("{key} is taken") };
    let holder = Holder { owner, fence };
    assert_eq!(say(Event::Dispatch(holder)).await?, Answer::Done);
    let outcome = Outcome::new(OutcomeKind::Success, vec![b'x'; 200]);
    assert_eq!(say(Event::Complete { holder, outcome }).await?, Answer::Done);
    Ok(())
}

/// The least that one transaction per transition can be: read, write, append, commit, on a connection of its own.
fn bare(path: &Path, calls: u32, known: &RecordId) -> rusqlite::Result<Duration> {
    let db = Connection::open(path)?;
    db.execute_batch("PRAGMA synchronous = FULL")?;
    let digest = known.digest();
    let begun = Instant::now();
    for _ in 0..calls * 3 {
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
    Ok(begun.elapsed() / calls)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = env::args().nth(1);
    let quotas = Quotas { records: u64::MAX, bytes: u64::MAX / 2, keys_per_hour: u64::MAX };
    let options = Options { rules: Rules { quotas, ..Rules::default() }, ..Options::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    if let Some(url) = place.as_ref().filter(|place| place.starts_with("postgres")) {
        return measure(&open(url, options)?, &runtime, None);
    }
    let folder = place.map_or_else(env::temp_dir, PathBuf::from);
    let path = folder.join(format!("candor-figures-{}.db", std::process::id()));
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path, options)?);
    let measured = measure(&store, &runtime, Some(&path));
    drop(store);
    for beside in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{beside}", path.display()));
    }
    measured
}

fn measure(
    store: &Arc<dyn Store>,
    runtime: &Runtime,
    file: Option<&Path>,
) -> Result<(), Box<dyn std::error::Error>> {
    // Keys of this run's own: a database may remember those of another.
    let run = Owner::random()?;
    let calls = 300;
    let begun = Instant::now();
    runtime.block_on(async {
        for at in 0..calls {
            call(&**store, &format!("{run}-one-at-a-time-{at}")).await?;
        }
        Ok::<_, StoreError>(())
    })?;
    let alone = begun.elapsed() / calls;
    eprintln!("one call at a time              {alone:>10.1?} per call");

    let bare =
        file.map(|path| bare(path, calls, &id(&format!("{run}-one-at-a-time-0")))).transpose()?;
    if let Some(bare) = bare {
        eprintln!("bare, a transaction each        {bare:>10.1?} per call");
    }

    for at_once in [8, 64, 256] {
        let each = 20_000 / at_once;
        let begun = Instant::now();
        runtime.block_on(async {
            let local = tokio::task::LocalSet::new();
            for caller in 0..at_once {
                let store = Arc::clone(store);
                local.spawn_local(async move {
                    for at in 0..each {
                        let key = format!("{run}-{at_once}-{caller}-{at}");
                        call(&*store, &key).await.expect("the store works");
                    }
                });
            }
            local.await;
        });
        let together = begun.elapsed() / (at_once * each);
        let times = |other: Duration| other.as_secs_f64() / together.as_secs_f64();
        let bare = bare.map_or(String::new(), |bare| format!(", {:.1} × bare", times(bare)));
        eprintln!(
            "{at_once:<4} at once                    {together:>10.1?} per call: {:.1} × one at a time{bare}",
            times(alone)
        );
    }

    let known = id(&format!("{run}-64-7-7"));
    let recalls = if file.is_some() { 200_000 } else { 5_000 };
    let begun = Instant::now();
    runtime.block_on(async {
        for _ in 0..recalls {
            assert!(matches!(
                store.recall(&known, SAME, false).await?,
                Some(Answer::Replay { .. })
            ));
        }
        Ok::<_, StoreError>(())
    })?;
    eprintln!("recall that replays 200 bytes   {:>10.2?}", begun.elapsed() / recalls);
    Ok(())
}
