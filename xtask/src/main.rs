//! The project's own commands, run as `cargo xtask COMMAND`.
//!
//! | file | subject |
//! |---|---|
//! | `check` | every step a change must pass, in order |
//! | `deny` | cargo-deny: install it once, run it |
//! | `conformance` | the official MCP suite against the example server |
//! | `workspace` | where the repository and its target directory are |
//! | `process` | running other programs, one line and one time each |
//!
//! Nothing here is part of the framework; no crate may depend on it.

#![allow(clippy::print_stdout, reason = "these are commands for people; stdout is theirs")]

mod check;
mod conformance;
mod deny;
mod process;
mod workspace;

use std::process::ExitCode;

use conformance::Selection;
use process::Outcome;
use workspace::Workspace;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  check [--fast]      Everything a change must pass: format, lints, tests, docs,
                      dependencies, conformance. Installs what it needs under target/.
                      --fast stops after the tests.

  conformance [--requirements REVISION] [--scenario NAME]
                      The official MCP conformance suite against the example server.
                      --requirements runs one protocol revision (2025-11-25 or 2026-07-28),
                      --scenario one scenario, with each of its checks in full.";

/// What the command line asks for.
enum Request {
    Help,
    Check { fast: bool },
    Conformance(Selection),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let request = match understand(&words) {
        Ok(request) => request,
        Err(complaint) => {
            eprintln!("{complaint}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match obey(&request) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// False is a failure that has been told in full already.
fn obey(request: &Request) -> Outcome<bool> {
    match request {
        Request::Help => {
            println!("{USAGE}");
            Ok(true)
        }
        Request::Check { fast } => Ok(check::run(&Workspace::enter()?, *fast)),
        Request::Conformance(selection) => {
            conformance::run(&Workspace::enter()?, selection).map(|()| true)
        }
    }
}

fn understand(words: &[&str]) -> Outcome<Request> {
    match words {
        [] | ["help" | "--help" | "-h", ..] => Ok(Request::Help),
        ["check"] => Ok(Request::Check { fast: false }),
        ["check", "--fast"] => Ok(Request::Check { fast: true }),
        ["conformance", options @ ..] => Selection::from_options(options).map(Request::Conformance),
        _ => Err(format!("cannot read `cargo xtask {}`", words.join(" "))),
    }
}
