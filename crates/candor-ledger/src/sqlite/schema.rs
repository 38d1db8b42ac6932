//! The tables, their version, and the migration of an older file.
//!
//! A *minor* version only adds: tables, columns with defaults, indexes. Programs that know an older minor version keep
//! working. A *major* version changes existing tables. A program that does not know it leaves the file alone.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use super::error::explain;
use crate::store::StoreError;

pub(super) const MAJOR: u32 = 1;

/// What each minor version adds, from the first on:
///
/// - The second adds approvals and grants. A program that knows only the first cannot read a record with an approval state.
///   It fails on that call, on lists with such a record, and on sweeps while one is due. Everything else works. So it never
///   starts a call that waits for approval.
/// - The third binds grants to their tool. A grant that a program of the second gives has no binding, so it covers nothing
///   here. That program ignores bindings, so such grants stay valid for it as long as it runs.
/// - The fourth keeps a denial as a state after it has ended. It adds errors to records and audit rows, and arguments to
///   records. A program of the third takes such a denial to refuse the call for as long as the record keeps it.
///
/// A transition costs the pages that it writes, and what it puts into them:
///
/// - The rows of a record are a chain: the record names its last row, and each row names the one before. An index on the
///   record would also work, but its pages are all over the file.
/// - A scope is written once, and records and rows have its number. It stays when they are gone: a principal has at most as
///   many scopes as there are tools.
/// - Records are found by the first eight bytes of their digest. An index of integers is a third of the size and compares
///   faster. The whole digest in the record tells apart two that begin alike.
const ADDED: [&str; 4] = [
    "
    CREATE TABLE scopes (
        id        INTEGER PRIMARY KEY,
        principal TEXT NOT NULL,
        server    TEXT NOT NULL,
        instance  TEXT NOT NULL,
        tool      TEXT NOT NULL,
        UNIQUE (principal, server, instance, tool)
    ) STRICT;

    CREATE TABLE records (
        row            INTEGER PRIMARY KEY,
        short          INTEGER NOT NULL,
        id             BLOB NOT NULL,
        scope          INTEGER NOT NULL,
        key            TEXT NOT NULL,
        fingerprint    BLOB NOT NULL,
        fence          INTEGER NOT NULL,
        attempt        INTEGER NOT NULL,
        by_nature      INTEGER NOT NULL,
        created        INTEGER NOT NULL,
        touched        INTEGER NOT NULL,
        last_row       INTEGER NOT NULL,
        state          TEXT NOT NULL,
        lapses         INTEGER,
        owner          BLOB,
        since          INTEGER,
        license        TEXT,
        started_by     BLOB,
        reason         TEXT,
        round          INTEGER,
        by_whom        TEXT,
        outcome_kind   TEXT,
        outcome_len    INTEGER,
        outcome_digest BLOB,
        outcome        BLOB
    ) STRICT;
    CREATE INDEX records_short ON records (short);
    CREATE INDEX records_lapse ON records (lapses) WHERE lapses IS NOT NULL;

    CREATE TABLE usage (
        principal TEXT PRIMARY KEY,
        records   INTEGER NOT NULL,
        bytes     INTEGER NOT NULL,
        hour      INTEGER NOT NULL,
        fresh     INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE audit (
        seq          INTEGER PRIMARY KEY,
        at           INTEGER NOT NULL,
        previous     INTEGER,
        scope        INTEGER NOT NULL,
        key          TEXT,
        event        TEXT NOT NULL,
        came_from    TEXT,
        came_to      TEXT,
        fence        INTEGER,
        attempt      INTEGER,
        reason       TEXT,
        outcome_kind TEXT,
        by_whom      TEXT,
        shape        TEXT,
        digest       BLOB,
        hints        TEXT,
        duration     INTEGER,
        note         TEXT
    ) STRICT;
",
    "
    ALTER TABLE records ADD COLUMN binding BLOB;
    ALTER TABLE records ADD COLUMN gated INTEGER;
    ALTER TABLE records ADD COLUMN decided_by TEXT;
    ALTER TABLE records ADD COLUMN via TEXT;
    ALTER TABLE records ADD COLUMN why TEXT;
    CREATE INDEX records_waiting ON records (last_row) WHERE state = 'waiting';
    CREATE INDEX records_waiting_of ON records (scope, lapses) WHERE state = 'waiting';

    ALTER TABLE audit ADD COLUMN via TEXT;
    ALTER TABLE audit ADD COLUMN why TEXT;

    CREATE TABLE grants (
        number     INTEGER PRIMARY KEY,
        id         BLOB NOT NULL UNIQUE,
        scope      INTEGER NOT NULL,
        pattern    TEXT NOT NULL,
        by_whom    TEXT NOT NULL,
        since      INTEGER NOT NULL,
        until      INTEGER NOT NULL,
        revoked_by TEXT,
        revoked_at INTEGER
    ) STRICT;
    CREATE INDEX grants_in_force ON grants (scope, until) WHERE revoked_at IS NULL;
",
    "
    ALTER TABLE grants ADD COLUMN binding BLOB;
",
    "
    ALTER TABLE records ADD COLUMN refuses_until INTEGER;
    ALTER TABLE records ADD COLUMN error_code TEXT;
    ALTER TABLE records ADD COLUMN error_message TEXT;
    ALTER TABLE records ADD COLUMN arguments BLOB;

    ALTER TABLE audit ADD COLUMN error_code TEXT;
    ALTER TABLE audit ADD COLUMN error_message TEXT;
",
];

/// Returns the version of the file, or `None` if the file is empty.
fn version(db: &Connection) -> Result<Option<(u32, u32)>, StoreError> {
    let tables: u32 = db
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(|error| explain(&error))?;
    if tables == 0 {
        return Ok(None);
    }
    let ours: u32 = db
        .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'candor_ledger'", [], |row| {
            row.get(0)
        })
        .map_err(|error| explain(&error))?;
    if ours == 0 {
        return Err(StoreError::Corrupt("it is a SQLite file of another program".into()));
    }
    db.query_row("SELECT major, minor FROM candor_ledger", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .map_err(|error| explain(&error))?
        .map_or_else(
            || Err(StoreError::Corrupt("it does not say its version".into())),
            |found| Ok(Some(found)),
        )
}

/// Refuses what is not ours, before anything is changed.
pub(super) fn check(db: &Connection) -> Result<(), StoreError> {
    match version(db)? {
        Some((found, _)) if found > MAJOR => Err(StoreError::NewerSchema { found, known: MAJOR }),
        _ => Ok(()),
    }
}

/// Adds what is missing.
pub(super) fn migrate(db: &mut Connection) -> Result<(), StoreError> {
    let known = ADDED.len() as u32;
    if matches!(version(db)?, Some((_, minor)) if minor >= known) {
        return Ok(());
    }
    let explain = |error: rusqlite::Error| explain(&error);
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(explain)?;
    // Another process may have been quicker.
    check(&change)?;
    let has = version(&change)?.map_or(0, |(_, minor)| minor);
    if has == 0 {
        change
            .execute_batch("CREATE TABLE candor_ledger (major INTEGER NOT NULL, minor INTEGER NOT NULL) STRICT;
                INSERT INTO candor_ledger VALUES (1, 0);")
            .map_err(explain)?;
    }
    for added in ADDED.iter().skip(has as usize) {
        change.execute_batch(added).map_err(explain)?;
    }
    change.execute("UPDATE candor_ledger SET minor = max(minor, ?)", [known]).map_err(explain)?;
    change.commit().map_err(explain)
}
