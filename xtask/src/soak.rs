//! `cargo xtask soak`: runs the soak test of the server crate, for any time.

use std::process::Command;

use crate::process::{self, Outcome};
use crate::workspace::Workspace;

/// The default time, in minutes.
pub(crate) const MINUTES: u64 = 10;

pub(crate) fn run(at: &Workspace, minutes: u64) -> Outcome {
    let mut soak = Command::new("cargo");
    // With the features of the whole workspace, so that cargo reuses the build of the other tests.
    soak.args(["test", "--workspace", "--all-features", "--test", "soak", "--", "--nocapture"])
        .env("CANDOR_SOAK_SECONDS", (minutes * 60).to_string());
    let what = format!("soak ({minutes} min)");
    process::timed(&what, || process::quietly(&mut soak, &at.log("soak")))
}
