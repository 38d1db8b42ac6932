//! The project's own commands, run as `cargo xtask COMMAND`.
//!
//! | file | subject |
//! |---|---|
//! | `bench` | compares Candor with other programs, as ratios |
//! | `browser` | the web console's pages in a real browser |
//! | `check` | every step that a change must pass, in order |
//! | `features` | every crate and every feature, alone |
//! | `neighbors` | the ten-line server together with other crates that contain SQLite |
//! | `deny` | installs cargo-deny once, and runs it |
//! | `conformance` | the official MCP suite against the example server, and against the client |
//! | `clients` | the clients of the official SDKs against the example servers |
//! | `servers` | our client against servers that others wrote |
//! | `checks` | programs that print `ok WHAT` for each check |
//! | `soak` | the soak test, for any time |
//! | `fuzz` | Schemathesis against the REST API of the example servers |
//! | `explorer` | the tests of another embedded explorer against our REST API |
//! | `example_server` | an example server as a child process |
//! | `postgres` | a temporary PostgreSQL for the tests |
//! | `apt` | system packages |
//! | `nginx` | nginx for the tests |
//! | `npm` | pinned npm packages, and a Node that can run them |
//! | `python` | pinned PyPI packages |
//! | `workspace` | the paths of the repository and its target directory |
//! | `process` | runs other programs, with one line and one time each |
//!
//! This crate is not part of the framework, and no crate may depend on it.

#![allow(clippy::print_stdout, reason = "these are commands for people; stdout is theirs")]

mod apt;
mod bench;
mod browser;
mod check;
mod checks;
mod clients;
mod conformance;
mod deny;
mod example_server;
mod explorer;
mod features;
mod fuzz;
mod neighbors;
mod nginx;
mod npm;
mod postgres;
mod process;
mod python;
mod servers;
mod soak;
mod workspace;

use std::process::ExitCode;

use bench::Choice;
use conformance::Selection;
use process::Outcome;
use workspace::Workspace;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  check [--fast]      Run every step that a change must pass: format, lints, tests, docs,
                      each feature alone, a build with database crates, dependencies, a
                      one-minute soak test, conformance, official clients, servers of others,
                      a fuzzer against the REST API, another explorer's tests, a browser.
                      Installs what it needs under target/. --fast stops after the tests.

  conformance [--requirements REVISION] [--scenario NAME]
                      Run the official MCP conformance suite against the example server, and
                      against the client (all but authorization).
                      --requirements runs one protocol revision (2025-11-25 or 2026-07-28).
                      --scenario runs one scenario, and prints each of its checks in full.

  clients [--only NAME]
                      Run the clients of the official SDKs against the example servers, in
                      each era that they speak, over stdio and HTTP. --only runs one of them:
                      typescript, typescript-1, python or rust.

  servers [--only NAME]
                      Run our client against servers that others wrote, in each era that they
                      speak, over stdio and HTTP. --only runs one of them: everything,
                      filesystem, typescript, python or rmcp.

  neighbors          Build the ten-line server into one program with sqlx and diesel, old and
                      new. They share one SQLite, and two processes share one ledger.

  fuzz                Run Schemathesis against the REST API of example servers, for a minute,
                      from their own /openapi.json.

  explorer            Run the tests of mcp-embedded-ui, unchanged, against our REST API and
                      pages. All must pass, except those that contradict a decision.

  browser [NAME…]     Test the pages of the web console in Chromium, against the real programs:
                      every journey in browser/journeys, or the named ones. --screenshots
                      takes the pictures of the README instead, in docs/images.

  soak [MINUTES]      Run clients of every kind against one server, by default for ten
                      minutes. They must leave nothing behind.

  bench [--quick] [--runs N] [--only ROW] [--build-cpu]
                      Compare Candor with bare servers and with rmcp, as ratios. The table is
                      also in target/bench/bench.md. Takes minutes, and needs a quiet machine
                      with two cores. --quick runs each row once and briefly. --runs N takes
                      medians of N runs instead of 5. --only runs the rows with ROW in their
                      name. --build-cpu adds a row of cold builds.";

/// The command to run.
enum Request {
    Help,
    Check { fast: bool },
    Conformance(Selection),
    Clients(clients::Selection),
    Servers(servers::Selection),
    Bench(Choice),
    Soak { minutes: u64 },
    Fuzz,
    Neighbors,
    Explorer,
    Browser(browser::Selection),
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

/// Runs the command. Returns false after a failure that is already reported in full.
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
        Request::Soak { minutes } => soak::run(&Workspace::enter()?, *minutes).map(|()| true),
        Request::Neighbors => neighbors::run(&Workspace::enter()?).map(|()| true),
        Request::Fuzz => fuzz::run(&Workspace::enter()?).map(|()| true),
        Request::Explorer => explorer::run(&Workspace::enter()?).map(|()| true),
        Request::Browser(selection) => browser::run(&Workspace::enter()?, selection).map(|()| true),
        Request::Bench(choice) => bench::run(&Workspace::enter()?, choice),
        Request::Clients(selection) => clients::run(&Workspace::enter()?, selection).map(|()| true),
        Request::Servers(selection) => servers::run(&Workspace::enter()?, selection).map(|()| true),
    }
}

fn understand(words: &[&str]) -> Outcome<Request> {
    match words {
        [] | ["help" | "--help" | "-h", ..] => Ok(Request::Help),
        ["check"] => Ok(Request::Check { fast: false }),
        ["check", "--fast"] => Ok(Request::Check { fast: true }),
        ["conformance", options @ ..] => Selection::from_options(options).map(Request::Conformance),
        ["fuzz"] => Ok(Request::Fuzz),
        ["neighbors"] => Ok(Request::Neighbors),
        ["explorer"] => Ok(Request::Explorer),
        ["browser", options @ ..] => {
            browser::Selection::from_options(options).map(Request::Browser)
        }
        ["soak"] => Ok(Request::Soak { minutes: soak::MINUTES }),
        ["soak", minutes] => match minutes.parse() {
            Ok(minutes @ 1..) => Ok(Request::Soak { minutes }),
            _ => Err(format!("`{minutes}` is not a number of minutes")),
        },
        ["bench", options @ ..] => Choice::from_options(options).map(Request::Bench),
        ["clients", options @ ..] => {
            clients::Selection::from_options(options).map(Request::Clients)
        }
        ["servers", options @ ..] => {
            servers::Selection::from_options(options).map(Request::Servers)
        }
        _ => Err(format!("cannot read `cargo xtask {}`", words.join(" "))),
    }
}
