//! What is SQLite's own: the file, its version, its limits, and several hands on it.

mod common;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use candor_ledger::laws::{fixture, older};
use candor_ledger::*;
use common::{Folder, SAME, call, claim, id, outcome, say, sqlite, wait};

#[cfg(unix)]
#[test]
fn ledger_file_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let path = folder.join("state/candor/ledger.db");
    let store = sqlite(&path, Options::default());
    wait(call(&store, &id("a"), "x"));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for beside in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        assert_eq!(mode(&path.with_file_name(beside)), 0o600, "{beside}");
    }
    assert_eq!(mode(path.parent().unwrap()), 0o700);
}

#[test]
fn newer_major_schema_is_refused_and_left_unchanged() {
    let folder = Folder::new();
    let path = folder.join("ledger.db");
    drop(sqlite(&path, Options::default()));
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("UPDATE candor_ledger SET major = 2; PRAGMA journal_mode = DELETE;").unwrap();
    drop(db);
    let before = fs::read(&path).unwrap();
    let refused = SqliteStore::open(&path, Options::default()).err().unwrap();
    assert_eq!(refused, StoreError::NewerSchema { found: 2, known: 1 });
    assert!(refused.to_string().contains("schema 2"), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn newer_minor_schema_still_works() {
    let folder = Folder::new();
    let path = folder.join("ledger.db");
    drop(sqlite(&path, Options::default()));
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(
        "UPDATE candor_ledger SET minor = 9; ALTER TABLE records ADD COLUMN later TEXT;",
    )
    .unwrap();
    drop(db);
    wait(call(&sqlite(&path, Options::default()), &id("a"), "x"));
}

#[test]
fn ledger_of_schema_1_1_is_migrated() {
    let folder = Folder::new();
    let path = folder.join("ledger.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(include_str!("schema-1.1/sqlite.sql")).unwrap();
    let mut put = db
        .prepare(
            "INSERT INTO records (short, id, scope, key, fingerprint, fence, attempt, by_nature, created, touched, \
             last_row, state, lapses, owner, since, round, outcome_kind, outcome) \
             VALUES (?, ?, 1, ?, ?, 1, 1, 0, 0, 0, ?, ?, ?, ?, 0, ?, ?, ?)",
        )
        .unwrap();
    let far = i64::MAX / 2;
    for (key, row, state, lapses, owner, round, kind, bytes) in [
        ("a", 2, "completed", far, None, None, Some("success"), Some(&b"invoice 1"[..])),
        ("b", 3, "dispatched", 1, Some([1_u8; 16]), Some(0), None, None),
    ] {
        let digest = id(key).digest().0;
        let short = i64::from_be_bytes(digest[..8].try_into().unwrap());
        put.execute(rusqlite::params![
            short,
            &digest[..],
            key,
            &SAME.0[..],
            row,
            state,
            lapses,
            owner.as_ref().map(|owner| &owner[..]),
            round,
            kind,
            bytes
        ])
        .unwrap();
    }
    drop(put);
    drop(db);
    wait(older::migrated_1_1(&sqlite(&path, Options::default()))).unwrap();
    // A program of that version can still write.
    let db = rusqlite::Connection::open(&path).unwrap();
    let minor: i64 = db.query_row("SELECT minor FROM candor_ledger", [], |row| row.get(0)).unwrap();
    assert_eq!(minor, 4);
    db.execute_batch(
        "INSERT OR REPLACE INTO usage VALUES ('ada', 2, 9, 0, 0);
         INSERT INTO audit (at, scope, event) VALUES (0, 1, 'noted');",
    )
    .unwrap();
}

#[test]
fn grant_of_schema_1_2_is_listed_but_void() {
    let folder = Folder::new();
    let path = folder.join("ledger.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(include_str!("schema-1.1/sqlite.sql")).unwrap();
    db.execute_batch(include_str!("schema-1.2/sqlite.sql")).unwrap();
    wait(older::migrated_1_2(&sqlite(&path, Options::default()))).unwrap();
    // A program of that version can still add a grant.
    db.execute_batch(
        "INSERT INTO grants (id, scope, pattern, by_whom, since, until) VALUES (zeroblob(16), 1, 'any', 'olga', 0, 1)",
    )
    .unwrap();
}

#[test]
fn denial_of_schema_1_3_holds_and_then_stays_in_history() {
    let folder = Folder::new();
    let path = folder.join("ledger.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    for older in [
        include_str!("schema-1.1/sqlite.sql"),
        include_str!("schema-1.2/sqlite.sql"),
        include_str!("schema-1.3/sqlite.sql"),
    ] {
        db.execute_batch(older).unwrap();
    }
    let (digest, (at, ends)) = (id("a").digest().0, older::DENIED);
    let short = i64::from_be_bytes(digest[..8].try_into().unwrap());
    db.execute(
        "INSERT INTO records (short, id, scope, key, fingerprint, fence, attempt, by_nature, created, touched, last_row, \
         state, lapses, license, binding, gated, decided_by, via) \
         VALUES (?, ?, 1, 'a', ?, 1, 0, 0, 0, ?5, 1, 'denied', ?6, 'first', ?4, ?5, 'olga', 'operator')",
        rusqlite::params![short, &digest[..], &SAME.0[..], &older::POLICY.0[..], at, ends],
    )
    .unwrap();
    let clock = Arc::new(AtomicI64::new(at));
    let time = Arc::clone(&clock);
    let given = Clock::Given(Arc::new(move || time.load(Ordering::SeqCst)));
    let store = sqlite(&path, Options { clock: given, ..Options::default() });
    wait(older::migrated_1_3(&store, &clock)).unwrap();
    // A program of that version denies the next request, and that denial counts.
    db.execute(
        "UPDATE records SET state = 'denied', gated = ?1, lapses = ?2, decided_by = 'otto', via = 'operator'",
        [at + 2_000_000, ends + 2_000_000],
    )
    .unwrap();
    clock.store(at + 2_000_001, Ordering::SeqCst);
    let refused = wait(store.recall(&id("a"), SAME, false)).unwrap();
    assert!(matches!(refused, Some(EventReply::Denied { .. })), "{refused:?}");
}

#[test]
fn ledger_of_schema_1_4_has_all_records_and_continues() {
    let folder = Folder::new();
    let path = folder.join("ledger.db");
    fs::write(&path, include_bytes!("schema-1.4/file.sqlite")).unwrap();
    let (options, clock) = fixture::options();
    let store = sqlite(&path, options);
    wait(fixture::check(&store, &clock)).unwrap();
}

/// Not a test. Before the schema changes, this writes the fixture of the present one:
/// `FIXTURE=crates/candor-ledger/tests/schema-X.Y/file.sqlite cargo test -p candor-ledger --test sqlite -- --ignored`.
#[test]
#[ignore = "writes a fixture"]
fn fixture_of_the_present_schema() {
    let path = std::env::var("FIXTURE").expect("FIXTURE names the file");
    let (options, clock) = fixture::options();
    wait(fixture::fill(&sqlite(std::path::Path::new(&path), options), &clock)).unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("PRAGMA journal_mode = DELETE; VACUUM; PRAGMA journal_mode = WAL;").unwrap();
}

#[test]
fn file_that_is_no_ledger_is_refused() {
    let folder = Folder::new();
    let text = folder.join("notes.txt");
    fs::write(&text, "Dear diary, ".repeat(500)).unwrap();
    let refused = SqliteStore::open(&text, Options::default()).err().unwrap();
    assert!(matches!(refused, StoreError::Corrupt(_)), "{refused:?}");

    let other = folder.join("other.db");
    let db = rusqlite::Connection::open(&other).unwrap();
    db.execute_batch("CREATE TABLE songs (name TEXT)").unwrap();
    drop(db);
    let refused = SqliteStore::open(&other, Options::default()).err().unwrap();
    assert!(refused.to_string().contains("another program"), "{refused}");
}

#[test]
fn damaged_file_is_an_error_instead_of_an_absent_record() {
    let folder = Folder::new();
    let path = folder.join("ledger.db");
    let store = sqlite(&path, Options::default());
    for key in 0..200 {
        wait(call(&store, &id(&format!("key-{key}")), &"x".repeat(200)));
    }
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    // The first page holds the schema; all others are lost.
    for byte in bytes.iter_mut().skip(4096) {
        *byte = 0xA5;
    }
    fs::write(&path, bytes).unwrap();
    let told = SqliteStore::open(&path, Options::default())
        .and_then(|store| wait(store.recall(&id("key-7"), SAME, false)));
    assert!(matches!(told, Err(StoreError::Corrupt(_))), "{told:?}");
}

#[test]
fn url_selects_the_store() {
    let folder = Folder::new();
    let url = format!("sqlite:{}", folder.join("a.db").display());
    assert!(open(&url, Options::default()).unwrap().describe().starts_with("SQLite file "));
    assert!(open("memory:", Options::default()).unwrap().describe().contains("forgotten"));
    let refused = open("sqlite:", Options::default()).err().unwrap().to_string();
    assert!(refused.contains("needs a path"), "{refused}");
    // A word alone is no path.
    for unknown in ["mysql://localhost/x", "ledger", ""] {
        let refused = open(unknown, Options::default()).err().unwrap().to_string();
        assert!(refused.contains("sqlite:PATH") && refused.contains(unknown), "{refused}");
    }
    let refused = open("postgre://ada:hush@db/x", Options::default()).err().unwrap().to_string();
    assert!(refused.contains("postgre://db/x") && !refused.contains("hush"), "{refused}");
}

#[test]
fn url_of_a_missing_feature_names_the_feature() {
    for url in ["postgres://ada:hush@db/x", "postgresql://ada:hush@db/x"] {
        let refused = open(url, Options::default()).err().unwrap().to_string();
        assert!(refused.contains("feature `postgres`") && !refused.contains("hush"), "{refused}");
    }
}

#[test]
fn open_existing_creates_nothing() {
    let folder = Folder::new();
    let place = LedgerAddress::File(folder.join("state/ledger.db"));
    let absent = Some(StoreError::Absent);
    assert_eq!(open_existing(&place, Options::default()).err(), absent);
    assert!(!folder.join("state").exists());
    let empty = folder.join("empty.db");
    fs::write(&empty, "").unwrap();
    assert_eq!(
        open_existing(&LedgerAddress::File(empty.clone()), Options::default()).err(),
        absent
    );
    assert_eq!(fs::read(&empty).unwrap(), b"");
    assert_eq!(open_existing(&LedgerAddress::Memory, Options::default()).err(), absent);
    drop(open_address(&place, Options::default()).unwrap());
    wait(call(&*open_existing(&place, Options::default()).unwrap(), &id("a"), "x"));
}

#[test]
fn full_disk_refuses_new_claims_and_keeps_old_records() {
    let folder = Folder::new();
    let options = Options { max_bytes: Some(200 * 1024), ..Options::default() };
    let store = sqlite(&folder.join("ledger.db"), options);
    wait(async {
        let (mut done, mut refused) = (0, None);
        for key in 0..2_000 {
            let id = id(&format!("key-{key}"));
            let owner = Owner::random().unwrap();
            let event = Event::Claim { fingerprint: SAME, owner, idempotent: false };
            match store.apply(&id, event, AuditContext::default()).await {
                Ok(EventReply::Claimed { .. }) => done += 1,
                Ok(other) => panic!("{other:?}"),
                Err(error) => {
                    refused = Some((key, error));
                    break;
                }
            }
        }
        let (key, error) = refused.expect("it fills up");
        assert!(matches!(error, StoreError::Full(_)), "{error:?}");
        assert!(done > 50);
        // No record is half written, and old records can be read.
        assert_eq!(store.find(&id(&format!("key-{key}"))).await.unwrap(), None);
        let first = store.find(&id("key-0")).await.unwrap().unwrap();
        assert_eq!(first.stored.state.kind(), StateKind::Claimed);
        // Many at once: each gets an answer.
        let store = &store;
        let many: Vec<_> = (0..100)
            .map(|at| {
                let event =
                    Event::Claim { fingerprint: SAME, owner: Owner([1; 16]), idempotent: false };
                store.apply(&id(&format!("more-{at}")), event, AuditContext::default())
            })
            .collect();
        for answer in many {
            assert!(matches!(
                answer.await,
                Err(StoreError::Full(_)) | Ok(EventReply::Claimed { .. })
            ));
        }
    });
}

#[test]
fn dispatch_is_in_the_file_before_the_answer() {
    let folder = Folder::new();
    let path = folder.join("ledger.db");
    let store = sqlite(&path, Options::default());
    let holder = wait(claim(&store, &id("a"))).unwrap();
    wait(say(&store, &id("a"), Event::Dispatch(holder)));
    // Another connection, with no help from the first.
    let db = rusqlite::Connection::open(&path).unwrap();
    let (state, rows): (String, i64) = db
        .query_row(
            "SELECT state, (SELECT count(*) FROM audit WHERE came_to = 'dispatched') FROM records",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!((state.as_str(), rows), ("dispatched", 1));
}

/// The scope and the key of each record, and of each row of the audit.
fn listed(store: &SqliteStore) -> (Vec<RecordId>, Vec<RecordId>) {
    let all = Page { most: 10_000, order: Order::Oldest, ..Page::default() };
    let records = wait(store.records(Filter::default(), all)).unwrap().items;
    let rows = wait(store.rows(Filter::default(), all)).unwrap().items;
    let rows = rows.iter().map(|row| row.record().unwrap()).collect();
    (records.into_iter().map(|entry| entry.id).collect(), rows)
}

fn of_tool(tool: &str, key: &str) -> RecordId {
    let mut id = id(key);
    id.scope.tool = tool.into();
    id
}

#[test]
fn scope_added_by_several_stores_is_stored_once() {
    let folder = Folder::new();
    let path = folder.join("ledger.db");
    // Three stores that share nothing but the file, and each scope is new to all of them at about the same time.
    std::thread::scope(|threads| {
        for caller in 0..3 {
            let path = &path;
            threads.spawn(move || {
                let store = sqlite(path, Options::default());
                for tool in 0..40 {
                    wait(call(
                        &store,
                        &of_tool(&format!("tool-{tool}"), &format!("key-{caller}")),
                        "x",
                    ));
                }
            });
        }
    });
    let db = rusqlite::Connection::open(&path).unwrap();
    let scopes: i64 = db.query_row("SELECT count(*) FROM scopes", [], |row| row.get(0)).unwrap();
    assert_eq!(scopes, 40);

    let store = sqlite(&path, Options::default());
    let (records, rows) = listed(&store);
    assert_eq!((records.len(), rows.len()), (120, 360));
    for tool in 0..40 {
        let tool = format!("tool-{tool}");
        let filter = Filter { tool: Some(tool.clone()), ..Filter::default() };
        let found = wait(store.records(filter, Page::default())).unwrap().items;
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|entry| entry.id.scope == of_tool(&tool, "x").scope));
    }
}

#[test]
fn scope_of_a_failed_transaction_is_written_again() {
    let folder = Folder::new();
    let path = folder.join("ledger.db");
    let store = sqlite(&path, Options::default());
    wait(call(&store, &of_tool("first", "a"), "x"));
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE TRIGGER poison BEFORE INSERT ON records WHEN NEW.key = 'poison' \
         BEGIN SELECT RAISE(ABORT, 'for this test'); END",
    )
    .unwrap();
    let start = || Event::Start {
        fingerprint: SAME,
        owner: Owner::random().unwrap(),
        idempotent: false,
        approval: None,
    };
    // Alone, and together with valid events.
    let alone = wait(store.apply(&of_tool("second", "poison"), start(), AuditContext::default()));
    assert!(alone.is_err(), "{alone:?}");
    let ids = [
        of_tool("third", "b"),
        of_tool("third", "poison"),
        of_tool("fourth", "poison"),
        of_tool("second", "c"),
        of_tool("fourth", "d"),
    ];
    let many: Vec<_> =
        ids.iter().map(|id| store.apply(id, start(), AuditContext::default())).collect();
    for (id, answer) in ids.iter().zip(many) {
        assert_eq!(wait(answer).is_err(), id.key.as_str() == "poison", "{id:?}");
    }
    let (mut records, rows) = listed(&store);
    records.sort();
    let mut expected = vec![of_tool("first", "a")];
    expected.extend(ids.into_iter().filter(|id| id.key.as_str() != "poison"));
    expected.sort();
    assert_eq!(records, expected);
    assert!(rows.iter().all(|id| expected.contains(id)), "{rows:?}");
}

#[test]
fn records_with_the_same_short_digest_are_distinct() {
    let folder = Folder::new();
    let path = folder.join("ledger.db");
    let store = sqlite(&path, Options::default());
    wait(call(&store, &id("a"), "of a"));
    // Simulates two digests with the same beginning, because no real pair is known.
    let alike = i64::from_be_bytes(id("b").digest().0[..8].try_into().unwrap());
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute("UPDATE records SET short = ?", [alike]).unwrap();
    assert_eq!(wait(store.recall(&id("b"), SAME, false)).unwrap(), None);
    assert!(wait(store.transitions(&id("b"))).unwrap().is_empty());
    wait(call(&store, &id("b"), "of b"));
    let told = wait(store.recall(&id("b"), SAME, false)).unwrap();
    assert!(
        matches!(told, Some(EventReply::Replay { outcome: first, .. }) if first == outcome("of b"))
    );
    assert_eq!(wait(store.transitions(&id("b"))).unwrap().len(), 3);
    let kept: i64 = db
        .query_row("SELECT count(*) FROM records WHERE short = ?", [alike], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, 2);
}

#[test]
fn start_is_in_the_file_before_the_answer_in_one_row() {
    let folder = Folder::new();
    let path = folder.join("ledger.db");
    let store = sqlite(&path, Options::default());
    let start = Event::Start {
        fingerprint: SAME,
        owner: Owner([1; 16]),
        idempotent: false,
        approval: None,
    };
    let started = wait(say(&store, &id("a"), start.clone()));
    assert_eq!(started, EventReply::Started { fence: Fence(1), attempt: 1 });
    let db = rusqlite::Connection::open(&path).unwrap();
    let found: (String, i64, String, String) = db
        .query_row(
            "SELECT state, attempt, (SELECT group_concat(event) FROM audit), (SELECT came_from FROM audit) FROM records",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .unwrap();
    assert_eq!(found, ("dispatched".into(), 1, "start".into(), "absent".into()));
    // The same start again, as after a lost answer, does not start the call again.
    assert!(matches!(wait(say(&store, &id("a"), start)), EventReply::InFlight { .. }));
}
