//! Pinned PyPI packages, under the target directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Outcome};

/// A Python that finds its packages.
pub(crate) struct Python {
    pub(crate) program: PathBuf,
    /// The directory of packages for `PYTHONPATH`, if there is no virtual environment.
    pub(crate) packages: Option<PathBuf>,
}

/// Installs the packages of a requirements file if they are missing.
pub(crate) fn ensure(what: &str, requirements: &str, place: &Path) -> Outcome<Python> {
    let wanted =
        fs::read_to_string(requirements).map_err(|e| format!("cannot read {requirements}: {e}"))?;
    let (venv, packages) = (place.join("venv"), place.join("python-packages"));
    let in_venv = Python { program: program_of(&venv), packages: None };
    let beside = Python { program: "python3".into(), packages: Some(packages.clone()) };
    if is_complete(&venv, &wanted) {
        return Ok(in_venv);
    }
    if is_complete(&packages, &wanted) {
        return Ok(beside);
    }
    process::timed(&format!("{what} (pip install)"), || {
        let log = place.join("pip-install.log");
        if new_venv(&venv, &log).is_ok() {
            pip(&in_venv.program, requirements, None, &log)?;
            complete(&venv, &wanted)?;
            return Ok(in_venv);
        }
        // On some systems, Python cannot create virtual environments.
        clear(&packages)?;
        pip(&beside.program, requirements, Some(&packages), &log)?;
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

fn pip(python: &Path, requirements: &str, target: Option<&Path>, log: &Path) -> Outcome {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--no-input"]);
    pip.args(["--requirement", requirements]);
    if let Some(directory) = target {
        pip.arg("--target").arg(directory);
    }
    process::quietly(&mut pip, log)
}

/// Writes the list of installed packages. It comes last, so an interrupted installation has none.
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
