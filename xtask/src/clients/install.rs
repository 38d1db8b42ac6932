//! The pinned packages of npm and PyPI.

use std::path::{Path, PathBuf};

use crate::npm::{self, Package};
use crate::process::Outcome;
use crate::python::{self, Python};

/// Exact versions, so that a new release cannot turn an unchanged commit red.
const SDKS: [Package; 2] = [
    Package { name: "@modelcontextprotocol/client", version: "2.4.0" },
    Package { name: "@modelcontextprotocol/sdk", version: "1.32.2" },
];

/// The validators of schemas. The SDKs depend on them, too, but do not promise to.
const VALIDATORS: [Package; 2] =
    [Package { name: "ajv", version: "8.20.0" }, Package { name: "ajv-formats", version: "3.0.1" }];

/// The version that the manifests of the SDKs require.
const OLDEST_NODE: u32 = 20;

/// The Python SDK and all its dependencies, each with its version.
const REQUIREMENTS: &str = "clients/python/requirements.txt";

/// Installs the TypeScript SDKs and the validators if they are missing. Returns the Node that runs them.
pub(super) fn npm_packages(place: &Path) -> Outcome<PathBuf> {
    let packages = [SDKS, VALIDATORS].concat();
    npm::ensure("official TypeScript SDKs", &packages, OLDEST_NODE, place)
}

/// Installs the Python SDK if it is missing.
pub(super) fn python_packages(place: &Path) -> Outcome<Python> {
    python::ensure("official Python SDK", REQUIREMENTS, place)
}
