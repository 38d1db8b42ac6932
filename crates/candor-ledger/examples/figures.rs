//! What the ledger costs here: `cargo run --release -p candor-ledger --example figures -- FOLDER`, with a folder on the disk
//! that is meant (the first line says which it is). In memory, as `/tmp` is on some systems, to make a write durable costs
//! nothing, and the figures mean nothing.
//!
//! A keyed call is two durable transitions: start and complete. They are measured with many callers at once, who share
//! transactions, against `bare`: one transaction for each transition, of which a ledger without [`Event::Start`] has three per
//! call (claim, dispatch, complete). The disk has its moods, so the two take turns, each on a fresh file, and what is printed
//! are the medians of five rounds.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_ledger::*;
use rusqlite::{Connection, params};

const ROUNDS: usize = 5;
const CALLERS: u32 = 64;
const CALLS_EACH: u32 = 300;

/// As long as the log beside the file still grows, to sync it is twice the work, and most so for small transactions. So this
/// many transitions (or as many pages of them) go before each measurement.
const WARM_UP: u32 = 1_000;

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
    let start = Event::Start { fingerprint: SAME, owner, by_nature: false };
    let Answer::Started { fence, .. } = say(start).await? else { panic!("{key} is taken") };
    let holder = Holder { owner, fence };
    let outcome = Outcome::new(OutcomeKind::Success, vec![b'x'; 200]);
    assert_eq!(say(Event::Complete { holder, outcome }).await?, Answer::Done);
    Ok(())
}

/// The least that a transaction per transition can be, with the same driver and the same promise: read where the record
/// stands, write it, append a row, commit. One record, no index beside its key, no outcome, no limits. Per transition.
fn bare(path: &Path, transitions: u32) -> rusqlite::Result<Duration> {
    let db = Connection::open(path)?;
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
    for at in 0..transitions + WARM_UP {
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
    Ok(begun.elapsed() / transitions)
}

/// Per call, when there is one after the other.
async fn alone(store: &dyn Store, calls: u32) -> Result<Duration, StoreError> {
    let begun = Instant::now();
    for at in 0..calls {
        call(store, &format!("alone-{at}")).await?;
    }
    Ok(begun.elapsed() / calls)
}

/// Per call, when there are many at once.
async fn together(store: &Arc<dyn Store>, name: &'static str, calls_each: u32) -> Duration {
    let begun = Instant::now();
    let local = tokio::task::LocalSet::new();
    for caller in 0..CALLERS {
        let store = Arc::clone(store);
        local.spawn_local(async move {
            for at in 0..calls_each {
                call(&*store, &format!("{name}-{caller}-{at}")).await.expect("the store works");
            }
        });
    }
    local.await;
    begun.elapsed() / (CALLERS * calls_each)
}

/// A call that was made before, answered with 200 bytes.
async fn recall(store: &dyn Store, recalls: u32) -> Result<Duration, StoreError> {
    let known = id("caller-7-7");
    let begun = Instant::now();
    for _ in 0..recalls {
        let answer = store.recall(&known, SAME, false).await?;
        assert!(matches!(answer, Some(Answer::Replay { .. })));
    }
    Ok(begun.elapsed() / recalls)
}

/// The newest page of history.
async fn history(store: &dyn Store, pages: u32) -> Result<Duration, StoreError> {
    let begun = Instant::now();
    for _ in 0..pages {
        assert_eq!(store.rows(Filter::default(), Page::default()).await?.items.len(), 100);
    }
    Ok(begun.elapsed() / pages)
}

/// A file that is gone afterwards.
struct Fresh(PathBuf);

impl Fresh {
    fn new(folder: &Path, name: &str) -> Self {
        let fresh = Self(folder.join(format!("candor-figures-{}-{name}.db", std::process::id())));
        fresh.remove();
        fresh
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

#[derive(Default)]
struct Measured {
    bare: Vec<Duration>,
    alone: Vec<Duration>,
    together: Vec<Duration>,
    recall: Vec<Duration>,
    history: Vec<Duration>,
    /// Bare, three per call, against together, in the same round.
    times: Vec<f64>,
}

fn median<T: Copy + PartialOrd>(mut all: Vec<T>) -> T {
    all.sort_by(|a, b| a.partial_cmp(b).expect("figures"));
    all[all.len() / 2]
}

/// What the folder is on, if the system tells.
fn disk(folder: &Path) -> String {
    std::process::Command::new("df")
        .args(["-T", "--"])
        .arg(folder)
        .output()
        .ok()
        .and_then(|told| String::from_utf8(told.stdout).ok())
        .and_then(|told| {
            let mut words = told.lines().nth(1)?.split_whitespace();
            Some(format!("{} ({})", words.next()?, words.next()?))
        })
        .unwrap_or_else(|| "a disk of which nothing is known".to_owned())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = env::args().nth(1).map_or_else(env::temp_dir, PathBuf::from);
    eprintln!(
        "on {}, {ROUNDS} rounds, {CALLERS} callers with {CALLS_EACH} calls each",
        disk(&folder)
    );
    let quotas = Quotas { records: u64::MAX, bytes: u64::MAX / 2, keys_per_hour: u64::MAX };
    let options = Options { rules: Rules { quotas, ..Rules::default() }, ..Options::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let mut measured = Measured::default();
    for _ in 0..ROUNDS {
        let file = Fresh::new(&folder, "bare");
        let bare = bare(&file.0, 1_000)?;
        drop(file);
        let file = Fresh::new(&folder, "ledger");
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&file.0, options.clone())?);
        let together = {
            runtime.block_on(together(&store, "warm-up", WARM_UP / CALLERS));
            runtime.block_on(together(&store, "caller", CALLS_EACH))
        };
        measured.bare.push(bare);
        measured.together.push(together);
        measured.times.push(3.0 * bare.as_secs_f64() / together.as_secs_f64());
        measured.alone.push(runtime.block_on(alone(&*store, 200))?);
        measured.recall.push(runtime.block_on(recall(&*store, 50_000))?);
        measured.history.push(runtime.block_on(history(&*store, 50))?);
        drop(store);
    }
    let rounds: Vec<String> = measured.times.iter().map(|times| format!("{times:.1}")).collect();
    let times = median(measured.times);
    eprintln!("bare, one transition            {:>10.1?}", median(measured.bare));
    eprintln!("one call at a time              {:>10.1?} per call", median(measured.alone));
    eprintln!(
        "{CALLERS} calls at once                {:>10.1?} per call",
        median(measured.together)
    );
    eprintln!(
        "  against bare with three transactions {times:>5.1} ×   (rounds: {})",
        rounds.join(", ")
    );
    eprintln!("  against bare with two                {:>5.1} ×", times * 2.0 / 3.0);
    eprintln!("recall that replays 200 bytes   {:>10.2?}", median(measured.recall));
    eprintln!("newest page of history          {:>10.1?}", median(measured.history));
    Ok(())
}
