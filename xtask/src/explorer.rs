//! `cargo xtask explorer`: runs the tests of another embedded explorer, mcp-embedded-ui, against our REST API and pages.
//!
//! It fetches that project's source distribution and runs the tests unchanged. The module that they import is ours
//! (`clients/explorer`). It forwards every request to a server of ours. The tests in `decisions.json` contradict a
//! decision and must fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::checks;
use crate::example_server;
use crate::process::{self, Outcome};
use crate::python::{self, Python};
use crate::workspace::Workspace;

const FILES: &str = "clients/explorer";

/// The path of the tests in the source distribution.
const TESTS: &str = "tests/test_server.py";

const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn run(at: &Workspace) -> Outcome {
    let place = at.target.join("explorer");
    let requirements = format!("{FILES}/requirements.txt");
    let python = python::ensure("an explorer's tests", &requirements, &place)?;
    let tests = fetch(&python, &place)?;
    let server = example_server::build(at, "explorer")?;
    let files = std::env::current_dir().map_err(|e| format!("no current folder: {e}"))?.join(FILES);
    let paths = [Some(&files), python.packages.as_ref()].into_iter().flatten();
    let paths = std::env::join_paths(paths).map_err(|e| format!("PYTHONPATH: {e}"))?;
    let mut command = Command::new(&python.program);
    command.arg(files.join("run.py")).arg(tests).current_dir(&place);
    command.env("PYTHONPATH", paths).env("CANDOR_EXPLORER", server);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let passed = process::timed("the tests of mcp-embedded-ui against our REST API", || {
        checks::run(&mut command, &place.join("tests.log"), PATIENCE)
    })?;
    println!("  {} tests end as expected", passed.len());
    Ok(())
}

/// Fetches the tests, without the package that they test.
fn fetch(python: &Python, place: &Path) -> Outcome<PathBuf> {
    let (source, folder) = (format!("{FILES}/source.txt"), place.join("source"));
    let (tests, wanted) = (folder.join(TESTS), folder.join("complete.txt"));
    let pinned = fs::read_to_string(&source).map_err(|e| format!("cannot read {source}: {e}"))?;
    if fs::read_to_string(&wanted).is_ok_and(|there| there == pinned) {
        return Ok(tests);
    }
    process::timed("mcp-embedded-ui (pip download)", || {
        let log = place.join("pip-download.log");
        let mut pip = Command::new(&python.program);
        pip.args(["-m", "pip", "download", "--disable-pip-version-check", "--no-input"]);
        pip.args(["--no-deps", "--no-binary", "mcp-embedded-ui", "--require-hashes"]);
        pip.args(["--requirement", &source, "--dest"]).arg(&folder);
        process::quietly(&mut pip, &log)?;
        let name = pinned.lines().last().unwrap_or_default().split_whitespace().next();
        let archive = name
            .unwrap_or_default()
            .replace("==", "-")
            .replace("mcp-embedded-ui", "mcp_embedded_ui");
        let mut tar = Command::new("tar");
        tar.args(["-xzf", &format!("{archive}.tar.gz"), "--strip-components=1"]);
        tar.arg(format!("{archive}/{TESTS}")).current_dir(&folder);
        process::quietly(&mut tar, &log)?;
        fs::write(&wanted, &pinned).map_err(|e| format!("cannot write {}: {e}", wanted.display()))
    })?;
    Ok(tests)
}
