//! The report: which required scenarios passed, and the findings in the others.

use std::collections::BTreeSet;
use std::fmt;

use super::results::{Check, Results, Status};

/// Checks that the suite adds to every scenario. A scenario that has no other success or failure has skipped its own subject.
const ADDED_BY_THE_SUITE: &str = "wire-schema-";

/// Maximum characters of an error in the report. A wire-schema error repeats the whole message.
const SHOWN_CHARS: usize = 400;

/// The results of the required scenarios.
pub(super) struct Report {
    required: usize,
    scenarios_passed: usize,
    checks_passed: usize,
    failures: Vec<Finding>,
    warnings: Vec<Finding>,
    /// Skipped checks. The report lists them, because a skipped check proves nothing.
    skipped: Vec<Finding>,
    /// The number of scenarios that ran and are not required: extensions that we do not offer.
    not_judged: usize,
}

struct Finding {
    scenario: String,
    check: String,
    message: String,
}

impl Finding {
    /// Includes the description, because the suite uses one id for several checks of a scenario.
    fn of(scenario: &str, check: &Check) -> Self {
        Self {
            scenario: scenario.to_owned(),
            check: format!("{} ({})", check.id, check.description),
            message: check.error.clone().unwrap_or_default(),
        }
    }
}

impl Report {
    /// Checks the required scenarios only. A required scenario without a result has failed.
    pub(super) fn new(required: &BTreeSet<String>, results: &Results) -> Self {
        let mut report = Self {
            required: required.len(),
            scenarios_passed: 0,
            checks_passed: 0,
            failures: Vec::new(),
            warnings: Vec::new(),
            skipped: Vec::new(),
            not_judged: results.scenarios().filter(|name| !required.contains(*name)).count(),
        };
        for scenario in required {
            let failures_before = report.failures.len();
            match results.checks(scenario) {
                Some(checks) => report.judge(scenario, checks),
                None => report.failures.push(Finding {
                    scenario: scenario.clone(),
                    check: "(no result)".to_owned(),
                    message: "the suite wrote no checks for it; its log says why".to_owned(),
                }),
            }
            report.scenarios_passed += usize::from(report.failures.len() == failures_before);
        }
        report
    }

    /// Returns true if every required scenario passed, and there was at least one.
    pub(super) fn passed(&self) -> bool {
        self.required > 0 && self.scenarios_passed == self.required
    }

