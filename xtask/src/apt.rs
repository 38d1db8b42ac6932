//! System packages, installed with apt if we have the right to.

use std::process::{Command, Stdio};

use crate::process::{self, Outcome};
use crate::workspace::Workspace;

/// Installs a package. If that is impossible, returns the message that `missing` makes of the reason.
pub(crate) fn install(at: &Workspace, package: &str, missing: fn(&str) -> String) -> Outcome {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !has("apt-get") {
        return Err(missing("it is not installed, and there is no apt-get to install it with"));
    }
    let is_root = is_root()?;
    if !is_root && !has("sudo") {
        return Err(missing("it is not installed, and only root can install it"));
    }
    for arguments in [&["update"][..], &["install", "-y", "--no-install-recommends", package]] {
        let mut apt = if is_root {
            Command::new("apt-get")
        } else {
            // `-n`: fails instead of waiting for a password.
            let mut sudo = Command::new("sudo");
            sudo.args(["-n", "apt-get"]);
            sudo
        };
        apt.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        process::quietly(&mut apt, &at.log("apt-get"))?;
    }
    Ok(())
}

pub(crate) fn is_root() -> Outcome<bool> {
    Ok(process::answer(Command::new("id").arg("-u"))?.trim() == "0")
}
