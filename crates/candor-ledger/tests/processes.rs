//! Several processes on one ledger in a SQLite file, some of which are killed.

#![cfg(unix)]
#![allow(missing_docs)]

mod common;

use std::sync::Arc;

use candor_ledger::laws::processes::Processes;
use candor_ledger::{MemoryStore, Options, SqliteStore, Store, StoreError};
use common::Folder;

const PROCESSES: Processes = Processes { open, worker: "worker" };

fn open(path: &str, options: Options) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(SqliteStore::open(path, options)?))
}

/// Not a test: the tests start it as a process.
#[test]
fn worker() {
    PROCESSES.work();
}

const FORGETFUL: Processes = Processes { open: open_in_memory, worker: "forgetful_worker" };

/// Each process has a ledger of its own.
fn open_in_memory(_: &str, options: Options) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(MemoryStore::new(options)))
}

/// Not a test either.
#[test]
fn forgetful_worker() {
    FORGETFUL.work();
}

#[test]
fn processes_that_share_nothing_break_the_laws() {
    for broken in [
        FORGETFUL.race("memory:"),
        FORGETFUL.share_approvals("memory:"),
        FORGETFUL.kill("memory:", 3, 50),
    ] {
        let violation = broken.unwrap_err();
        assert!(violation.law.contains("call"), "{violation}");
    }
}

fn in_a_file(folder: &Folder) -> String {
    folder.join("ledger.db").display().to_string()
}

/// Whatever was killed in between: each record and row has its scope, and each scope is stored once.
fn scopes_are_whole(folder: &Folder) {
    let db = rusqlite::Connection::open(folder.join("ledger.db")).unwrap();
    let count = |sql: &str| -> i64 { db.query_row(sql, [], |row| row.get(0)).unwrap() };
    let there = "(SELECT id FROM scopes)";
    assert_eq!(count(&format!("SELECT count(*) FROM records WHERE scope NOT IN {there}")), 0);
    assert_eq!(count(&format!("SELECT count(*) FROM audit WHERE scope NOT IN {there}")), 0);
    assert_eq!(
        count("SELECT count(*) FROM scopes"),
        count("SELECT count(DISTINCT tool) FROM scopes")
    );
    assert_eq!(count("SELECT count(*) FROM scopes"), 100);
}

#[test]
fn processes_racing_for_keys_start_each_call_once() {
    let folder = Folder::new();
    PROCESSES.race(&in_a_file(&folder)).unwrap();
    scopes_are_whole(&folder);
}

#[test]
fn processes_sharing_an_approval_start_one_call() {
    let folder = Folder::new();
    PROCESSES.share_approvals(&in_a_file(&folder)).unwrap();
}

#[test]
fn repeated_kills_never_start_a_call_twice() {
    let folder = Folder::new();
    PROCESSES.kill(&in_a_file(&folder), 100, 100).unwrap();
    scopes_are_whole(&folder);
}
