//! The official SDKs, and how to start the client that uses each.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::install;
use super::run::Client;
use super::story::{APPROVALS, EVERYTHING, FILES, FORESIGHT, SCHEMAS, Story, TREE};
use crate::npm;
use crate::process::{self, Outcome};
use crate::workspace::Workspace;

/// The era with sessions, up to 2025-11-25. The modern era, from 2026-07-28 on, has none.
const LEGACY: &str = "legacy";
const MODERN: &str = "modern";

pub(super) struct Sdk {
    pub(super) name: &'static str,
    pub(super) eras: &'static [&'static str],
    pub(super) stories: &'static [&'static Story],
    /// Installs or builds what the client needs.
    pub(super) ready: fn(&Workspace, &Path) -> Outcome<Client>,
}

pub(super) static SDKS: [Sdk; 4] = [
    Sdk {
        name: "typescript",
        eras: &[LEGACY, MODERN],
        stories: &[&EVERYTHING, &SCHEMAS, &FORESIGHT, &TREE, &APPROVALS, &FILES],
        ready: |_, place| typescript(place, "client-2.mjs"),
    },
    Sdk {
        name: "typescript-1",
        eras: &[LEGACY],
        stories: &[&EVERYTHING, &SCHEMAS, &FORESIGHT, &TREE, &APPROVALS, &FILES],
        ready: |_, place| typescript(place, "client-1.mjs"),
    },
    Sdk {
        name: "python",
        eras: &[LEGACY, MODERN],
        stories: &[&EVERYTHING, &SCHEMAS, &FORESIGHT, &TREE, &FILES],
        ready: |_, place| python(place),
    },
    Sdk { name: "rust", eras: &[LEGACY, MODERN], stories: &[&EVERYTHING], ready: |at, _| rust(at) },
];

impl Sdk {
    pub(super) fn tells(&self, story: &Story) -> bool {
        self.stories.iter().any(|told| told.file == story.file)
    }
}

fn typescript(place: &Path, script: &str) -> Outcome<Client> {
    let node = install::npm_packages(place)?;
    let scripts = place.join("typescript");
    npm::copy_scripts(Path::new("clients/typescript"), &scripts)?;
    Ok(Client { program: node, script: Some(scripts.join(script)), settings: Vec::new() })
}

fn python(place: &Path) -> Outcome<Client> {
    let python = install::python_packages(place)?;
    let script = PathBuf::from("clients/python/client.py");
    // Python must not write compiled files into the repository.
    let mut settings = vec![("PYTHONDONTWRITEBYTECODE", PathBuf::from("1"))];
    settings.extend(python.packages.map(|packages| ("PYTHONPATH", packages)));
    Ok(Client { program: python.program, script: Some(script), settings })
}

fn rust(at: &Workspace) -> Outcome<Client> {
    process::timed("client with rmcp (debug build)", || {
        // All packages and an example, like the tests: cargo then chooses the same features and reuses the build.
        let mut build = Command::new("cargo");
        build.args(["build", "--workspace", "--all-features"]);
        build.args(["--bin", "candor-interop", "--example", "everything"]);
        process::quietly(&mut build, &at.log("interop-build"))
    })?;
    let name = format!("candor-interop{}", std::env::consts::EXE_SUFFIX);
    let program = at.target.join("debug").join(name);
    Ok(Client { program, script: None, settings: Vec::new() })
}
