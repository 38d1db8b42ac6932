//! Which scenarios a protocol revision demands of a server.
//!
//! The suite's own `requirements/REVISION.yaml` is the authority; we add the scenarios that it
//! runs without scoring but that we hold ourselves to.

use std::collections::BTreeSet;

use serde_json::Value;

use super::install::Suite;
use crate::process::{self, Outcome};

/// A revision of the protocol that the suite has a requirement set for.
#[derive(PartialEq)]
pub(super) struct Revision {
    pub(super) name: &'static str,
    /// Not scored because the suite's reference server could not pass them yet, or because they
    /// came after the release. Ours passes them.
    also_required: &'static [&'static str],
    /// Of extensions that we serve. They stand in no requirement set and are run one by one.
    pub(super) extensions: &'static [&'static str],
}

pub(super) static REVISIONS: [Revision; 2] = [
    Revision {
        name: "2025-11-25",
        also_required: &["json-schema-2020-12", "server-session-lifecycle", "server-sse-polling"],
        extensions: &[],
    },
    Revision {
        name: "2026-07-28",
        also_required: &[
            "http-custom-header-server-validation",
            "http-header-validation",
            "json-schema-2020-12",
        ],
        extensions: &["sep-2640-skills-directory"],
    },
];

/// Reads YAML with the suite's own parser: one less format for us to know.
const YAML_TO_JSON: &str = r#"
const [file] = process.argv.slice(1);
const yaml = require(require.resolve("yaml", { paths: [file] }));
console.log(JSON.stringify(yaml.parse(require("fs").readFileSync(file, "utf8"))));
"#;

/// The server's part of a requirement set.
pub(super) struct Requirements {
    scored: BTreeSet<String>,
    not_scored: BTreeSet<String>,
}

impl Requirements {
    pub(super) fn read(suite: &Suite, revision: &Revision) -> Outcome<Self> {
        let file = suite.directory.join("requirements").join(format!("{}.yaml", revision.name));
        let json = process::answer(suite.node().args(["-e", YAML_TO_JSON, "--"]).arg(&file))?;
        Self::parse(&json).map_err(|e| format!("{}: {e}", file.display()))
    }

    fn parse(json: &str) -> Outcome<Self> {
        let set: Value = serde_json::from_str(json).map_err(|e| e.to_string())?;
        let list = |name: &str| set[name].as_array().ok_or(format!("no list `{name}`"));
        let scored: BTreeSet<String> = list("server")?.iter().filter_map(owned).collect();
        if scored.is_empty() {
            return Err("it scores no server scenario, so a pass would mean nothing".to_owned());
        }
        let not_scored = list("not_scored")?
            .iter()
            .filter(|entry| entry["leg"] == "server")
            .filter_map(|entry| owned(&entry["scenario"]))
            .collect();
        Ok(Self { scored, not_scored })
    }

    /// Every server scenario that the suite runs for this revision.
    pub(super) fn scenarios(&self) -> impl Iterator<Item = &String> {
        self.scored.union(&self.not_scored)
    }

    /// Whether the suite runs it for this revision.
    pub(super) fn name(&self, scenario: &str) -> bool {
        self.scored.contains(scenario) || self.not_scored.contains(scenario)
    }

    /// Every scenario that must pass.
    pub(super) fn required(&self, revision: &Revision) -> BTreeSet<String> {
        let ours = revision.also_required.iter().copied().map(str::to_owned);
        self.scored.iter().cloned().chain(ours).collect()
    }
}

fn owned(name: &Value) -> Option<String> {
    name.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: &str = r#"{
        "server": ["ping", "tools-list"],
        "client": ["initialize"],
        "not_scored": [
            {"scenario": "auth/dpop", "leg": "client", "reason": "extension"},
            {"scenario": "server-sse-polling", "leg": "server", "reason": "pending"}
        ]
    }"#;

    #[test]
    fn a_set_names_the_servers_scenarios_and_not_the_clients() {
        let set = Requirements::parse(SET).unwrap();

        assert!(set.scenarios().eq(["ping", "server-sse-polling", "tools-list"]));
        assert!(!set.name("auth/dpop"));
        assert!(!set.name("initialize"));
    }

    #[test]
    fn what_we_add_is_required_beside_what_is_scored() {
        let set = Requirements::parse(SET).unwrap();

        let required = set.required(&Revision {
            name: "2025-11-25",
            also_required: &["server-sse-polling"],
            extensions: &[],
        });

        assert!(required.iter().eq(["ping", "server-sse-polling", "tools-list"]));
    }

    #[test]
    fn an_empty_set_is_an_error_and_not_an_easy_pass() {
        let empty = r#"{"server": [], "not_scored": []}"#;

        assert!(Requirements::parse(empty).is_err());
    }
}
