//! The `candor` program, as a process.

#![allow(missing_docs)]

#[path = "program/files/mod.rs"]
mod files;
#[path = "program/framing.rs"]
mod framing;
#[path = "../../candor/tests/run/http.rs"]
mod http;
#[path = "program/instances.rs"]
mod instances;
#[cfg(unix)]
#[path = "program/ledger_gone.rs"]
mod ledger_gone;
#[path = "program/listening.rs"]
mod listening;
#[path = "../../candor/tests/run/messages.rs"]
mod messages;
#[path = "program/misplaced.rs"]
mod misplaced;
#[path = "../../candor/tests/run/process.rs"]
mod process;
#[cfg(unix)]
#[path = "program/replicas.rs"]
mod replicas;
#[path = "program/state.rs"]
mod state;
#[path = "program/tokens.rs"]
mod tokens;
#[cfg(target_os = "linux")]
#[path = "program/unread.rs"]
mod unread;

use std::path::{Path, PathBuf};

use tokio::process::Command;

fn candor() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
    // Not among the calls of whoever runs the tests.
    command.env("XDG_STATE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("state"));
    command
}

/// `candor files` of a folder, for who decides for themselves.
fn candor_files(folder: &Path) -> Command {
    let mut command = candor();
    command.arg("files").arg(folder).args(["--ask", "never"]);
    command
}

/// An empty folder of this name, for one test.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("candor files, tëst").join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path.canonicalize().unwrap()
}
