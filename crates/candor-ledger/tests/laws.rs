//! Memory and SQLite keep the laws of a ledger.

#![allow(missing_docs)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use candor_ledger::laws::Ledgers;
use candor_ledger::{MemoryStore, Options, SqliteStore, Store, StoreFuture};

struct InMemory;

impl Ledgers for InMemory {
    fn open(&self, _: &str, options: Options) -> StoreFuture<'_, Arc<dyn Store>> {
        Box::pin(async { Ok(Arc::new(MemoryStore::new(options)) as Arc<dyn Store>) })
    }

    fn is_shared(&self) -> bool {
        false
    }
}

/// Files in a folder that is removed with the test.
struct InFolder(PathBuf);

impl InFolder {
    fn new(law: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(format!("candor-laws-{process}-{number}-{law}")))
    }
}

impl Ledgers for InFolder {
    fn open(&self, name: &str, options: Options) -> StoreFuture<'_, Arc<dyn Store>> {
        let path = self.0.join(name);
        Box::pin(async { Ok(Arc::new(SqliteStore::open(path, options)?) as Arc<dyn Store>) })
    }
}

impl Drop for InFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

mod memory {
    use super::InMemory;

    candor_ledger::law_tests!(|_| Some(InMemory));
}

mod sqlite {
    use super::InFolder;

    candor_ledger::law_tests!(|law| Some(InFolder::new(law)));
}

/// The code in the guide is the code that runs.
#[test]
fn guide_quotes_these_tests() {
    let guide = include_str!("../../../docs/stores.md");
    let here = include_str!("laws.rs");
    let blocks: Vec<&str> = guide.split("```rust\n").skip(1).collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let block = block.split("```").next().unwrap();
        for line in block.lines().filter(|line| !line.trim().is_empty()) {
            assert!(here.contains(line.trim()), "{line}");
        }
    }
}
