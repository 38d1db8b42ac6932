//! What is PostgreSQL's own: its schema, several instances, late commits, who may know what, and (in `outage`) a server that
//! stops in the middle of it.

#![allow(missing_docs)]

#[cfg(unix)]
mod cluster;
mod database;
mod helpers;
mod laws;
#[cfg(unix)]
mod outage;
#[cfg(unix)]
mod processes;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use candor_ledger::laws::{fixture, older};
use candor_ledger::*;
use candor_ledger_postgres::PostgresStore;
use database::Schema;
use helpers::{SAME, call, claim, id, say, wait};

fn postgres(schema: &Schema, rules: LedgerLimits) -> PostgresStore {
    PostgresStore::open(&schema.url(), Options { rules, ..Options::default() }).unwrap()
}

/// A schema, or the end of the test.
macro_rules! schema {
    ($test:literal) => {
        match Schema::new($test) {
            Some(schema) => schema,
            None => return,
        }
    };
}

#[test]
fn newer_major_schema_is_refused_and_left_unchanged() {
    let schema = schema!("newer_major_schema_is_refused_and_left_unchanged");
    drop(postgres(&schema, LedgerLimits::default()));
    schema.sql("UPDATE candor_ledger SET major = 2; DROP TABLE usage");
    let refused = PostgresStore::open(&schema.url(), Options::default()).err().unwrap();
    assert_eq!(refused, StoreError::NewerSchema { found: 2, known: 1 });
    assert!(refused.to_string().contains("schema 2"), "{refused}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema";
    assert_eq!(schema.number(tables), 4);
}

#[test]
fn running_store_refuses_a_newer_schema_after_reconnect() {
    let schema = schema!("running_store_refuses_a_newer_schema_after_reconnect");
    let store = postgres(&schema, LedgerLimits::default());
    wait(call(&store, &id("a"), "x"));
    schema.sql("UPDATE candor_ledger SET major = 2");
    lose_connections(&schema);
    let event = Event::Claim { fingerprint: SAME, owner: Owner([1; 16]), idempotent: false };
    let refused = wait(store.apply(&id("b"), event, AuditContext::default()));
    assert_eq!(refused, Err(StoreError::NewerSchema { found: 2, known: 1 }));
}

#[test]
fn newer_minor_schema_still_works() {
    let schema = schema!("newer_minor_schema_still_works");
    drop(postgres(&schema, LedgerLimits::default()));
    schema.sql("UPDATE candor_ledger SET minor = 9; ALTER TABLE records ADD COLUMN later text");
    wait(call(&postgres(&schema, LedgerLimits::default()), &id("a"), "x"));
    assert_eq!(schema.number("SELECT minor FROM candor_ledger"), 9);
}

#[test]
fn prefix_lookup_reads_only_records_that_match() {
    let schema = schema!("prefix_lookup_reads_only_records_that_match");
    let store = postgres(&schema, LedgerLimits::default());
    for n in 0..40 {
        wait(call(&store, &id(&format!("key-{n}")), "x"));
    }
    drop(store);
    // All others: a store that reads any of them fails, because it does not know their state.
    let wanted = id("key-7");
    schema.with(async |client| {
        let others = "UPDATE records SET state = 'strange' WHERE id <> $1";
        client.execute(others, &[&&wanted.digest().0[..]]).await.unwrap();
        // Many more, so that PostgreSQL has a reason to use an index.
        let more = "INSERT INTO records (row, id, principal, server, instance, tool, key, fingerprint, fence, attempt, \
             by_nature, created, touched, last_row, state) SELECT -n, sha256(n::text::bytea), 'p', 's', 'i', 't', 'k', \
             '', 1, 1, false, 0, 0, -n, 'strange' FROM generate_series(1, 20000) AS n; ANALYZE records";
        client.batch_execute(more).await.unwrap();
    });
    let read = "SELECT (seq_tup_read + idx_tup_fetch)::bigint FROM pg_stat_user_tables \
         WHERE schemaname = current_schema AND relname = 'records'";
    let before = schema.number(read);
    let store = postgres(&schema, LedgerLimits::default());
    let prefix = DigestPrefix::new(&wanted.digest().to_string()[..12]).unwrap();
    let found = wait(store.find_by_prefix(prefix, 20)).unwrap();
    assert_eq!(found.iter().map(|entry| &entry.id).collect::<Vec<_>>(), [&wanted]);
    // PostgreSQL adds what a connection has read to its statistics soon after the connection ends.
    drop(store);
    let begun = Instant::now();
    let rows = loop {
        match schema.number(read) - before {
            0 if begun.elapsed() < Duration::from_secs(10) => {
                thread::sleep(Duration::from_millis(50));
            }
            rows => break rows,
        }
    };
    assert!((1..1000).contains(&rows), "{rows} rows were read");
}

#[test]
fn ledger_of_schema_1_1_is_migrated() {
    let schema = schema!("a_ledger_of_the_version_before_goes_on");
    schema.sql(&format!("CREATE SCHEMA {}", schema.name));
    schema.sql(include_str!("../schema-1.1/postgres.sql"));
    let put = "INSERT INTO records (row, id, principal, server, instance, tool, key, fingerprint, fence, attempt, \
         by_nature, created, touched, last_row, state, lapses, owner, since, round, outcome_kind, outcome) \
         VALUES ($1, $2, 'ada', 'invoices', 'file:data', 'create_invoice', $3, $4, 1, 1, false, 0, 0, $1, $5, \
         $6, $7, 0, $8, $9, $10)";
    let first = Some(&b"invoice 1"[..]);
    schema.with(async |client| {
        for (key, row, state, lapses, owner, round, kind, bytes) in [
            ("a", 2_i64, "completed", i64::MAX / 2, None, None, Some("success"), first),
            ("b", 3, "dispatched", 1, Some(&[1_u8; 16][..]), Some(0_i64), None, None),
        ] {
            let (digest, same) = (id(key).digest(), &SAME.0[..]);
            client
                .execute(
                    put,
                    &[
                        &row,
                        &&digest.0[..],
                        &key,
                        &same,
                        &state,
                        &lapses,
                        &owner,
                        &round,
                        &kind,
                        &bytes,
                    ],
                )
                .await
                .unwrap();
        }
    });
    wait(older::migrated_1_1(&postgres(&schema, LedgerLimits::default()))).unwrap();
    assert_eq!(schema.number("SELECT minor FROM candor_ledger"), 4);
}

#[test]
fn grant_of_schema_1_2_is_listed_but_void() {
    let schema = schema!("grant_of_schema_1_2_is_listed_but_void");
    schema.sql(&format!("CREATE SCHEMA {}", schema.name));
    schema.sql(include_str!("../schema-1.1/postgres.sql"));
    schema.sql(include_str!("../schema-1.2/postgres.sql"));
    wait(older::migrated_1_2(&postgres(&schema, LedgerLimits::default()))).unwrap();
    // A program of that version can still add a grant.
    schema.sql(
        "INSERT INTO grants (number, id, principal, server, instance, tool, pattern, by_whom, since, until) \
         VALUES (1, '', '', '', '', '', '', '', 0, 1)",
    );
}

#[test]
fn denial_of_schema_1_3_holds_and_then_stays_in_history() {
    let schema = schema!("denial_of_schema_1_3_holds_and_then_stays_in_history");
    schema.sql(&format!("CREATE SCHEMA {}", schema.name));
    schema.sql(include_str!("../schema-1.1/postgres.sql"));
    schema.sql(include_str!("../schema-1.2/postgres.sql"));
    schema.sql(include_str!("../schema-1.3/postgres.sql"));
    let put = "INSERT INTO records (row, id, principal, server, instance, tool, key, fingerprint, fence, attempt, \
         by_nature, created, touched, last_row, state, lapses, license, binding, gated, decided_by, via) \
         VALUES (1, $1, 'ada', 'invoices', 'file:data', 'create_invoice', 'a', $2, 1, 0, false, 0, $4, 1, \
         'denied', $5, 'first', $3, $4, 'olga', 'operator')";
    let (digest, (at, ends)) = (id("a").digest(), older::DENIED);
    schema.with(async |client| {
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&&digest.0[..], &&SAME.0[..], &&older::POLICY.0[..], &at, &ends];
        client.execute(put, &values).await.unwrap();
    });
    let clock = Arc::new(AtomicI64::new(at));
    let time = Arc::clone(&clock);
    let given = Clock::Given(Arc::new(move || time.load(Ordering::SeqCst)));
    let options = Options { clock: given, ..Options::default() };
    let store = PostgresStore::open(&schema.url(), options).unwrap();
    wait(older::migrated_1_3(&store, &clock)).unwrap();
}

