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

    /// Where the output of a quiet command is kept.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.target.join("xtask").join(format!("{name}.log"))
    }
}
