//! `cargo xtask fuzz`: runs Schemathesis against the REST API of example servers, from their own `/openapi.json`.
//!
//! No request may cause a server error. The description must contain every response: its status, its media type
//! and its schema. A protected route must require a token.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::example_server::{self, Server};
use crate::process::{self, Outcome};
use crate::python::{self, Python};
use crate::workspace::Workspace;

const REQUIREMENTS: &str = "clients/fuzz/requirements.txt";

/// Together they have typed tools, effects by argument, keys, previews, resources, tools that fail and tools that ask.
const EXAMPLES: [&str; 2] = ["invoices", "everything"];

/// The time for one example.
const SECONDS: &str = "30";

const CHECKS: [&str; 6] = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "allow_header_conformance",
    "ignored_auth",
];

/// The text before the operator's token on the server's stderr.
const TOKEN: &str = "#token=";

pub(crate) fn run(at: &Workspace) -> Outcome {
    let place = at.target.join("fuzz");
    let python = python::ensure("Schemathesis", REQUIREMENTS, &place)?;
    for example in EXAMPLES {
        let program = example_server::build(at, example)?;
        let log = place.join(format!("{example}-server.log"));
        // There is no reviewer, so the server must not hold calls.
        let mut options = ["--hold", "0"].map(OsString::from).to_vec();
        if example == "invoices" {
            options.extend(["--ask", "destructive", "--data"].map(OsString::from));
            options.push(place.join("invoices.db").into());
        }
        let mut server = Server::start(&program, &options, &log)?;
        let token = token(&log)?;
        process::timed(&format!("fuzzing the REST API of {example} (Schemathesis)"), || {
            process::quietly(
                &mut schemathesis(&python, &server, &token, &place),
                &place.join(format!("{example}.log")),
            )
        })?;
        server.must_still_run()?;
    }
    Ok(())
}

/// Returns the operator's token. The server writes it before it reports that it listens.
fn token(log: &Path) -> Outcome<String> {
    let text =
        fs::read_to_string(log).map_err(|e| format!("cannot read {}: {e}", log.display()))?;
    let (_, rest) = text
        .split_once(TOKEN)
        .ok_or_else(|| format!("the server has printed no `{TOKEN}`; it said:\n{text}"))?;
    Ok(rest.split_whitespace().next().unwrap_or_default().to_owned())
}

fn schemathesis(python: &Python, server: &Server, token: &str, place: &Path) -> Command {
    let url = server.origin();
    let mut command = Command::new(&python.program);
    if let Some(packages) = &python.packages {
        command.env("PYTHONPATH", packages);
    }
    command
        .args(["-m", "schemathesis.cli", "run"])
        .arg(format!("{url}/openapi.json"))
        .args(["--header", &format!("Authorization: Bearer {token}")])
        .args([
            "--checks",
            &CHECKS.join(","),
            "--max-time",
            SECONDS,
            "--request-timeout",
            "20",
            "--seed",
            "1",
        ])
        .args(["--phases", "examples,coverage,fuzzing", "--suppress-health-check", "all"])
        .args(["--continue-on-failure", "--warnings", "off", "--no-color"])
        // These streams end only when the client disconnects.
        .args(["--exclude-path", "/approvals/events"])
        .args(["--exclude-path", "/resources/events"])
        .args(["--generation-database", "none"])
        // Schemathesis must not write its files into the repository.
        .current_dir(place);
    command
}