#[test]
fn ledger_of_schema_1_4_has_all_records_and_continues() {
    let schema = schema!("ledger_of_schema_1_4_has_all_records_and_continues");
    schema.sql(&format!("CREATE SCHEMA {}", schema.name));
    schema.sql(include_str!("../schema-1.4/postgres.sql"));
    let (options, clock) = fixture::options();
    let store = PostgresStore::open(&schema.url(), options).unwrap();
    wait(fixture::check(&store, &clock)).unwrap();
}

/// Not a test. Before the schema changes, this fills the database that `FIXTURE` names. Its dump is the fixture:
/// `pg_dump --inserts --no-owner --no-privileges --schema=candor_ledger`, without the settings and the name of the schema.
#[test]
#[ignore = "fills a database"]
fn fixture_of_the_present_schema() {
    let url = std::env::var("FIXTURE").expect("FIXTURE is the URL of a database");
    let (options, clock) = fixture::options();
    wait(fixture::fill(&PostgresStore::open(&url, options).unwrap(), &clock)).unwrap();
}

#[test]
fn schema_of_another_program_is_refused() {
    let schema = schema!("schema_of_another_program_is_refused");
    schema.sql(&format!("CREATE SCHEMA {0}; CREATE TABLE {0}.songs (name text)", schema.name));
    let refused = PostgresStore::open(&schema.url(), Options::default()).err().unwrap();
    assert!(refused.to_string().contains("another program"), "{refused}");
}

