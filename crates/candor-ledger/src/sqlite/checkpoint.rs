//! Checkpoints in place of SQLite's own, for versions whose own can lose commits.
//!
//! Before 3.51.3, a checkpoint that runs during the commit of another process can mark frames as copied that it has not
//! copied (<https://www.sqlite.org/wal.html#walresetbug>). Older rusqlite bundles such a version. With it, the writer turns
//! off SQLite's checkpoints and makes its own while it holds the write lock, so no process can commit meanwhile.

use std::cell::Cell;
use std::path::Path;

use rusqlite::{Connection, Result};

use super::connect::connect;
use super::tables::SqliteTables;
use crate::store::StoreError;

/// The first version whose own checkpoints are safe beside other writers.
const SAFE: i32 = 3_051_003;

/// The number of commits between two checkpoints. A commit writes about ten pages, and SQLite would begin at a thousand.
const COMMITS: u32 = 100;

pub(super) struct Checkpoints {
    /// SQLite makes no checkpoint on a connection that has a transaction, so another connection holds the write lock.
    beside: Connection,
    commits: Cell<u32>,
}

impl Checkpoints {
    /// Returns `None` if SQLite's own checkpoints are safe.
    pub(super) fn where_needed(path: &Path) -> Result<Option<Self>, StoreError> {
        if rusqlite::version_number() < SAFE { Self::new(path).map(Some) } else { Ok(None) }
    }

    fn new(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { beside: connect(path)?, commits: Cell::new(0) })
    }

    /// Turns off SQLite's own checkpoints, if these take their place.
    pub(super) fn take_over(writer: &Connection) -> Result<()> {
        if rusqlite::version_number() < SAFE { turn_off(writer) } else { Ok(()) }
    }

    /// Counts a commit, and makes a checkpoint when it is due. A failure loses nothing: the log stays, and the next
    /// checkpoint copies it.
    pub(super) fn after_commit(&self, tables: &mut SqliteTables<'_>) {
        self.commits.set(self.commits.get() + 1);
        if self.commits.get() < COMMITS {
            return;
        }
        self.commits.set(0);
        if tables.begin().is_ok() {
            let _ = self.beside.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
        tables.roll_back();
    }
}

fn turn_off(writer: &Connection) -> Result<()> {
    writer.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use super::super::connect::connect_writer;
    use super::*;
    use std::fs;

    #[test]
    fn writer_checkpoints_keep_the_wal_short() {
        let folder =
            std::env::temp_dir().join(format!("candor-checkpoints-{}", std::process::id()));
        let path = folder.join("ledger.db");
        let db = connect_writer(&path, None).unwrap();
        turn_off(&db).unwrap();
        let mut tables = SqliteTables::prepare(&db).unwrap();
        let checkpoints = Checkpoints::new(&path).unwrap();
        let log = folder.join("ledger.db-wal");
        let mut longest = [0; 2];
        for (longest, rounds) in longest.iter_mut().zip([COMMITS, 10 * COMMITS]) {
            for _ in 0..rounds {
                tables.begin().unwrap();
                tables.put_usage("ada", crate::rules::Usage::default()).unwrap();
                tables.commit().unwrap();
                *longest = fs::metadata(&log).unwrap().len().max(*longest);
                checkpoints.after_commit(&mut tables);
            }
        }
        assert!(db.is_autocommit());
        assert!(longest[1] < 2 * longest[0], "{longest:?}");
        fs::remove_dir_all(folder).unwrap();
    }
}
