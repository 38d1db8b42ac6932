//! PostgreSQL's errors in the words of the seam.
//!
//! Only the server's message and its code are repeated, never its details, which may quote what is in a row.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::store::StoreError;

pub(super) fn explain(error: &Error) -> StoreError {
    let why = in_full(error);
    match error.code() {
        Some(code) if *code == SqlState::DISK_FULL => StoreError::Full(why),
        Some(code)
            if [
                &SqlState::UNDEFINED_TABLE,
                &SqlState::UNDEFINED_COLUMN,
                &SqlState::DATA_CORRUPTED,
                &SqlState::INDEX_CORRUPTED,
            ]
            .contains(&code) =>
        {
            StoreError::Corrupt(why)
        }
        _ => StoreError::Unavailable(why),
    }
}

/// With what is behind it.
pub(super) fn in_full(error: &Error) -> String {
    if let Some(db) = error.as_db_error() {
        return format!("{} ({})", db.message(), db.code().code());
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(behind) = source {
        let behind_text = behind.to_string();
        // Some say already what is behind them.
        if !text.contains(&behind_text) {
            text += ": ";
            text += &behind_text;
        }
        source = behind.source();
    }
    text
}

/// Whether the server has refused a statement and gone on: a transaction that it was part of is undone.
pub(super) fn is_refusal(error: &Error) -> bool {
    error.as_db_error().is_some_and(|db| {
        !matches!(db.parsed_severity(), Some(Severity::Fatal | Severity::Panic) | None)
            && !db.code().code().starts_with("57P")
    })
}

/// Whether it may be the fault of one command among several: of its values, or of their size.
pub(super) fn is_of_one(error: &Error) -> bool {
    let of_one = |db: &DbError| {
        let code = db.code();
        ["22", "23", "54"].iter().any(|class| code.code().starts_with(class))
            || *code == SqlState::DISK_FULL
            || *code == SqlState::OUT_OF_MEMORY
    };
    error.as_db_error().is_some_and(of_one)
}
