//! The dependencies step: cargo-deny against `deny.toml`, installed on first use.

use std::path::Path;
use std::process::Command;

use crate::process::{self, Outcome};
use crate::workspace::Workspace;

/// Pinned, so that a new release cannot turn an unchanged commit red.
const VERSION: &str = "0.20.2";

pub(crate) fn run(at: &Workspace) -> Outcome {
    let tools = at.target.join("tools");
    let program = tools.join("bin").join(format!("cargo-deny{}", std::env::consts::EXE_SUFFIX));
    if !is_installed(&program) {
        let what = format!("cargo-deny {VERSION} (cargo install, the first time only)");
        process::timed(&what, || install(at, &tools))?;
    }
    process::timed("dependencies (cargo deny)", || check(at, &program))
}

fn is_installed(program: &Path) -> bool {
    process::answer(Command::new(program).arg("--version"))
        .is_ok_and(|version| version.trim().ends_with(VERSION))
}

/// Installs cargo-deny, built in the dev profile without debug information. Its release profile uses fat LTO, which
/// more than doubles the build time of a program that runs for a second.
fn install(at: &Workspace, tools: &Path) -> Outcome {
    let mut install = Command::new("cargo");
    install
        .args(["install", "--locked", "--debug", "cargo-deny", "--version"])
        .arg(VERSION)
        .arg("--root")
        .arg(tools)
        .env("CARGO_PROFILE_DEV_DEBUG", "0");
    process::quietly(&mut install, &at.log("cargo-deny-install"))
}

/// Runs the check offline, so that its result depends on the commit only. It reads the crates of every platform. A
/// build fetches only those of its own, so `cargo fetch` runs first.
fn check(at: &Workspace, program: &Path) -> Outcome {
    let log = at.log("cargo-deny");
    process::quietly(Command::new("cargo").args(["fetch", "--locked"]), &log)?;
    let mut deny = Command::new(program);
    deny.args(["--offline", "check", "bans", "licenses", "sources"]);
    process::quietly(&mut deny, &log)
}