#[test]
fn open_existing_creates_nothing() {
    let schema = schema!("open_existing_creates_nothing");
    let open_existing = || PostgresStore::open_existing(&schema.url(), Options::default());
    let absent = Some(StoreError::Absent);
    let there = format!("SELECT count(*) FROM pg_namespace WHERE nspname = '{}'", schema.name);
    assert_eq!(open_existing().err(), absent);
    assert_eq!(schema.number(&there), 0);
    // An administrator has created the schema.
    schema.sql(&format!("CREATE SCHEMA {}", schema.name));
    assert_eq!(open_existing().err(), absent);
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema";
    assert_eq!(schema.number(tables), 0);
    drop(PostgresStore::open(&schema.url(), Options::default()).unwrap());
    wait(call(&open_existing().unwrap(), &id("a"), "x"));
}

#[test]
fn replicas_that_start_at_once_create_one_ledger() {
    let schema = schema!("replicas_that_start_at_once_create_one_ledger");
    thread::scope(|scope| {
        for at in 0..8 {
            let schema = &schema;
            scope.spawn(move || {
                let store = postgres(schema, LedgerLimits::default());
                wait(call(&store, &id(&format!("key-{at}")), "x"));
            });
        }
    });
    assert_eq!(schema.number("SELECT count(*) FROM candor_ledger"), 1);
    assert_eq!(schema.number("SELECT count(*) FROM records"), 8);
}

/// The server ends all connections of the ledger, as when it is restarted.
fn lose_connections(schema: &Schema) {
    let end = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '{}'",
        schema.name
    );
    assert!(schema.number(&end) > 0);
    thread::sleep(Duration::from_millis(50));
}

