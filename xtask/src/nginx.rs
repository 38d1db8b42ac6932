//! nginx for the tests. They run the guide's example of a proxy.

use std::env;
use std::path::PathBuf;

use crate::apt;
use crate::process::{self, Outcome};
use crate::workspace::Workspace;

/// Tells the tests that a missing nginx is a failure.
pub(crate) const REQUIRED: (&str, &str) = ("CANDOR_TEST_NGINX", "required");

/// Installs nginx if it is missing. The package's own service is not used.
pub(crate) fn ensure(at: &Workspace) -> Outcome {
    if is_there() {
        return Ok(());
    }
    process::timed("nginx (apt-get install, the first time only)", || {
        apt::install(at, "nginx", missing)?;
        if is_there() { Ok(()) } else { Err(missing("its package has no `nginx` where we look")) }
    })
}

/// Looks on the PATH and in Debian's folders, which are not on the PATH of most users.
fn is_there() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let of_system = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    env::split_paths(&path).chain(of_system).any(|folder| folder.join("nginx").is_file())
}

fn missing(why: &str) -> String {
    format!("The tests need nginx: {why}. Install it (on Debian the package `nginx`).\n")
}
