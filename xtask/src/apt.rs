//! Packages of the system, where apt has them and we may install them.

use std::process::{Command, Stdio};

use crate::process::{self, Outcome};
use crate::workspace::Workspace;

/// Installs a package. Where that cannot be tried, `missing` makes a message of why.
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
            // Never waits for a password that nobody is there to give.
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