#[test]
fn lost_idle_connections_are_replaced() {
    let schema = schema!("lost_idle_connections_are_replaced");
    let store = postgres(&schema, LedgerLimits::default());
    wait(call(&store, &id("a"), "x"));
    let _ = wait(store.recall(&id("a"), SAME, false)).unwrap();
    store_reads_everything(&store);
    lose_connections(&schema);
    assert!(wait(store.recall(&id("a"), SAME, false)).unwrap().is_some());
    wait(call(&store, &id("b"), "x"));
    store_reads_everything(&store);
}

fn store_reads_everything(store: &PostgresStore) {
    assert!(!wait(store.rows(Filter::default(), Page::default())).unwrap().items.is_empty());
    wait(store.sweep(10)).unwrap();
}

#[test]
fn unreachable_server_is_reported_in_time_without_the_password() {
    let port = |listener: &std::net::TcpListener| listener.local_addr().unwrap().port();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        port(&listener)
    };
    for port in [gone, port(&silent)] {
        let begun = Instant::now();
        let url = format!("postgres://ada:hush@127.0.0.1:{port}/books");
        let refused = PostgresStore::open(&url, Options::default()).err().unwrap();
        assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
        assert!(!format!("{refused} {refused:?}").contains("hush"), "{refused}");
        assert!(begun.elapsed() < Duration::from_secs(7), "{:?}", begun.elapsed());
    }
}

#[test]
fn description_names_the_database_without_the_password() {
    let schema = schema!("description_names_the_database_without_the_password");
    let url = schema.url().replacen("://postgres@", "://postgres:hush@", 1);
    let store = PostgresStore::open(&url, Options::default()).unwrap();
    let described = store.describe();
    assert!(described.starts_with("PostgreSQL database "), "{described}");
    assert!(described.contains(&schema.name) && !described.contains("hush"), "{described}");
}

#[test]
fn quota_is_counted_across_replicas() {
    let schema = schema!("quota_is_counted_across_replicas");
    let quotas = Quotas { records: 6, keys_per_hour: 7, ..Quotas::default() };
    let rules = LedgerLimits { retention: Duration::ZERO, quotas, ..LedgerLimits::default() };
    // All within one hour, and a little later.
    let time = Arc::new(AtomicI64::new(1_700_000_000_000));
    let told = Arc::clone(&time);
    let clock = Clock::Given(Arc::new(move || told.load(Ordering::SeqCst)));
    let options = Options { rules, clock, max_bytes: None };
    // Each store most likely counts in its own slot. If two share one, the result must be the same.
    let stores: Vec<PostgresStore> =
        (0..4).map(|_| PostgresStore::open(&schema.url(), options.clone()).unwrap()).collect();
    let try_with = |store: &PostgresStore, key: &str| {
        let event = Event::Claim { fingerprint: SAME, owner: Owner([1; 16]), idempotent: false };
        wait(store.apply(&id(key), event, AuditContext::default()))
    };
    for at in 0..6 {
        wait(call(&stores[at % 4], &id(&format!("key-{at}")), "x"));
    }
    let refused = Err(StoreError::Quota(Quota::Records { most: 6 }));
    assert_eq!(try_with(&stores[1], "more"), refused);
    assert_eq!(schema.number("SELECT sum(bytes)::bigint FROM usage"), 6);
    // A sweep reduces the counts of other replicas.
    time.fetch_add(5, Ordering::SeqCst);
    assert_eq!(wait(stores[3].sweep(10)).unwrap().records, 6);
    assert_eq!(schema.number("SELECT sum(records)::bigint FROM usage"), 0);
    assert_eq!(schema.number("SELECT sum(bytes)::bigint FROM usage"), 0);
    assert!(try_with(&stores[2], "more").is_ok());
    let refused = Err(StoreError::Quota(Quota::KeysPerHour { most: 7 }));
    assert_eq!(try_with(&stores[0], "yet-more"), refused);
}

