//! `cargo xtask neighbors`: builds the ten-line server into one program with other crates that contain SQLite.
//!
//! `links = "sqlite3"` allows one libsqlite3-sys in a program. The ledger therefore accepts a range of rusqlite versions.
//! Cargo chooses the one whose libsqlite3-sys the other crates require. Each neighborhood is a project of its own under
//! the target directory, with its own lock file: ours contains the newest rusqlite only.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Outcome};
use crate::workspace::Workspace;

/// Crates that a server may use together with ours. Pinned, so that a new release cannot make an unchanged commit fail.
struct Neighborhood {
    name: &'static str,
    sqlx: &'static str,
    diesel: &'static str,
    /// The rusqlite that cargo must choose.
    rusqlite: &'static str,
    /// Tests of the ledger that also run in this neighborhood.
    ledger_tests: &'static [&'static str],
}

/// The newest rusqlite is in our own lock file, so all other tests run with it.
const NEIGHBORHOODS: [Neighborhood; 2] = [
    Neighborhood {
        name: "oldest",
        sqlx: "0.8.6",
        diesel: "2.2.4",
        rusqlite: "0.32.1",
        ledger_tests: &["processes", "sqlite"],
    },
    Neighborhood {
        name: "newer",
        sqlx: "0.9.0",
        diesel: "2.3.14",
        rusqlite: "0.39.0",
        ledger_tests: &[],
    },
];

/// Packages whose versions depend on the neighbors, so the copied lock file must not contain them.
const CHOSEN_ANEW: [&str; 3] = ["rusqlite", "libsqlite3-sys", "hashlink"];

pub(crate) fn run(at: &Workspace) -> Outcome {
    let root = env::current_dir().map_err(|e| format!("cannot find the repository: {e}"))?;
    let place = at.target.join("neighbors");
    for neighborhood in &NEIGHBORHOODS {
        let Neighborhood { name, sqlx, diesel, rusqlite, .. } = neighborhood;
        let what = format!("beside sqlx {sqlx} and diesel {diesel} (rusqlite {rusqlite})");
        process::timed(&what, || {
            let project = place.join(name);
            lay_out(&project, &root, neighborhood)?;
            let log = at.log(&format!("neighbors-{name}"));
            process::quietly(&mut test(&project, &place), &log)?;
            must_have(&project, rusqlite)
        })?;
    }
    Ok(())
}

fn lay_out(project: &Path, root: &Path, neighborhood: &Neighborhood) -> Outcome {
    let write = |name: &str, text: &str| {
        fs::create_dir_all(project)
            .and_then(|()| fs::write(project.join(name), text))
            .map_err(|e| format!("cannot write {}: {e}", project.join(name).display()))
    };
    let lock = fs::read_to_string(root.join("Cargo.lock"))
        .map_err(|e| format!("cannot read Cargo.lock: {e}"))?;
    write("Cargo.toml", &manifest(root, neighborhood))?;
    write("Cargo.lock", &without(&lock, &CHOSEN_ANEW))
}

fn manifest(root: &Path, neighborhood: &Neighborhood) -> String {
    let Neighborhood { name, sqlx, diesel, ledger_tests, .. } = neighborhood;
    let path = |path: &str| -> PathBuf { root.join(path) };
    let mut text = format!(
        r#"[package]
name = "neighbor-{name}"
version = "0.0.0"
edition = "2024"
publish = false

[workspace]

[dependencies]
candor = {{ path = {candor:?} }}
diesel = {{ version = "={diesel}", default-features = false, features = ["sqlite"] }}
sqlx = {{ version = "={sqlx}", default-features = false, features = ["runtime-tokio", "sqlite"] }}
tokio = {{ version = "1", features = ["macros", "rt-multi-thread", "time"] }}

[dev-dependencies]
candor-ledger = {{ path = {ledger:?}, features = ["laws"] }}
getrandom = "0.4"
rusqlite = "*"
serde_json = "1"

[profile.dev]
debug = false
incremental = false

[[bin]]
name = "neighbor"
path = {server:?}

[[test]]
name = "replicas"
path = {replicas:?}
"#,
        candor = path("crates/candor"),
        ledger = path("crates/candor-ledger"),
        server = path("xtask/neighbors/server.rs"),
        replicas = path("xtask/neighbors/replicas.rs"),
    );
    for test in *ledger_tests {
        let file = path(&format!("crates/candor-ledger/tests/{test}.rs"));
        text += &format!("\n[[test]]\nname = \"{test}\"\npath = {file:?}\n");
    }
    text
}

/// Returns the lock file without these packages. A package is a paragraph.
fn without(lock: &str, packages: &[&str]) -> String {
    let is_one = |paragraph: &&str| {
        packages.iter().any(|name| paragraph.contains(&format!("\nname = \"{name}\"\n")))
    };
    let mut left: Vec<&str> = lock.split("\n\n").collect();
    left.retain(|paragraph| !is_one(paragraph));
    left.join("\n\n")
}

fn test(project: &Path, place: &Path) -> Command {
    let mut test = Command::new("cargo");
    test.args(["test", "--manifest-path"])
        .arg(project.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(place.join("build"));
    test
}

/// Fails if cargo chose another rusqlite, because this version would then be untested.
fn must_have(project: &Path, version: &str) -> Outcome {
    let file = project.join("Cargo.lock");
    let lock =
        fs::read_to_string(&file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
    if lock.contains(&format!("name = \"rusqlite\"\nversion = \"{version}\"")) {
        return Ok(());
    }
    Err(format!("{} has another rusqlite than {version}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_file_loses_only_the_named_packages() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1\"\n\n[[package]]\nname = \"ab\"\nversion = \"1\"\n";

        let left = without(lock, &["a"]);

        assert_eq!(left, "version = 4\n\n[[package]]\nname = \"ab\"\nversion = \"1\"\n");
    }
}
