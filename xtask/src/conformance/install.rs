//! The pinned conformance suite.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::npm::{self, Package};
use crate::process::Outcome;

/// The suite's exact version: its requirement sets are frozen, its checks are not.
const SUITE: Package =
    Package { name: "@modelcontextprotocol/conformance", version: "0.2.0-alpha.12" };

/// The suite imports `globSync` from `fs`, which is new in this version. Its manifest does not say so.
const OLDEST_NODE: u32 = 22;

/// The installed suite, ready to run.
pub(super) struct Suite {
    /// The package's own directory.
    pub(super) directory: PathBuf,
    node: PathBuf,
}

impl Suite {
    /// Returns `node dist/index.js`, without arguments.
    pub(super) fn command(&self) -> Command {
        let mut command = self.node();
        command.arg(self.directory.join("dist").join("index.js"));
        command
    }

    pub(super) fn node(&self) -> Command {
        Command::new(&self.node)
    }
}

/// Installs the suite in its pinned version if it is missing.
pub(super) fn ensure(place: &Path) -> Outcome<Suite> {
    let what = format!("conformance suite {}", SUITE.version);
    let node = npm::ensure(&what, &[SUITE], OLDEST_NODE, place)?;
    Ok(Suite { directory: SUITE.directory(place), node })
}
