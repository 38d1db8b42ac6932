//! Where a command runs: what configuration files depend on, and where this program stores its state.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use candor_client::config::Environment;
use candor_ledger::default_path;

pub(crate) struct CliEnvironment {
    environment: Environment,
    /// The folder for the state of this program.
    pub(crate) state: Option<PathBuf>,
}

impl CliEnvironment {
    /// Returns the environment of this process.
    pub(crate) fn real() -> Self {
        // The folder of the ledger.
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
