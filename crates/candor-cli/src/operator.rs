//! The name of the operator, as the ledger records it.

use crate::exit::Failure;

#[derive(Debug, clap::Args)]
#[group(skip)] // flattened into the arguments of several commands
pub(crate) struct OperatorArgs {
    /// The operator's name [default: the user of this system]
    #[arg(long, value_name = "NAME", value_parser = named)]
    by: Option<String>,
}

impl OperatorArgs {
    pub(crate) fn name(&self) -> Result<String, Failure> {
        let by = self.by.clone().or_else(user);
        by.ok_or_else(|| Failure::usage("the operator's name is missing: use --by NAME"))
    }
}

fn named(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("write the operator's name") } else { Ok(text.to_owned()) }
}

/// Returns the user of this system by user id. A variable can name any user, so it is only the fallback.
#[cfg(unix)]
fn user() -> Option<String> {
    let id = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next()?;
        (parts.nth(1)? == id).then(|| name.to_owned())
    });
    // Users of a directory service are not in the file.
    let variable = || std::env::var("USER").ok().filter(|name| !name.trim().is_empty());
    name.or_else(variable).or_else(|| Some(format!("uid {id}")))
}

#[cfg(not(unix))]
fn user() -> Option<String> {
    std::env::var("USERNAME").ok().filter(|name| !name.trim().is_empty())
}
