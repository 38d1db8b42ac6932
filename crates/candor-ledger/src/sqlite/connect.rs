//! The setup of every connection.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::checkpoint::Checkpoints;
use super::error::explain;
use super::unsigned::UnsignedInteger;
use super::{file, schema};
use crate::store::StoreError;

/// How long one process waits for another to release the file.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let explain = |error: rusqlite::Error| explain(&error);
    // Do not create the file here: only `file::prepare` sets its permissions. Each connection stays on one thread at a time.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(explain)?;
    db.busy_timeout(PATIENCE).map_err(explain)?;
    db.set_prepared_statement_cache_capacity(32);
    Ok(db)
}

/// Opens the connection that writes, to a file that is ours and migrated.
pub(super) fn connect_writer(
    path: &Path,
    max_bytes: Option<u64>,
) -> Result<Connection, StoreError> {
    file::prepare(path)
        .map_err(|error| StoreError::Unavailable(format!("{}: {error}", path.display())))?;
    let explain = |error: rusqlite::Error| explain(&error);
    let mut db = connect(path)?;
    schema::check(&db)?;
    patiently(|| {
        db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        db.pragma_update(None, "synchronous", "FULL")
    })
    .map_err(explain)?;
    Checkpoints::take_over(&db).map_err(explain)?;
    // 16 MiB, so that the writer need not read again what it has just written.
    db.pragma_update(None, "cache_size", -16_384).map_err(explain)?;
    schema::migrate(&mut db)?;
    if let Some(most) = max_bytes {
        let page: u64 = db
            .pragma_query_value(None, "page_size", |row| UnsignedInteger::read(row, 0))
            .map_err(explain)?;
        let pages = i64::try_from(most / page.max(1)).unwrap_or(i64::MAX);
        db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).map_err(explain)?;
    }
    Ok(db)
}

/// Retries while the file is busy. To switch a file to WAL needs it alone for a moment, and SQLite does not wait for that by
/// itself.
fn patiently(mut attempt: impl FnMut() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    let begun = Instant::now();
    loop {
        match attempt() {
            Err(error)
                if matches!(
                    error.sqlite_error_code(),
                    Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
                ) && begun.elapsed() < PATIENCE =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}
