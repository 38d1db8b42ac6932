//! The scenarios that a protocol revision requires of a server and of a client.
//!
//! The suite's own `requirements/REVISION.yaml` is the authority. We also require some scenarios that the suite runs
//! and does not score.

use std::collections::BTreeSet;

use serde_json::Value;

use super::install::Suite;
use crate::process::{self, Outcome};

/// Client scenarios that we do not run: the prefix of their names, and why.
pub(super) const OUT_OF_SCOPE: (&str, &str) = (
    "auth/",
    "the client sends a token that its host has got; how a host gets one is not the client's matter",
);

/// Which side is tested.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Side {
    Server,
    Client,
}

impl Side {
    /// Returns the suite's word for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// A revision of the protocol that the suite has a requirement set for.
#[derive(PartialEq)]
pub(super) struct Revision {
    pub(super) name: &'static str,
    server: Beyond,
    client: Beyond,
}

/// What we require beyond the scored scenarios.
#[derive(PartialEq)]
pub(super) struct Beyond {
    /// Not scored, because the suite's reference server did not pass them yet, or because they came after the release.
    /// Ours passes them.
    required: &'static [&'static str],
    /// Scenarios of extensions that we serve. No requirement set has them, so we run them one by one.
    pub(super) extensions: &'static [&'static str],
}

impl Revision {
    pub(super) fn beyond(&self, side: Side) -> &Beyond {
        match side {
            Side::Server => &self.server,
            Side::Client => &self.client,
        }
    }
}

pub(super) static REVISIONS: [Revision; 2] = [
    Revision {
        name: "2025-11-25",
        server: Beyond {
            required: &["json-schema-2020-12", "server-session-lifecycle", "server-sse-polling"],
            extensions: &[],
        },
        client: Beyond { required: &["json-schema-2020-12-preservation"], extensions: &[] },
    },
    Revision {
        name: "2026-07-28",
        server: Beyond {
            required: &[
                "http-custom-header-server-validation",
                "http-header-validation",
                "json-schema-2020-12",
            ],
            extensions: &["sep-2640-skills-directory"],
        },
        client: Beyond { required: &["json-schema-2020-12-preservation"], extensions: &[] },
    },
];

/// Reads YAML with the suite's own parser, so that we need none.
const YAML_TO_JSON: &str = r#"
const [file] = process.argv.slice(1);
const yaml = require(require.resolve("yaml", { paths: [file] }));
console.log(JSON.stringify(yaml.parse(require("fs").readFileSync(file, "utf8"))));
"#;

/// One side's part of a requirement set.
pub(super) struct Requirements {
    scored: BTreeSet<String>,
    not_scored: BTreeSet<String>,
    /// The number of scenarios that are [`OUT_OF_SCOPE`].
    pub(super) out_of_scope: usize,
}

impl Requirements {
    pub(super) fn read(suite: &Suite, revision: &Revision, side: Side) -> Outcome<Self> {
        let file = suite.directory.join("requirements").join(format!("{}.yaml", revision.name));
        let json = process::answer(suite.node().args(["-e", YAML_TO_JSON, "--"]).arg(&file))?;
        Self::parse(&json, side).map_err(|e| format!("{}: {e}", file.display()))
    }

    fn parse(json: &str, side: Side) -> Outcome<Self> {
        let set: Value = serde_json::from_str(json).map_err(|e| e.to_string())?;
        let list = |name: &str| set[name].as_array().ok_or(format!("no list `{name}`"));
        let mut scored: BTreeSet<String> = list(side.name())?.iter().filter_map(owned).collect();
        let mut not_scored: BTreeSet<String> = list("not_scored")?
            .iter()
            .filter(|entry| entry["leg"] == side.name())
            .filter_map(|entry| owned(&entry["scenario"]))
            .collect();
        let all = scored.len() + not_scored.len();
        for names in [&mut scored, &mut not_scored] {
            names.retain(|name| !name.starts_with(OUT_OF_SCOPE.0));
        }
        if scored.is_empty() {
            let side = side.name();
            return Err(format!("it scores no {side} scenario, so a pass would mean nothing"));
        }
        let out_of_scope = all - scored.len() - not_scored.len();
        Ok(Self { scored, not_scored, out_of_scope })
    }

    /// Returns every scenario of this side that the suite runs for this revision.
    pub(super) fn scenarios(&self) -> impl Iterator<Item = &String> {
        self.scored.union(&self.not_scored)
    }

    /// Returns true if the suite runs the scenario for this revision.
    pub(super) fn name(&self, scenario: &str) -> bool {
        self.scored.contains(scenario) || self.not_scored.contains(scenario)
    }

    /// Returns every scenario that must pass.
    pub(super) fn required(&self, beyond: &Beyond) -> BTreeSet<String> {
        let ours = beyond.required.iter().copied().map(str::to_owned);
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
        "client": ["initialize", "auth/basic"],
        "not_scored": [
            {"scenario": "auth/dpop", "leg": "client", "reason": "extension"},
            {"scenario": "server-sse-polling", "leg": "server", "reason": "pending"}
        ]
    }"#;

    #[test]
    fn server_requirements_exclude_client_scenarios() {
        let set = Requirements::parse(SET, Side::Server).unwrap();

        assert!(set.scenarios().eq(["ping", "server-sse-polling", "tools-list"]));
        assert!(!set.name("auth/dpop"));
        assert!(!set.name("initialize"));
    }

    #[test]
    fn out_of_scope_scenarios_are_counted_but_not_run() {
        let set = Requirements::parse(SET, Side::Client).unwrap();

        assert!(set.scenarios().eq(["initialize"]));
        assert_eq!(set.out_of_scope, 2);
    }

    #[test]
    fn added_scenarios_are_required_beside_scored_ones() {
        let set = Requirements::parse(SET, Side::Server).unwrap();

        let required = set.required(&Beyond { required: &["server-sse-polling"], extensions: &[] });

        assert!(required.iter().eq(["ping", "server-sse-polling", "tools-list"]));
    }

    #[test]
    fn empty_scenario_set_is_an_error() {
        let empty = r#"{"server": [], "client": ["auth/dpop"], "not_scored": []}"#;

        assert!(Requirements::parse(empty, Side::Server).is_err());
        assert!(Requirements::parse(empty, Side::Client).is_err());
    }
}