    fn judge(&mut self, scenario: &str, checks: &[Check]) {
        for check in checks {
            let findings = match check.status {
                Status::Success => {
                    self.checks_passed += 1;
                    continue;
                }
                Status::Info => continue,
                Status::Failure => &mut self.failures,
                Status::Warning => &mut self.warnings,
                Status::Skipped => &mut self.skipped,
            };
            findings.push(Finding::of(scenario, check));
        }
        let says_something = |check: &Check| {
            matches!(check.status, Status::Success | Status::Failure)
                && !check.id.starts_with(ADDED_BY_THE_SUITE)
        };
        if !checks.iter().any(says_something) {
            self.failures.push(Finding {
                scenario: scenario.to_owned(),
                check: "(nothing proved)".to_owned(),
                message: "none of its own checks succeeded".to_owned(),
            });
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "   scenarios {}/{} · checks {} · warnings {} · skipped {} · not judged {}",
            self.scenarios_passed,
            self.required,
            self.checks_passed,
            self.warnings.len(),
            self.skipped.len(),
            self.not_judged
        )?;
        let groups =
            [("✗", &self.failures), ("warning:", &self.warnings), ("skipped:", &self.skipped)];
        for (mark, findings) in groups {
            for finding in findings {
                writeln!(f, "   {mark} {finding}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} · {}", self.scenario, self.check)?;
        if self.message.is_empty() {
            return Ok(());
        }
        let mut rest = self.message.chars();
        let shown: String = rest.by_ref().take(SHOWN_CHARS).collect();
        let more = if rest.next().is_some() { " …" } else { "" };
        write!(f, "\n      {}{more}", shown.replace('\n', "\n      "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"[
        {"id": "outgoing-request", "status": "INFO"},
        {"id": "ping", "status": "SUCCESS", "description": "Server answers a ping"},
        {"id": "wire-schema-valid", "status": "SUCCESS"}
    ]"#;

    fn report(required: &[&str], written: &[(&str, &str)]) -> Report {
        let mut results = Results::default();
        for (scenario, json) in written {
            results.add(scenario, json).unwrap();
        }
        let required = required.iter().copied().map(str::to_owned).collect();
        Report::new(&required, &results)
    }

    #[test]
    fn scenario_with_a_success_and_no_failure_passes() {
        let report = report(&["ping"], &[("ping", GOOD)]);

        assert!(report.passed());
        assert_eq!(report.checks_passed, 2);
        let line = "   scenarios 1/1 · checks 2 · warnings 0 · skipped 0 · not judged 0\n";
        assert_eq!(report.to_string(), line);
    }

    #[test]
    fn failed_check_fails_its_scenario_and_is_named() {
        let json = r#"[
            {"id": "tools-call-image", "status": "SUCCESS"},
            {"id": "wire-schema-valid", "status": "FAILURE", "description": "All valid",
             "errorMessage": "must have required property 'resultType'"}
        ]"#;

        let report = report(&["ping", "image"], &[("ping", GOOD), ("image", json)]);

        assert!(!report.passed());
        assert_eq!(report.scenarios_passed, 1);
        assert!(
            report
                .to_string()
                .contains("✗ image · wire-schema-valid (All valid)\n      must have required")
        );
    }

    #[test]
    fn required_scenario_without_a_result_fails() {
        let report = report(&["ping", "caching"], &[("ping", GOOD)]);

        assert!(!report.passed());
        assert!(report.to_string().contains("✗ caching · (no result)"));
    }

    #[test]
    fn scenario_that_proves_nothing_fails() {
        let json = r#"[
            {"id": "session-delete", "status": "SKIPPED", "description": "DELETE",
             "errorMessage": "no session"},
            {"id": "wire-schema-valid", "status": "SUCCESS"}
        ]"#;

        let report = report(&["lifecycle"], &[("lifecycle", json)]);

        assert!(!report.passed());
        let text = report.to_string();
        assert!(text.contains("✗ lifecycle · (nothing proved)"));
        assert!(text.contains("skipped: lifecycle · session-delete (DELETE)\n      no session"));
    }

    #[test]
    fn scenario_without_checks_fails() {
        assert!(!report(&["ping"], &[("ping", "[]")]).passed());
    }

    #[test]
    fn warnings_are_listed_but_do_not_fail() {
        let json = r#"[
            {"id": "validate", "status": "SUCCESS"},
            {"id": "reject", "status": "WARNING", "description": "Rejects",
             "errorMessage": "Servers SHOULD validate"}
        ]"#;

        let report = report(&["input"], &[("input", json)]);

        assert!(report.passed());
        assert!(
            report.to_string().contains("warning: input · reject (Rejects)\n      Servers SHOULD")
        );
    }

    #[test]
    fn failure_of_an_optional_scenario_does_not_fail_the_run() {
        let json = r#"[{"id": "tasks", "status": "FAILURE"}]"#;

        let report = report(&["ping"], &[("ping", GOOD), ("tasks-lifecycle", json)]);

        assert!(report.passed());
        assert_eq!(report.not_judged, 1);
    }

    #[test]
    fn empty_requirements_do_not_pass() {
        assert!(!report(&[], &[("ping", GOOD)]).passed());
    }

    #[test]
    fn long_message_is_cut() {
        let long = "x".repeat(SHOWN_CHARS + 1);
        let json = format!(r#"[{{"id": "a", "status": "FAILURE", "errorMessage": "{long}"}}]"#);

        let text = report(&["big"], &[("big", &json)]).to_string();

        assert!(text.ends_with("x …\n"));
    }
}
