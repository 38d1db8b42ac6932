//! Refusals over HTTP: a status, and a problem with the code, the words and the advice of the refusal's table.
//!
//! A tool's own failure does not fail the request, so it stays a result, whatever its code.

use candor_server::Refusal;
use candor_server::engine::{Retry, trace};
use candor_server::tool::{ToolError, Violation, code};
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::problem::Problem;

/// Returns true if a refusal is a problem even if the handler has ended.
pub(super) fn is_problem(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::TimedOut | Refusal::ResponseCapacity(_))
}

/// Returns the problem for a refusal.
pub(crate) fn problem(refusal: Refusal) -> Problem {
    match &refusal {
        Refusal::UnknownTool(name) => return Problem::no_such_tool(name),
        Refusal::ToolsUnavailable | Refusal::Internal => return Problem::internal(&trace::id()),
        Refusal::ResponseDropped { bytes, scope } => return Problem::unheld(*scope, *bytes),
        Refusal::TooManyQuestions { wait } => {
            let status = StatusCode::TOO_MANY_REQUESTS;
            return Problem::new(status, code::BUSY, refusal.words()).retry_after_ms(millis(*wait));
        }
        _ => {}
    }
    let (row, details) = (refusal.row(), refusal.details());
    let error = ToolError::from(refusal);
    error.note("");
    let status = StatusCode::from_u16(row.status).unwrap_or(StatusCode::CONFLICT);
    let mut problem = Problem::new(status, error.error_code(), error.to_string());
    problem = match error.retry() {
        Retry::After(time) => problem.retry_after_ms(millis(time)),
        Retry::Never => problem.member("is_retriable", false),
        Retry::Unknown => problem,
    };
    problem = problem.member("trace_id", trace::id());
    for (name, value) in details {
        if name == "operation" {
            problem = problem.member(name, value);
        }
    }
    if let Some((tool, arguments)) = error.alternative() {
        problem = problem.member("next_operation", json!({"tool": tool, "arguments": arguments}));
    }
    if !error.fields().is_empty() {
        problem = problem.member("errors", error.fields().iter().map(field).collect::<Value>());
    }
    let suggestions = suggestions(error.error_code(), &error);
    problem.member("suggestions", suggestions)
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns what is wrong with one argument, with the member names of the REST API.
fn field(violation: &Violation) -> Value {
    let mut field = Map::new();
    field.insert("pointer".to_owned(), violation.pointer.as_str().into());
    field.insert("reason".to_owned(), violation.problem.as_str().into());
    if let Some(expected) = &violation.expected {
        field.insert("expected".to_owned(), expected.as_str().into());
    }
    if !violation.valid_values.is_empty() {
        field.insert("valid_values".to_owned(), violation.valid_values.clone().into());
    }
    field.into()
}

/// Returns what to do next, the most likely first.
fn suggestions(code: &str, error: &ToolError) -> Value {
    let mut all = Vec::new();
    if let Some((tool, _)) = error.alternative() {
        all.push(format!("Call {tool} first, with the arguments in next_operation."));
    }
    let advice = match code {
        code::INVALID_ARGUMENTS => Some("Fix the arguments listed in `errors`, and call again."),
        code::KEY_REQUIRED => {
            Some("Send Idempotency-Key: a new one for each operation, the same on every retry.")
        }
        code::KEY_INVALID => Some("Send one Idempotency-Key."),
        code::KEY_REUSED => Some("Use a new Idempotency-Key for a new operation."),
        code::IN_PROGRESS => {
            Some("Repeat the call with the same arguments and the same Idempotency-Key.")
        }
        code::OUTCOME_UNKNOWN => Some("Check whether the call ran before you repeat it."),
        code::APPROVAL_REQUIRED => Some("Repeat the call after an operator approves it."),
        code::DECISION_CHANGED => Some(
            "Call `/annotations` again. To run the call without an expectation, send it without `expect`.",
        ),
        code::DENIED => Some("Do not make this call again."),
        code::APPROVAL_UNAVAILABLE => Some("Ask the operator of the server to allow the call."),
        code::RESULT_EXPIRED | code::RESULT_TOO_LARGE | code::ABANDONED => {
            Some("Use a new Idempotency-Key for a new operation. This call does not run again.")
        }
        code::TIMED_OUT => Some("The call may have run. Check before you repeat it."),
        _ => None,
    };
    all.extend(advice.map(str::to_owned));
    if let Retry::After(time) = error.retry() {
        all.push(format!("Try again in {} s.", time.as_millis().div_ceil(1000)));
    }
    all.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_server::store::Moment;
    use candor_server::transport::http::AtCapacity;

    #[test]
    fn refusal_has_the_status_and_the_code_of_its_row() {
        let stale = || Refusal::PlanStale { preview: "p".to_owned(), arguments: json!({}) };
        for (refusal, code, status, retriable) in [
            (Refusal::ResultExpired { until: Moment(0) }, code::RESULT_EXPIRED, 410, Some(false)),
            (Refusal::ResultUnreadable, code::RESULT_TOO_LARGE, 410, Some(false)),
            (Refusal::Abandoned { by: "olga".to_owned() }, code::ABANDONED, 410, Some(false)),
            (stale(), code::PLAN_STALE, 409, None),
            (Refusal::LedgerReplaced, code::LEDGER_UNAVAILABLE, 503, Some(true)),
            (Refusal::Busy(AtCapacity::Everybody), code::BUSY, 503, Some(true)),
            (Refusal::Busy(AtCapacity::Caller), code::BUSY, 429, Some(true)),
        ] {
            let problem = problem(refusal);
            assert_eq!(problem.status().as_u16(), status, "{code}");
            let body = problem.body();
            assert_eq!(body["code"], code);
            assert_eq!(body["is_retriable"], retriable.unwrap_or(false));
            assert!(body["trace_id"].is_string() && body["suggestions"].is_array());
        }
        let next = problem(stale()).body();
        assert_eq!(next["next_operation"]["tool"], "p");
    }
}
