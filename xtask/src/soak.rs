//! `cargo xtask soak`: the soak test of the server crate, for as long as one likes.

use std::process::Command;

use crate::process::{self, Outcome};
use crate::workspace::Workspace;

/// How long without being told otherwise.
pub(crate) const MINUTES: u64 = 10;

pub(crate) fn run(at: &Workspace, minutes: u64) -> Outcome {
    let mut soak = Command::new("cargo");
    // With the features of the whole workspace, as the other tests have been built.
    soak.args(["test", "--workspace", "--all-features", "--test", "soak", "--", "--nocapture"])
        .env("CANDOR_SOAK_SECONDS", (minutes * 60).to_string());
    let what = format!("soak ({minutes} min)");
    process::timed(&what, || process::quietly(&mut soak, &at.log("soak")))
}
