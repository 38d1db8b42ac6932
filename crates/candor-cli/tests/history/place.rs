//! Where the tests' ledgers are: in files, unless the tests were started anew to have them in PostgreSQL.
//!
//! So whatever is told of a ledger is told of both kinds, by the same tests. Those that are about files alone are left out of the
//! second time.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

#[cfg(feature = "postgres")]
use crate::database::Schema;

/// Set for the second time.
const KIND: &str = "CANDOR_TEST_LEDGERS";

/// A place for one ledger; what is in it goes with it.
pub(crate) enum Place {
    File(PathBuf),
    #[cfg(feature = "postgres")]
    Server {
        schema: Schema,
        url: String,
    },
}

impl Place {
    /// The folder of all folders. Not the same for both, because they run at the same time.
    pub(crate) fn around() -> &'static str {
        match std::env::var_os(KIND) {
            None => "candor history",
            Some(_) => "candor history, PostgreSQL",
        }
    }

    pub(crate) fn new(folder: &Path) -> Self {
        #[cfg(feature = "postgres")]
        if std::env::var_os(KIND).is_some() {
            return Self::server("ledgers in PostgreSQL").expect("it was looked for");
        }
        Self::File(folder.join("ledger.db"))
    }

    /// One in PostgreSQL. `None`: there is no database, and whoever runs the tests is told so.
    #[cfg(feature = "postgres")]
    pub(crate) fn server(test: &str) -> Option<Self> {
        Schema::new(test).map(|schema| Self::Server { url: schema.url(), schema })
    }

    /// As `--ledger` takes it.
    pub(crate) fn named(&self) -> &OsStr {
        match self {
            Self::File(path) => path.as_os_str(),
            #[cfg(feature = "postgres")]
            Self::Server { url, .. } => url.as_ref(),
        }
    }

    /// The file, for a test that is about files.
    pub(crate) fn file(&self) -> &Path {
        match self {
            Self::File(path) => path,
            #[cfg(feature = "postgres")]
            Self::Server { .. } => panic!("this test is about files"),
        }
    }

    /// What people must be told of it when it is named: a part of its name.
    pub(crate) fn shown(&self) -> &str {
        match self {
            Self::File(_) => "ledger.db",
            #[cfg(feature = "postgres")]
            Self::Server { schema, .. } => &schema.name,
        }
    }

    /// Past the ledger's own crate, as if time had passed or somebody had tidied up.
    pub(crate) fn change(&self, sql: &str) {
        match self {
            Self::File(path) => {
                rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
            }
            #[cfg(feature = "postgres")]
            Self::Server { schema, .. } => schema.sql(sql),
        }
    }
}

/// Runs all tests of this program once more, but for those whose names have one of these parts.
#[cfg(feature = "postgres")]
pub(crate) fn again_in_postgresql(this: &str, without: &[&str]) {
    // The database is looked for once, and whoever runs the tests is told once if there is none.
    if Schema::new(this).is_none() {
        return;
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.env(KIND, "postgres").args(["--skip", this]);
    for part in without {
        again.args(["--skip", part]);
    }
    let told = again.output().unwrap();
    let text = String::from_utf8_lossy(&told.stdout);
    let passed = text.split(" passed").next().and_then(|before| before.rsplit(' ').next());
    let passed: usize = passed.and_then(|number| number.parse().ok()).unwrap_or_default();
    assert!(
        told.status.success() && passed > 10,
        "{text}{}",
        String::from_utf8_lossy(&told.stderr)
    );
}
