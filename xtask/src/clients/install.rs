//! The pinned packages of npm and PyPI, under the target directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::npm::{self, Package};
use crate::process::{self, Outcome};

/// Exact versions, so that a new release cannot turn an unchanged commit red.
const SDKS: [Package; 2] = [
    Package { name: "@modelcontextprotocol/client", version: "2.4.0" },
    Package { name: "@modelcontextprotocol/sdk", version: "1.32.2" },
];

/// What judges schemas. An SDK brings it too, but does not promise to.
const VALIDATORS: [Package; 2] =
    [Package { name: "ajv", version: "8.20.0" }, Package { name: "ajv-formats", version: "3.0.1" }];

/// What the manifests of the SDKs ask for.
const OLDEST_NODE: u32 = 20;

/// The Python SDK and all that it needs, each with its version.
const REQUIREMENTS: &str = "clients/python/requirements.txt";

/// Installs the TypeScript SDKs and validators if they are not there, and says which Node runs them.
pub(super) fn npm_packages(place: &Path) -> Outcome<PathBuf> {
    let packages = [SDKS, VALIDATORS].concat();
    npm::ensure("official TypeScript SDKs", &packages, OLDEST_NODE, place)
}

/// A Python that finds the SDK.
pub(super) struct Python {
    pub(super) program: PathBuf,
    /// A directory of packages for its path, where there is no virtual environment.
    pub(super) packages: Option<PathBuf>,
}

/// Installs the Python SDK if it is not there.
pub(super) fn python_packages(place: &Path) -> Outcome<Python> {
    let wanted =
        fs::read_to_string(REQUIREMENTS).map_err(|e| format!("cannot read {REQUIREMENTS}: {e}"))?;
    let (venv, packages) = (place.join("venv"), place.join("python-packages"));
    let in_venv = Python { program: program_of(&venv), packages: None };
    let beside = Python { program: "python3".into(), packages: Some(packages.clone()) };
    if is_complete(&venv, &wanted) {
        return Ok(in_venv);
    }
    if is_complete(&packages, &wanted) {
        return Ok(beside);
    }
    process::timed("official Python SDK (pip install)", || {
        let log = place.join("pip-install.log");
        if new_venv(&venv, &log).is_ok() {
            pip(&in_venv.program, None, &log)?;
            complete(&venv, &wanted)?;
            return Ok(in_venv);
        }
        // Some systems have Python without the part that makes virtual environments.
        clear(&packages)?;
        pip(&beside.program, Some(&packages), &log)?;
        complete(&packages, &wanted)?;
        Ok(beside)
    })
}

fn program_of(venv: &Path) -> PathBuf {
    if cfg!(windows) {
        venv.join("Scripts").join("python.exe")
    } else {
        venv.join("bin").join("python")
    }
}

fn new_venv(venv: &Path, log: &Path) -> Outcome {
    clear(venv)?;
    process::quietly(Command::new("python3").args(["-m", "venv"]).arg(venv), log)
}

fn pip(python: &Path, target: Option<&Path>, log: &Path) -> Outcome {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--no-input"]);
    pip.args(["--requirement", REQUIREMENTS]);
    if let Some(directory) = target {
        pip.arg("--target").arg(directory);
    }
    process::quietly(&mut pip, log)
}

/// The list of what is there is written last: an install that was interrupted has none.
fn complete(directory: &Path, wanted: &str) -> Outcome {
    let list = directory.join("complete.txt");
    fs::write(&list, wanted).map_err(|e| format!("cannot write {}: {e}", list.display()))
}

fn is_complete(directory: &Path, wanted: &str) -> bool {
    fs::read_to_string(directory.join("complete.txt")).is_ok_and(|there| there == wanted)
}

fn clear(directory: &Path) -> Outcome {
    if !directory.exists() {
        return Ok(());
    }
    fs::remove_dir_all(directory).map_err(|e| format!("cannot clear {}: {e}", directory.display()))
}
