//! Commands that talk to a server: find it, reach it, do one thing, and leave.
//!
//! - `tools`, `explain`, `call`, `resources`, `read`, `watch`, `prompts`, `doctor`: the commands.
//! - `server`: the flags that they share, and the way to the server and back. `trouble`: how one ends that does not do what it was asked to.
//! - `foresight`: what becomes of a call, in words. `consent`: the question to a person before it. `question`: the server's own
//!   questions. `progress`: how far it has come.
//! - `pins`: tools and their effects as they were when a person agreed, and servers that skipped an approval.
//! - `given`: the arguments of a call. `content`: what comes back. `safe`: texts of others on our terminal.
//!
//! Results go to stdout, everything else to stderr. Everything that a server says is the word of somebody else, and goes through
//! [`shown`](candor::desk::shown) on its way to a person.

pub(crate) mod call;
mod consent;
mod content;
pub(crate) mod doctor;
pub(crate) mod explain;
mod foresight;
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
mod trouble;
pub(crate) mod watch;

use std::process::ExitCode;

use crate::exit::Failure;

/// How a command ends that failed, in words or for programs; also one that talks to nobody.
pub(crate) fn failed(failure: Failure, as_json: bool) -> ExitCode {
    trouble::CliError::from(failure).end(as_json)
}
