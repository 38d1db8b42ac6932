//! Checks every crate alone, and with each of its features alone. In the workspace, the features of one crate hide what
//! another forgot to request.

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

/// Returns the published crates, each without features and with each feature.
fn combinations() -> Outcome<Vec<(String, Option<String>)>> {
    let mut metadata = Command::new("cargo");
    metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
    let said: Value = serde_json::from_str(&process::answer(&mut metadata)?)
        .map_err(|e| format!("cargo metadata gives what is no JSON: {e}"))?;
    let mut found = Vec::new();
    // `publish = false` gives an empty list.
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
