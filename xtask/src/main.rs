//! The project's own commands, run as `cargo xtask COMMAND`.
//!
//! | file | subject |
//! |---|---|
//! | `bench` | candor side by side with others, as ratios |
//! | `browser` | the web console's pages in a real browser |
//! | `check` | every step a change must pass, in order |
//! | `features` | every crate, and every feature, alone |
//! | `neighbours` | the ten-line server beside other crates that bring SQLite |
//! | `deny` | cargo-deny: install it once, run it |
//! | `conformance` | the official MCP suite against the example server, and against the client |
//! | `clients` | the clients of the official SDKs against the example servers |
//! | `servers` | our client against servers that others wrote |
//! | `checks` | programs that print `ok WHAT` for each thing checked |
//! | `soak` | the soak test, for as long as one likes |
//! | `fuzz` | Schemathesis against the REST API of the example servers |
//! | `explorer` | the tests of another embedded explorer against our REST API |
//! | `example_server` | an example server as a child process |
//! | `postgres` | a throw-away PostgreSQL for the tests |
//! | `apt` | packages of the system |
//! | `nginx` | nginx for the tests |
//! | `npm` | pinned packages of npm, and a Node that can run them |
//! | `python` | pinned packages of PyPI |
//! | `workspace` | where the repository and its target directory are |
//! | `process` | running other programs, one line and one time each |
//!
//! Nothing here is part of the framework; no crate may depend on it.

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
mod neighbours;
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

  check [--fast]      Everything a change must pass: format, lints, tests, docs,
                      every feature alone, database crates beside it, dependencies, a minute's soak,
                      conformance, official clients, servers of others, a fuzzed REST API, another
                      explorer's tests, a browser. Installs what it needs under target/.
                      --fast stops after the tests.

  conformance [--requirements REVISION] [--scenario NAME]
                      The official MCP conformance suite against the example server, and
                      against the client (all but authorization).
                      --requirements runs one protocol revision (2025-11-25 or 2026-07-28),
                      --scenario one scenario, with each of its checks in full.

  clients [--only NAME]
                      The clients of the official SDKs against the example servers, in both
                      eras, over stdio and HTTP. --only runs one of them: typescript,
                      typescript-1, python or rust.

  servers [--only NAME]
                      Our client against servers that others wrote, in each era that they speak,
                      over stdio and HTTP. --only visits one of them: everything, filesystem,
                      typescript, python or rmcp.

  neighbours          The ten-line server in one program with sqlx and diesel, old and new:
                      they share one SQLite, and two processes share one ledger.

  fuzz                Schemathesis against the REST API of example servers, for a minute, from
                      the description that they give of themselves.

  explorer            The tests of mcp-embedded-ui, unchanged, against our REST API and pages:
                      all but those that contradict a decision of ours.

  browser [NAME…]     The pages of the web console in Chromium, against the real programs: every
                      journey in browser/journeys, or those named. --screenshots makes the
                      pictures of the README, in docs/images, instead.

  soak [MINUTES]      Clients of every kind against one server, ten minutes if not said
                      otherwise: nothing may be left behind.

  bench [--quick] [--runs N] [--only ROW] [--build-cpu]
                      Candor side by side with bare servers and with rmcp, as ratios; the
                      table goes to target/bench/bench.md too. Takes minutes, wants a quiet
                      machine with two cores. --quick is one short run of each, --runs N takes
                      medians of N runs instead of 5, --only takes the rows with ROW in their
                      name, --build-cpu adds a row of cold builds.";

/// What the command line asks for.
enum Request {
    Help,
    Check { fast: bool },
    Conformance(Selection),
    Clients(clients::Selection),
    Servers(servers::Selection),
    Bench(Choice),
    Soak { minutes: u64 },
    Fuzz,
    Neighbours,
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
        Request::Soak { minutes } => soak::run(&Workspace::enter()?, *minutes).map(|()| true),
        Request::Neighbours => neighbours::run(&Workspace::enter()?).map(|()| true),
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
        ["neighbours"] => Ok(Request::Neighbours),
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
