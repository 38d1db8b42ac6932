//! Several processes on one ledger in PostgreSQL, some of which are killed.

use std::sync::Arc;

use candor_ledger::laws::processes::Processes;
use candor_ledger::{Options, Store, StoreError};
use candor_ledger_postgres::PostgresStore;

use crate::database::Schema;

const PROCESSES: Processes = Processes { open, worker: "processes::worker" };

fn open(url: &str, options: Options) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(PostgresStore::open(url, options)?))
}

/// Not a test: the tests start it as a process.
#[test]
fn worker() {
    PROCESSES.work();
}

#[test]
fn processes_racing_for_keys_start_each_call_once() {
    if let Some(schema) = Schema::new("processes_racing_for_keys_start_each_call_once") {
        PROCESSES.race(&schema.url()).unwrap();
    }
}

#[test]
fn processes_sharing_an_approval_start_one_call() {
    if let Some(schema) = Schema::new("processes_sharing_an_approval_start_one_call") {
        PROCESSES.share_approvals(&schema.url()).unwrap();
    }
}

#[test]
fn repeated_kills_never_start_a_call_twice() {
    if let Some(schema) = Schema::new("repeated_kills_never_start_a_call_twice") {
        PROCESSES.kill(&schema.url(), 25, 250).unwrap();
    }
}
