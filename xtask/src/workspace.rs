//! Where the repository and its target directory are.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::process::{self, Outcome};

/// The places every command works in.
pub(crate) struct Workspace {
    /// Cargo's own answer: `CARGO_TARGET_DIR` and `build.target-dir` may move it.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// Makes the repository's root the current directory, so that a command means the same
    /// from wherever it was called, and so that a failing one can be repeated as printed.
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

    /// Gigabytes that are free where things are built, as far as `df` can tell: full disks show themselves as the oddest errors.
    pub(crate) fn free_gigabytes(&self) -> Option<f64> {
        let existing = self.target.ancestors().find(|folder| folder.exists())?;
        let said = process::answer(Command::new("df").arg("-Pk").arg(existing)).ok()?;
        available(&said).map(|kilobytes| kilobytes / 1e6)
    }

    /// Where the output of a quiet command is kept.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.target.join("xtask").join(format!("{name}.log"))
    }
}

/// Kilobytes, from what `df -Pk` prints: a heading, then a line with the figure in its fourth column.
fn available(said: &str) -> Option<f64> {
    said.lines().nth(1)?.split_ascii_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_is_read_from_its_column() {
        let said = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 264000000 16000000 77000000 17% /\n";
        assert_eq!(available(said), Some(77e6));
        assert_eq!(available("df: no such file"), None);
    }
}
