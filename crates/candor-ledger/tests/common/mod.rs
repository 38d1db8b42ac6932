//! What the tests of stores share.
#![allow(dead_code, missing_docs, unreachable_pub)] // each test binary uses its own part

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use candor_ledger::*;

/// A folder that is gone when the test is.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("candor-ledger-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

pub fn sqlite(path: &Path, options: Options) -> SqliteStore {
    SqliteStore::open(path, options).unwrap()
}

pub fn id(key: &str) -> RecordId {
    RecordId {
        scope: Scope {
            principal: "ada".into(),
            server: "invoices".into(),
            instance: "file:data".into(),
            tool: "create_invoice".into(),
        },
        key: Key::new(key).unwrap(),
    }
}

pub const SAME: Fingerprint = Fingerprint([7; 32]);

pub fn outcome(text: &str) -> StoredResult {
    StoredResult::new(OutcomeKind::Success, text.as_bytes())
}

pub async fn say(store: &dyn Store, id: &RecordId, event: Event) -> EventReply {
    store.apply(id, event, AuditContext::default()).await.unwrap()
}

/// Claims, if it is granted.
pub async fn claim(store: &dyn Store, id: &RecordId) -> Result<Holder, EventReply> {
    let owner = Owner::random().unwrap();
    let event = Event::Claim { fingerprint: SAME, owner, idempotent: false };
    match say(store, id, event).await {
        EventReply::Claimed { fence, .. } => Ok(Holder { owner, fence }),
        other => Err(other),
    }
}

/// The whole of a call.
pub async fn call(store: &dyn Store, id: &RecordId, text: &str) -> Holder {
    let holder = claim(store, id).await.unwrap();
    assert_eq!(say(store, id, Event::Dispatch(holder)).await, EventReply::Done);
    let ended = Event::Complete { holder, outcome: outcome(text) };
    assert_eq!(say(store, id, ended).await, EventReply::Done);
    holder
}