#[test]
fn oldest_first_list_misses_no_late_commit() {
    let schema = schema!("oldest_first_list_misses_no_late_commit");
    let store = Arc::new(postgres(&schema, LedgerLimits::default()));
    let other = postgres(&schema, LedgerLimits::default());
    wait(call(&other, &id("before"), "x"));
    let oldest = |from| Page { from, most: 100, order: Order::Oldest };
    let first = wait(store.rows(Filter::default(), oldest(None))).unwrap().items;
    assert_eq!(first.len(), 3);
    let read_to = first[2].seq + 1;

    schema.with(async |stuck| {
        // Another replica has numbered its rows, and cannot commit yet.
        stuck.batch_execute("BEGIN; LOCK TABLE usage IN SHARE MODE").await.unwrap();
        let event = Event::Claim { fingerprint: SAME, owner: Owner([1; 16]), idempotent: false };
        let late = other.apply(&id("late"), event, AuditContext::default());
        let stands =
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'usage'::regclass";
        while stuck.query_one(stands, &[]).await.unwrap().get::<_, i64>(0) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let note = CallNote {
            scope: id("x").scope,
            key: None,
            event: "after".into(),
            outcome: None,
            circumstances: AuditContext::default(),
        };
        store.note(note).await.unwrap();
        // A list from the newest row shows all committed rows. A list from the oldest does not pass a pending one.
        let newest = store.rows(Filter::default(), Page::default()).await.unwrap().items;
        assert_eq!((newest.len(), newest[0].event.as_str()), (4, "after"));
        let next = store.rows(Filter::default(), oldest(Some(read_to))).await.unwrap();
        assert_eq!((next.items.len(), next.next), (0, None));
        // The reader waits for the commit for a limited time.
        let reading = Arc::clone(&store);
        let reading = tokio::spawn(async move {
            reading.rows(Filter::default(), oldest(Some(read_to))).await.unwrap().items
        });
        tokio::time::sleep(Duration::from_millis(100)).await;
        stuck.batch_execute("COMMIT").await.unwrap();
        late.await.unwrap();
        let next = reading.await.unwrap();
        let events: Vec<&str> = next.iter().map(|row| row.event.as_str()).collect();
        assert_eq!(events, ["claim", "after"]);
    });
}

#[test]
fn export_under_load_has_every_row_once() {
    let schema = schema!("export_under_load_has_every_row_once");
    let stores: Vec<PostgresStore> =
        (0..2).map(|_| postgres(&schema, LedgerLimits::default())).collect();
    const CALLS: usize = 150;
    let reader = postgres(&schema, LedgerLimits::default());
    let (mut read, mut from) = (Vec::new(), None);
    thread::scope(|scope| {
        let callers: Vec<_> = stores
            .iter()
            .enumerate()
            .flat_map(|(at, store)| (0..3).map(move |caller| (at, caller, store)))
            .map(|(at, caller, store)| {
                scope.spawn(move || {
                    for key in 0..CALLS / 3 {
                        wait(call(store, &id(&format!("key-{at}-{caller}-{key}")), "x"));
                    }
                })
            })
            .collect();
        // A reader that follows and never goes back.
        loop {
            let over = callers.iter().all(thread::ScopedJoinHandle::is_finished);
            let page = Page { from, most: 20, order: Order::Oldest };
            let part = wait(reader.rows(Filter::default(), page)).unwrap();
            read.extend(part.items.iter().map(|row| row.seq));
            from = part.next.or(part.items.last().map(|row| row.seq + 1)).or(from);
            if over && part.items.is_empty() {
                break;
            }
        }
    });
    assert!(read.is_sorted());
    assert_eq!(read.len(), 2 * CALLS * 3);
}

#[test]
fn restored_ledger_continues_its_row_numbers() {
    let schema = schema!("restored_ledger_continues_its_row_numbers");
    wait(call(&postgres(&schema, LedgerLimits::default()), &id("a"), "x"));
    // As if it came from a cluster that has had many more transactions than this one.
    schema.sql(
        "UPDATE audit SET seq = seq + (1::bigint << 40), previous = previous + (1::bigint << 40);
         UPDATE records SET row = row + (1::bigint << 40), last_row = last_row + (1::bigint << 40)",
    );
    let store = postgres(&schema, LedgerLimits::default());
    wait(async {
        call(&store, &id("b"), "x").await;
        let page = Page { order: Order::Oldest, ..Page::default() };
        let rows = store.rows(Filter::default(), page).await.unwrap().items;
        let keys: Vec<&str> = rows.iter().map(|row| row.key.as_ref().unwrap().as_str()).collect();
        assert_eq!(keys, ["a", "a", "a", "b", "b", "b"]);
        assert_eq!(store.transitions(&id("a")).await.unwrap().len(), 3);
    });
}

