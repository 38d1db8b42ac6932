//! Every crate by itself, and with each of its features alone: in the workspace one crate's features hide what another has forgotten
//! to ask for.

use std::process::Command;

use serde_json::Value;

use crate::process::{self, Outcome};
use crate::workspace::Workspace;

pub(crate) fn run(at: &Workspace) -> Outcome {
    process::timed("every feature alone (clippy)", || {
        for (package, feature) in combinations()? {
            let mut clippy = Command::new("cargo");
            clippy.args(["clippy", "--package", &package, "--no-default-features"]);
            clippy.args(feature.iter().flat_map(|feature| ["--features", feature]));
            clippy.args(["--", "-D", "warnings"]);
            process::quietly(&mut clippy, &at.log("features"))?;
        }
        Ok(())
    })
}

/// The crates that are published, without a feature and with each.
fn combinations() -> Outcome<Vec<(String, Option<String>)>> {
    let mut metadata = Command::new("cargo");
    metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
    let said: Value = serde_json::from_str(&process::answer(&mut metadata)?)
        .map_err(|e| format!("cargo metadata gives what is no JSON: {e}"))?;
    let mut found = Vec::new();
    // `publish` is an empty list where it was forbidden.
    let published = |package: &&Value| package["publish"].is_null();
    for package in said["packages"].as_array().into_iter().flatten().filter(published) {
        let name = package["name"].as_str().unwrap_or_default();
        found.push((name.to_owned(), None));
        let features = package["features"].as_object().into_iter().flatten();
        let alone = features.map(|(feature, _)| feature).filter(|feature| *feature != "default");
        found.extend(alone.map(|feature| (name.to_owned(), Some(feature.clone()))));
    }
    if found.is_empty() { Err("cargo metadata names no crate".to_owned()) } else { Ok(found) }
}
