//! SQLite's errors as store errors.

use rusqlite::ErrorCode;

use crate::store::StoreError;

pub(super) fn explain(error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full(error.to_string()),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            StoreError::Corrupt(error.to_string())
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Unavailable(format!("another process holds it ({error})"))
        }
        Some(_) => StoreError::Unavailable(error.to_string()),
        // A column holds a value that this program did not write.
        None => StoreError::Corrupt(error.to_string()),
    }
}
