//! A place of its own in the PostgreSQL that `DATABASE_URL` names.

use std::env;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio_postgres::{Client, NoTls};

/// Set by `cargo xtask check`: then a missing database is a failure, and not a reason to skip.
const REQUIRED: &str = "CANDOR_TEST_POSTGRES";

/// Says so where it is seen: the harness would keep an `eprintln` to itself.
///
/// # Panics
/// Nothing may be skipped.
pub(crate) fn skipped(test: &str, why: &str) {
    assert!(env::var_os(REQUIRED).is_none(), "{REQUIRED} is set, and {why}");
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}; `cargo xtask check` has one");
}

/// A schema of its own, gone when the test is.
pub(crate) struct Schema {
    base: String,
    pub(crate) name: String,
}

impl Schema {
    /// `None`: there is no database, and whoever runs the tests is told so.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let Ok(base) = env::var("DATABASE_URL") else {
            skipped(test, "DATABASE_URL names no PostgreSQL");
            return None;
        };
        Some(Self::at(base))
    }

    pub(crate) fn at(base: String) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { base, name: format!("candor_test_{}_{number}", std::process::id()) }
    }

    pub(crate) fn url(&self) -> String {
        let join = if self.base.contains('?') { '&' } else { '?' };
        // Named, so that a test finds its own connections.
        format!("{}{join}schema={1}&application_name={1}", self.base, self.name)
    }

    /// Host and port as the URL has them, if it has.
    pub(crate) fn server(&self) -> Option<(&str, u16)> {
        let place = self.base.split_once("://")?.1;
        let place = place.split_once(['/', '?']).map_or(place, |(place, _)| place);
        let (host, port) = place.rsplit('@').next()?.rsplit_once(':')?;
        Some((host, port.parse().ok()?))
    }

    /// SQL of the test's own, on a connection of its own.
    pub(crate) fn sql(&self, sql: &str) {
        self.with(async |client| client.batch_execute(sql).await.unwrap());
    }

    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.with(async |client| client.query_one(sql, &[]).await.unwrap().get(0))
    }

    pub(crate) fn with<T>(&self, work: impl AsyncFnOnce(&Client) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&self.base, NoTls).await.unwrap();
            tokio::spawn(connection);
            let path =
                format!("SET search_path = {}; SET client_min_messages = warning", self.name);
            client.batch_execute(&path).await.unwrap();
            work(&client).await
        })
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        // A test that failed has more to say than that its database is gone.
        if !std::thread::panicking() {
            let drop = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name);
            // On a thread of its own: this one may be a runtime's.
            std::thread::scope(|scope| scope.spawn(|| self.sql(&drop)).join().unwrap());
        }
    }
}
