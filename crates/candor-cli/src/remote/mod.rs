//! Commands that talk to a server: find it, connect, do one thing, and disconnect.
//!
//! - `tools`, `explain`, `call`, `resources`, `read`, `watch`, `prompts`, `doctor`: the commands.
//! - `server`: the flags that they share, connecting and disconnecting. `error`: how a failed command ends.
//! - `decision`: the decision on a call, in words. `confirm`: the confirmation before a call. `question`: the server's own
//!   questions. `progress`: how far a call has come.
//! - `pins`: tools and their effects as they were when the user agreed, and servers that skipped an approval.
//! - `given`: the arguments of a call. `content`: what the server returns. `safe`: untrusted text on the terminal.
//!
//! Results go to stdout, everything else to stderr. All text from a server is untrusted, so it goes through
//! [`shown`](candor::operator::shown) before a user sees it.

pub(crate) mod call;
mod confirm;
mod content;
mod decision;
pub(crate) mod doctor;
mod error;
pub(crate) mod explain;
mod given;
mod pins;
mod progress;
pub(crate) mod prompts;
mod question;
pub(crate) mod read;
pub(crate) mod resources;
mod safe;
mod server;
pub(crate) mod tools;
pub(crate) mod watch;

use std::process::ExitCode;

use crate::exit::Failure;

/// Reports a failed command, in words or as JSON, and returns its exit code. Commands that talk to no server use it, too.
pub(crate) fn failed(failure: Failure, as_json: bool) -> ExitCode {
    error::CliError::from(failure).end(as_json)
}