fn claims(store: &PostgresStore, keys: &[String]) -> Vec<Result<EventReply, StoreError>> {
    // Sent when they are made: all wait for the writer together.
    let many: Vec<_> = keys
        .iter()
        .map(|key| {
            let owner = Owner::random().unwrap();
            let event = Event::Claim { fingerprint: SAME, owner, idempotent: false };
            store.apply(&id(key), event, AuditContext::default())
        })
        .collect();
    wait(async {
        let mut answers = Vec::new();
        for answer in many {
            answers.push(answer.await);
        }
        answers
    })
}

#[test]
fn failed_event_does_not_affect_others_in_its_transaction() {
    let schema = schema!("failed_event_does_not_affect_others_in_its_transaction");
    let quotas = Quotas { keys_per_hour: 40, ..Quotas::default() };
    let store = postgres(&schema, LedgerLimits { quotas, ..LedgerLimits::default() });
    // A value that the server does not take.
    schema.sql("ALTER TABLE records ADD CHECK (key <> 'key-7')");
    let keys: Vec<String> = (0..60).map(|at| format!("key-{at}")).collect();
    let answers = claims(&store, &keys);
    let mut granted = 0;
    for (key, answer) in keys.iter().zip(&answers) {
        let found = wait(store.find(&id(key))).unwrap();
        match answer {
            Ok(EventReply::Claimed { .. }) => {
                granted += 1;
                assert!(found.is_some());
            }
            Err(StoreError::Quota(Quota::KeysPerHour { most: 40 })) => assert!(found.is_none()),
            Err(StoreError::Unavailable(_)) => assert!(key == "key-7" && found.is_none()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(granted, 40);
    assert_eq!(schema.number("SELECT fresh FROM usage"), 40);
}

#[test]
fn wait_for_a_stuck_lock_is_limited() {
    let schema = schema!("wait_for_a_stuck_lock_is_limited");
    let store = postgres(&schema, LedgerLimits::default());
    let holder = wait(claim(&store, &id("a"))).unwrap();
    schema.with(async |stuck| {
        stuck.batch_execute("BEGIN; LOCK TABLE records").await.unwrap();
        let begun = Instant::now();
        let dispatch = store.apply(&id("a"), Event::Dispatch(holder), AuditContext::default());
        let refused = dispatch.await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
        assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
        stuck.batch_execute("ROLLBACK").await.unwrap();
    });
    assert_eq!(wait(say(&store, &id("a"), Event::Dispatch(holder))), EventReply::Done);
}

#[test]
fn nul_is_refused_in_names_and_replaced_in_notes() {
    let schema = schema!("nul_is_refused_in_names_and_replaced_in_notes");
    let store = postgres(&schema, LedgerLimits::default());
    let mut odd = id("a");
    odd.scope.tool = "create\0invoice".into();
    let event = Event::Claim { fingerprint: SAME, owner: Owner([1; 16]), idempotent: false };
    let refused = wait(store.apply(&odd, event.clone(), AuditContext::default())).unwrap_err();
    assert!(refused.to_string().contains("NUL"), "{refused}");
    let circumstances = AuditContext { note: Some("a\0b".into()), ..AuditContext::default() };
    wait(store.apply(&id("a"), event, circumstances)).unwrap();
    let story = wait(store.transitions(&id("a"))).unwrap();
    assert_eq!(story[0].circumstances.note.as_deref(), Some("a␀b"));
    let vain = Filter { tool: Some(odd.scope.tool), ..Filter::default() };
    assert!(wait(store.rows(vain, Page::default())).unwrap().items.is_empty());
}
