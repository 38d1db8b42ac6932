//! The paths of the repository and its target directory.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::process::{self, Outcome};

/// The paths that every command uses.
pub(crate) struct Workspace {
    /// The target directory as cargo reports it: `CARGO_TARGET_DIR` and `build.target-dir` can move it.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// Makes the repository's root the current directory. A command then means the same in every directory, and a
    /// developer can repeat a printed command.
    pub(crate) fn enter() -> Outcome<Self> {
        let manifest_dir = env::var_os("CARGO_MANIFEST_DIR")
            .map(PathBuf::from)
            .ok_or("cannot find the repository; run this program as `cargo xtask`")?;
        let root =
            manifest_dir.parent().ok_or("the xtask crate must be a directory of the repository")?;
        env::set_current_dir(root).map_err(|e| format!("cannot enter {}: {e}", root.display()))?;

        let mut metadata = Command::new("cargo");
        metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
        let metadata: Value = serde_json::from_str(&process::answer(&mut metadata)?)
            .map_err(|e| format!("cannot read what `cargo metadata` says: {e}"))?;
        let target = metadata["target_directory"]
            .as_str()
            .ok_or("`cargo metadata` names no target_directory")?;
        Ok(Self { target: target.into() })
    }

    /// Returns the free gigabytes on the disk of the target directory, if `df` reports them. A full disk causes misleading errors.
    pub(crate) fn free_gigabytes(&self) -> Option<f64> {
        let existing = self.target.ancestors().find(|folder| folder.exists())?;
        let said = process::answer(Command::new("df").arg("-Pk").arg(existing)).ok()?;
        available(&said).map(|kilobytes| kilobytes / 1e6)
    }

    /// Returns the path of a command's log.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.target.join("xtask").join(format!("{name}.log"))
    }
}

/// Returns the free kilobytes from the output of `df -Pk`: a heading, then a line with the figure in its fourth column.
fn available(said: &str) -> Option<f64> {
    said.lines().nth(1)?.split_ascii_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_is_read_from_its_column() {
        let said = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 264000000 16000000 77000000 17% /\n";
        assert_eq!(available(said), Some(77e6));
        assert_eq!(available("df: no such file"), None);
    }
}
