//! The names of locks.

use candor_ledger::RecordDigest;
use sha2::{Digest as _, Sha256};

/// The names of locks. Locks belong to the whole database, so a name includes the schema. If two names collide, a transaction
/// waits without need.
pub(crate) struct Names(String);

impl Names {
    pub(crate) fn of_schema(schema: &str) -> Self {
        Self(schema.to_owned())
    }

    fn name(&self, kind: &str, of: &[u8]) -> i64 {
        let hash = Sha256::new()
            .chain_update(b"candor-ledger/lock/1/")
            .chain_update(kind)
            .chain_update([0])
            .chain_update(&self.0)
            .chain_update([0])
            .chain_update(of)
            .finalize();
        i64::from_be_bytes(std::array::from_fn(|at| hash[at]))
    }

    pub(crate) fn migration(&self) -> i64 {
        self.name("migration", b"")
    }

    /// The name of the lock that every writer holds, shared.
    pub(crate) fn writing(&self) -> i64 {
        self.name("writing", b"")
    }

    pub(super) fn record(&self, digest: &RecordDigest) -> i64 {
        self.name("record", &digest.0)
    }

    pub(super) fn principal(&self, slot: i64, principal: &str) -> i64 {
        self.name(&format!("principal/{slot}"), principal.as_bytes())
    }
}
