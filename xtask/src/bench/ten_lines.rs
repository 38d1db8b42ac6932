//! The smallest server, with Candor and with rmcp: its dependencies, and the cost of its build.
//!
//! Each becomes a package of its own under the target directory, like a user's. It gets a copy of this repository's
//! lock file, so that both use the same versions.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::measure::Series;
use crate::process::{self, Outcome};
use crate::workspace::Workspace;

/// Ticks per second in `/proc`: fixed by the kernel's interface, whatever its own clock rate.
const USER_HZ: f64 = 100.0;

/// One of the two.
struct Package {
    label: &'static str,
    name: &'static str,
    /// Lines of a manifest; `ROOT` is this repository.
    dependencies: &'static str,
}

const CANDOR: Package = Package {
    label: "candor",
    name: "ten_lines_candor",
    dependencies: r#"
candor = { path = "ROOT/crates/candor" }
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
"#,
};

/// With only the features that it needs. Unlike ours, it has no flags and no log.
const RMCP: Package = Package {
    label: "rmcp + axum",
    name: "ten_lines_rmcp",
    dependencies: r#"
axum = { version = "0.8", default-features = false, features = ["http1", "tokio"] }
rmcp = { version = "3.8", default-features = false, features = ["macros", "server", "transport-io", "transport-streamable-http-server"] }
serde = { version = "1", features = ["derive"] }
tokio = { version = "1", features = ["macros", "net", "rt-multi-thread"] }
"#,
};

/// Returns the number of crates in the tree of each, without itself.
pub(super) fn crates(at: &Workspace) -> Outcome<[Series; 2]> {
    let counted = |package: &Package| {
        package.crates(at).map(|crates| Series::one(package.label, "crates", crates as f64))
    };
    Ok([counted(&CANDOR)?, counted(&RMCP)?])
}

/// Returns the CPU time of a cold build of each.
pub(super) fn build_cpu(at: &Workspace) -> Outcome<[Series; 2]> {
    let built = |package: &Package| {
        package.cold_build(at).map(|seconds| Series::one(package.label, "s CPU", seconds))
    };
    Ok([built(&CANDOR)?, built(&RMCP)?])
}

impl Package {
    /// Writes the package, and returns the path of its manifest.
    fn make(&self, at: &Workspace) -> Outcome<PathBuf> {
        let root = env::current_dir().map_err(|e| format!("cannot find the repository: {e}"))?;
        let here = at.target.join("bench").join(self.name);
        let fault = |e| format!("cannot write {}: {e}", here.display());
        let manifest = here.join("Cargo.toml");
        // A workspace of its own, so that cargo does not count it as a part of ours.
        let text = format!(
            "[package]\nname = \"{}\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]{}",
            self.name,
            self.dependencies.replace("ROOT", &root.display().to_string())
        );
        let source = Path::new("bench/examples").join(self.name).with_extension("rs");
        fs::create_dir_all(here.join("src")).map_err(fault)?;
        fs::write(&manifest, text).map_err(fault)?;
        fs::copy(source, here.join("src/main.rs")).map_err(fault)?;
        fs::copy("Cargo.lock", here.join("Cargo.lock")).map_err(fault)?;
        Ok(manifest)
    }

    fn crates(&self, at: &Workspace) -> Outcome<usize> {
        let mut tree = Command::new("cargo");
        tree.args(["tree", "--edges", "normal", "--prefix", "none", "--manifest-path"]);
        Ok(crates_in(&process::answer(tree.arg(self.make(at)?))?))
    }

    /// Returns the CPU seconds of a cold release build.
    fn cold_build(&self, at: &Workspace) -> Outcome<f64> {
        let (manifest, log) = (self.make(at)?, at.log(self.name));
        let target = manifest.with_file_name("target");
        if target.exists() {
            fs::remove_dir_all(&target)
                .map_err(|e| format!("cannot clear {}: {e}", target.display()))?;
        }
        // Before the measurement, so that it contains no download.
        let mut fetch = Command::new("cargo");
        process::quietly(fetch.args(["fetch", "--manifest-path"]).arg(&manifest), &log)?;
        let before = cpu_of_children()?;
        let mut build = Command::new("cargo");
        build.args(["build", "--release", "--manifest-path"]).arg(&manifest);
        process::quietly(build.arg("--target-dir").arg(&target), &log)?;
        Ok(cpu_of_children()? - before)
    }
}

/// Counts the different crates below the first line of `cargo tree`'s output. Two versions of one crate count as two.
fn crates_in(tree: &str) -> usize {
    let name = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let root = tree.lines().next().map(name);
    let all: BTreeSet<_> = tree.lines().filter(|line| !line.is_empty()).map(name).collect();
    all.iter().filter(|&crate_| root.as_ref() != Some(crate_)).count()
}

/// Returns the CPU seconds of all child processes that have ended, and of their children.
fn cpu_of_children() -> Outcome<f64> {
    let stat =
        fs::read_to_string("/proc/self/stat").map_err(|e| format!("/proc/self/stat: {e}"))?;
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_ascii_whitespace());
    let ticks = fields.into_iter().flatten().skip(13).take(2).filter_map(|t| t.parse::<f64>().ok());
    Ok(ticks.sum::<f64>() / USER_HZ)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crate_in_two_versions_counts_twice() {
        let tree = "mine v0.0.0 (/x)\nsyn v2.0.0\nsyn v3.0.0\nserde v1.0.0\nserde v1.0.0 (*)\n\n";

        assert_eq!(crates_in(tree), 3);
    }
}
