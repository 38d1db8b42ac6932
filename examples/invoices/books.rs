//! The database: its tables, and how the tools read it.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use candor::prelude::*;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row};

#[candor::args]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Draft,
    Open,
    Paid,
    Void,
    Archive,
}

impl Status {
    const WORDS: [(Self, &'static str); 5] = [
        (Self::Draft, "draft"),
        (Self::Open, "open"),
        (Self::Paid, "paid"),
        (Self::Void, "void"),
        (Self::Archive, "archive"),
    ];
}

impl ToSql for Status {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(Self::WORDS[*self as usize].1.into())
    }
}

impl FromSql for Status {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let word = value.as_str()?;
        let known = Self::WORDS.into_iter().find(|(_, known)| *known == word);
        known.map(|(status, _)| status).ok_or(FromSqlError::InvalidType)
    }
}

#[candor::args]
pub(crate) struct Created {
    pub(crate) invoice_id: String,
    pub(crate) status: Status,
}

#[candor::args]
pub(crate) struct Invoice {
    pub(crate) invoice_id: String,
    pub(crate) customer_id: String,
    pub(crate) amount_cents: i64,
    pub(crate) status: Status,
}

impl Invoice {
    pub(crate) fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            invoice_id: format!("inv_{}", row.get::<_, i64>(0)?),
            customer_id: row.get(1)?,
            amount_cents: row.get(2)?,
            status: row.get(3)?,
        })
    }
}

#[candor::args]
pub(crate) struct Page {
    pub(crate) invoices: Vec<Invoice>,
    /// Whether there are more: ask again with `after`
    pub(crate) more: bool,
}

/// The database.
pub(crate) struct Books(Mutex<Connection>);

impl Books {
    pub(crate) fn at(path: &Path) -> rusqlite::Result<Self> {
        let db = Connection::open(path)?;
        db.busy_timeout(Duration::from_secs(5))?;
        // Switching a file to WAL needs exclusive access, and SQLite does not wait for it by itself.
        let turn = || db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
        let mut tries = 0;
        while let Err(error) = turn() {
            tries += 1;
            if tries == 1000 {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        db.execute_batch(
            "PRAGMA synchronous = FULL;
             CREATE TABLE IF NOT EXISTS invoices (
                 id INTEGER PRIMARY KEY, customer_id TEXT NOT NULL, amount_cents INTEGER NOT NULL,
                 status TEXT NOT NULL, idempotency_key TEXT NOT NULL);
             -- Invoices that were paid before they were voided.
             CREATE TABLE IF NOT EXISTS paid (invoice INTEGER PRIMARY KEY);
             CREATE TABLE IF NOT EXISTS outbox (invoice INTEGER PRIMARY KEY, body TEXT NOT NULL);
             CREATE TABLE IF NOT EXISTS users (
                 version INTEGER PRIMARY KEY, id INTEGER NOT NULL, email TEXT NOT NULL, name TEXT NOT NULL);
             CREATE TABLE IF NOT EXISTS issues (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL);
             INSERT OR IGNORE INTO issues VALUES
                 (1, 'Customer charged twice', 'The request was sent again after a time-out'),
                 (2, 'Invoice has the wrong address', 'The customer has moved'),
                 (3, 'Reminder came too early', 'The invoice was not due yet');",
        )?;
        Ok(Self(Mutex::new(db)))
    }

    pub(crate) fn open(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn invoice(&self, invoice_id: &str) -> rusqlite::Result<Option<Invoice>> {
        let of_id = "SELECT id, customer_id, amount_cents, status FROM invoices WHERE id = ?";
        self.open().query_row(of_id, [number(invoice_id)], Invoice::of).optional()
    }
}

pub(crate) fn not_found(invoice_id: &str) -> ToolError {
    ToolError::new(format!("Invoice {invoice_id} not found"))
        .code("not_found")
        .instead("list_invoices", json!({}))
        .not_started()
}

/// Converts a database error. The ledger stores a failure under its key like any other result, unless it is certain that nothing
/// was run.
pub(crate) fn unless_busy(error: rusqlite::Error) -> ToolError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy) => {
            ToolError::new("Another process is writing. Nothing was run.")
                .code("busy")
                .retry_after(Duration::from_secs(1))
                .not_started()
        }
        _ => error.into(),
    }
}

pub(crate) fn number(invoice_id: &str) -> Option<i64> {
    invoice_id.strip_prefix("inv_")?.parse().ok()
}
