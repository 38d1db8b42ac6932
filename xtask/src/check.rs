//! `cargo xtask check`: runs every step that a change must pass, in order, and stops at the first failure.
//!
//! It requires only Rust, a C compiler, npm and Python. It installs everything else under the target directory, except
//! PostgreSQL, nginx and Chromium. These come from apt. `DATABASE_URL` can name another PostgreSQL.

use std::process::Command;
use std::time::Instant;

use crate::browser;
use crate::clients;
use crate::conformance::{self, Selection};
use crate::deny;
use crate::explorer;
use crate::features;
use crate::fuzz;
use crate::neighbors;
use crate::nginx;
use crate::postgres::Postgres;
use crate::process::{self, Outcome};
use crate::servers;
use crate::soak;
use crate::workspace::Workspace;

/// The name of a step in the summary, and its work.
type Step = (&'static str, fn(&Workspace) -> Outcome);

/// The steps to run after every few edits. The cheapest is first, so that a format error does not cost a test run.
const FAST: [Step; 3] = [("format", format), ("lints", lints), ("tests", tests)];

/// The steps that `--fast` omits.
const THOROUGH: [Step; 11] = [
    ("docs", docs),
    ("features", features::run),
    ("neighbors", neighbors::run),
    ("dependencies", deny::run),
    ("soak", a_minute),
    ("conformance", official_suite),
    ("official clients", official_clients),
    ("servers of others", servers_of_others),
    ("fuzzed REST API", fuzz::run),
    ("an explorer's tests", explorer::run),
    ("browser", every_journey),
];

/// The size of the target directory after all steps of a first check, in gigabytes. With `CARGO_INCREMENTAL=0`,
/// which CI sets, the size is about half. Without it, the size grows with every change.
const ROOM: f64 = 16.0;

/// Runs the steps, and returns true if all passed. CI reads the last line, `N passed, M failed`: keep its
/// form, and print nothing after it.
pub(crate) fn run(at: &Workspace, fast: bool) -> bool {
    let start = Instant::now();
    if let Some(free) = at.free_gigabytes().filter(|free| *free < ROOM) {
        println!(
            "{free:.0} GB are free on this disk, and a check from nothing writes up to {ROOM:.0}; `cargo clean` makes room."
        );
    }
    let mut passed = 0;
    let thorough = if fast { &[] } else { &THOROUGH[..] };
    for (name, step) in FAST.iter().chain(thorough) {
        if let Err(message) = step(at) {
            println!("\n{message}\nThe step `{name}` failed.");
            println!("{passed} passed, 1 failed");
            return false;
        }
        passed += 1;
    }
    let what = if fast {
        "The fast steps are good; before a merge run the rest with `cargo xtask check`."
    } else {
        "All steps are good."
    };
    println!("\n{what} ({:.0} s)", start.elapsed().as_secs_f64());
    println!("{passed} passed, 0 failed");
    true
}

fn format(at: &Workspace) -> Outcome {
    cargo(at, "format (cargo fmt)", &["fmt", "--all", "--check"], &[])
}

fn lints(at: &Workspace) -> Outcome {
    let clippy =
        ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
    cargo(at, "lints (clippy)", &clippy, &[])
}

/// Runs plain `cargo test`, not nextest: it also runs the examples in the docs, and needs no installation.
fn tests(at: &Workspace) -> Outcome {
    let test = ["test", "--workspace", "--all-features"];
    nginx::ensure(at)?;
    let postgres = Postgres::start(at)?;
    let mut settings = postgres.settings();
    settings.push(nginx::REQUIRED);
    cargo(at, "tests (cargo test)", &test, &settings).map_err(|message| message + postgres.note())
}

fn docs(at: &Workspace) -> Outcome {
    let doc = ["doc", "--workspace", "--no-deps", "--all-features"];
    let strict = [("RUSTDOCFLAGS", "-D warnings")];
    cargo(at, "docs (cargo doc)", &doc, &strict)
}

fn a_minute(at: &Workspace) -> Outcome {
    soak::run(at, 1)
}

fn official_suite(at: &Workspace) -> Outcome {
    conformance::run(at, &Selection::default())
}

fn official_clients(at: &Workspace) -> Outcome {
    clients::run(at, &clients::Selection::default())
}

fn servers_of_others(at: &Workspace) -> Outcome {
    servers::run(at, &servers::Selection::default())
}

fn every_journey(at: &Workspace) -> Outcome {
    browser::run(at, &browser::Selection::default())
}

fn cargo(at: &Workspace, what: &str, arguments: &[&str], settings: &[(&str, &str)]) -> Outcome {
    let mut command = Command::new("cargo");
    command.args(arguments).envs(settings.iter().copied());
    process::timed(what, || process::quietly(&mut command, &at.log(arguments[0])))
}
