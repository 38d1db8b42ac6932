//! The commands of `candor` that help with servers and reach none, as processes, in a home of their own.

#![allow(missing_docs)]

#[path = "tooling/completing.rs"]
mod completing;
#[path = "tooling/configuring.rs"]
mod configuring;
#[path = "tooling/ending.rs"]
mod ending;
#[path = "tooling/making.rs"]
mod making;
#[path = "../../candor/tests/run/messages.rs"]
mod messages;
#[path = "tooling/mistaking.rs"]
mod mistaking;
#[path = "../../candor/tests/run/process.rs"]
mod process;

use std::fs;
use std::path::{Path, PathBuf};

use tokio::process::Command;

/// A home with an empty folder `work` in it, for one test.
struct Home(PathBuf);

impl Home {
    fn new(test: &str) -> Self {
        // Not beneath the project: its own .mcp.json, or its workspace, would be found there.
        let path =
            std::env::temp_dir().join(format!("candor-tooling-{}", std::process::id())).join(test);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("work")).unwrap();
        Self(path.canonicalize().unwrap())
    }

    fn work(&self) -> PathBuf {
        self.0.join("work")
    }

    /// A file beneath the home, with the folders that it is in.
    fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The program, called in the folder.
    fn candor(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
        let program = Path::new(env!("CARGO_BIN_EXE_candor")).parent().unwrap();
        command.args(args).current_dir(self.work());
        command.env("HOME", &self.0).env("PATH", program);
        command.env_remove("XDG_CONFIG_HOME").env_remove("APPDATA");
        command
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
