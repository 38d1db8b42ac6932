//! PostgreSQL's errors as store errors.
//!
//! Only the server's message and its code are repeated, never its details, which may quote the content of a row.

use std::error::Error as _;

use candor_ledger::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

pub(crate) fn explain(error: &Error) -> StoreError {
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

/// Returns the text of the error and its sources.
pub(crate) fn in_full(error: &Error) -> String {
    if let Some(db) = error.as_db_error() {
        return format!("{} ({})", db.message(), db.code().code());
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(behind) = source {
        let behind_text = behind.to_string();
        // Some errors already include the text of their source.
        if !text.contains(&behind_text) {
            text += ": ";
            text += &behind_text;
        }
        source = behind.source();
    }
    text
}

/// Returns true if the server refused a statement and kept the connection. It then undoes the transaction of that statement.
pub(crate) fn is_refusal(error: &Error) -> bool {
    error.as_db_error().is_some_and(|db| {
        !matches!(db.parsed_severity(), Some(Severity::Fatal | Severity::Panic) | None)
            && !db.code().code().starts_with("57P")
    })
}

/// Returns true if one command among several may be the cause, by its values or by their size.
pub(crate) fn is_of_one(error: &Error) -> bool {
    let of_one = |db: &DbError| {
        let code = db.code();
        ["22", "23", "54"].iter().any(|class| code.code().starts_with(class))
            || *code == SqlState::DISK_FULL
            || *code == SqlState::OUT_OF_MEMORY
    };
    error.as_db_error().is_some_and(of_one)
}
