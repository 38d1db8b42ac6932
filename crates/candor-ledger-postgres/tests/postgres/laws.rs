//! PostgreSQL keeps the laws of a ledger.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex};

use candor_ledger::laws::Ledgers;
use candor_ledger::{Options, Store, StoreFuture};
use candor_ledger_postgres::PostgresStore;

use crate::database::Schema;

/// Each ledger is in a schema of its own, which is removed with the test.
#[derive(Default)]
struct InSchemas(Mutex<HashMap<String, Schema>>);

impl InSchemas {
    /// Returns `None` if there is no database.
    fn new(law: &str) -> Option<Self> {
        Schema::new(law).map(|_| Self::default())
    }
}

impl Ledgers for InSchemas {
    fn open(&self, name: &str, options: Options) -> StoreFuture<'_, Arc<dyn Store>> {
        let url = {
            let mut schemas = self.0.lock().unwrap();
            let new = || Schema::new(name).expect("the database was there");
            schemas.entry(name.to_owned()).or_insert_with(new).url()
        };
        let opened = PostgresStore::open(&url, options);
        Box::pin(ready(opened.map(|store| Arc::new(store) as Arc<dyn Store>)))
    }

    /// Each case needs a new schema, and every restart a new connection.
    fn cases(&self) -> u32 {
        30
    }
}

candor_ledger::law_tests!(InSchemas::new);
