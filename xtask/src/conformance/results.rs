//! Reads the files that the suite wrote: `OUT/server-SCENARIO-TIMESTAMP/checks.json`, for clients without `server-`.
//!
//! The suite's console text is not stable. The suite itself counts these files.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::requirements::Side;
use crate::process::Outcome;

/// The length of `2026-07-28T10-00-00-000Z`: `toISOString` with `:` and `.` replaced.
const TIMESTAMP_LENGTH: usize = 24;

/// The checks of each scenario that ended.
#[derive(Default)]
pub(super) struct Results(BTreeMap<String, Vec<Check>>);

pub(super) struct Check {
    pub(super) id: String,
    pub(super) status: Status,
    pub(super) description: String,
    pub(super) error: Option<String>,
    details: Value,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Status {
    Success,
    Failure,
    Warning,
    Skipped,
    /// A trace of the traffic, without a verdict.
    Info,
}

impl Results {
    pub(super) fn read(out: &Path, side: Side) -> Outcome<Self> {
        let mut results = Self::default();
        let fault = |e| format!("cannot read the results in {}: {e}", out.display());
        for entry in fs::read_dir(out).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let scenario = scenario_in(&name, side).ok_or_else(|| {
                format!("`{name}` is no result directory as the suite named them")
            })?;
            let file = entry.path().join("checks.json");
            // The suite creates the directory first. A scenario that threw leaves it empty, and has no result.
            if file.exists() {
                let json = fs::read_to_string(&file).map_err(fault)?;
                results.add(scenario, &json).map_err(|e| format!("{}: {e}", file.display()))?;
            }
        }
        Ok(results)
    }

    pub(super) fn add(&mut self, scenario: &str, json: &str) -> Outcome {
        let list: Vec<Value> = serde_json::from_str(json).map_err(|e| e.to_string())?;
        let checks = list.iter().map(Check::parse).collect::<Outcome<Vec<_>>>()?;
        self.0.insert(scenario.to_owned(), checks);
        Ok(())
    }

    pub(super) fn checks(&self, scenario: &str) -> Option<&[Check]> {
        self.0.get(scenario).map(Vec::as_slice)
    }

    pub(super) fn scenarios(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }
}

/// Prints every check in full.
impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for check in self.0.values().flatten() {
            writeln!(f, "   {:?} {}: {}", check.status, check.id, check.description)?;
            if let Some(error) = &check.error {
                writeln!(f, "      {}", error.replace('\n', "\n      "))?;
            }
            if !check.details.is_null() {
                let details = format!("{:#}", check.details);
                writeln!(f, "      {}", details.replace('\n', "\n      "))?;
            }
        }
        Ok(())
    }
}

impl Check {
    fn parse(check: &Value) -> Outcome<Self> {
        let text = |name: &str| check[name].as_str().map(str::to_owned);
        let status = match check["status"].as_str() {
            Some("SUCCESS") => Status::Success,
            Some("FAILURE") => Status::Failure,
            Some("WARNING") => Status::Warning,
            Some("SKIPPED") => Status::Skipped,
            Some("INFO") => Status::Info,
            // To accept an unknown status would let the check pass.
            _ => return Err(format!("unknown status {} of a check", check["status"])),
        };
        Ok(Self {
            id: text("id").ok_or("a check without an id")?,
            status,
            description: text("description").unwrap_or_default(),
            error: text("errorMessage"),
            details: check["details"].clone(),
        })
    }
}

fn scenario_in(directory: &str, side: Side) -> Option<&str> {
    let rest = match side {
        Side::Server => directory.strip_prefix("server-")?,
        Side::Client => directory,
    };
    let (scenario, timestamp) = rest.split_at_checked(rest.len().checked_sub(TIMESTAMP_LENGTH)?)?;
    let is_time = timestamp.contains('T') && timestamp.ends_with('Z');
    scenario.strip_suffix('-').filter(|_| is_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenario_name_is_between_prefix_and_time() {
        let doubled = "server-server-sse-polling-2026-11-15T19-51-20-844Z";

        assert_eq!(scenario_in(doubled, Side::Server), Some("server-sse-polling"));
        assert_eq!(
            scenario_in("server-json-schema-2020-12-2026-11-15T19-51-20-817Z", Side::Server),
            Some("json-schema-2020-12")
        );
        assert_eq!(
            scenario_in("tools_call-2026-11-15T19-51-20-817Z", Side::Client),
            Some("tools_call")
        );
        assert_eq!(scenario_in("server-ping", Side::Server), None);
        assert_eq!(scenario_in("stray.txt", Side::Client), None);
    }

    #[test]
    fn unknown_status_is_an_error() {
        let mut results = Results::default();

        let outcome = results.add("ping", r#"[{"id": "ping", "status": "PASSED"}]"#);

        assert!(outcome.unwrap_err().contains("PASSED"));
    }
}
