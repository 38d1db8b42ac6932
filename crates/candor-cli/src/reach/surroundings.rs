//! Where a command runs: what configuration files depend on, and where this program keeps its state.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use candor_client::config::Environment;
use candor_ledger::default_path;

pub(crate) struct CliEnvironment {
    environment: Environment,
    /// Where this program keeps what it has to remember.
    pub(crate) state: Option<PathBuf>,
}

impl CliEnvironment {
    /// Those of this process.
    pub(crate) fn real() -> Self {
        // Beside the ledger.
        let state = default_path().and_then(|ledger| ledger.parent().map(Path::to_owned));
        Self { environment: Environment::current(), state }
    }

    #[cfg(test)]
    pub(crate) fn of_test(folder: PathBuf, home: PathBuf, set: &[(&str, &str)]) -> Self {
        let state = Some(home.join(".local/state/candor"));
        let set = set.iter().copied();
        Self { environment: Environment::new(folder).home(home).variables(set), state }
    }
}

impl Deref for CliEnvironment {
    type Target = Environment;

    fn deref(&self) -> &Environment {
        &self.environment
    }
}
