//! Refusals of the framework. In MCP these are results; over HTTP they have a status.
//!
//! A tool's own failure does not fail the request, so it stays a result, whatever its code.

use candor_server::protocol::json::Object;
use candor_server::protocol::names::extension;
use candor_server::tool::code;
use http::StatusCode;
use serde_json::Value;

use crate::problem::Problem;

/// Returns the HTTP status of the framework's own error codes.
fn status(code: &str) -> Option<StatusCode> {
    Some(match code {
        code::INVALID_ARGUMENTS | code::KEY_REUSED => StatusCode::UNPROCESSABLE_ENTITY,
        code::KEY_REQUIRED | code::KEY_INVALID => StatusCode::BAD_REQUEST,
        code::IN_PROGRESS
        | code::OUTCOME_UNKNOWN
        | code::PREVIEW_REQUIRED
        | code::PLAN_INVALID
        | code::PLAN_STALE
        | code::DECISION_CHANGED => StatusCode::CONFLICT,
        code::RATE_LIMITED | code::QUOTA_EXCEEDED => StatusCode::TOO_MANY_REQUESTS,
        code::APPROVAL_REQUIRED | code::APPROVAL_UNAVAILABLE | code::DENIED => {
            StatusCode::FORBIDDEN
        }
        code::LEDGER_UNAVAILABLE | code::BUSY => StatusCode::SERVICE_UNAVAILABLE,
        code::RESULT_EXPIRED | code::RESULT_TOO_LARGE | code::ABANDONED => StatusCode::GONE,
        code::TIMED_OUT => StatusCode::GATEWAY_TIMEOUT,
        _ => return None,
    })
}

/// Returns the problem for a result, if the framework refused the call.
pub(super) fn problem(result: &Object) -> Option<Problem> {
    let meta: Value = serde_json::from_str(result.get("_meta")?.text()).ok()?;
    let said = meta.get(extension::ERROR).filter(|said| said["raisedBy"] == "server")?;
    let code = said["code"].as_str()?;
    let status = match (code, said["scope"].as_str()) {
        // Only this caller must end something, as with requests. The server may still serve others.
        (code::BUSY, Some("caller")) => StatusCode::TOO_MANY_REQUESTS,
        _ => status(code)?,
    };
    let content: Value = serde_json::from_str(result.get("content")?.text()).ok()?;
    let mut problem = Problem::new(status, code, content[0]["text"].as_str().unwrap_or(code));
    problem = match (said["retryAfterMs"].as_u64(), said["retriable"].as_bool()) {
        (Some(millis), _) => problem.retry_after_ms(millis),
        (None, Some(retriable)) => problem.member("is_retriable", retriable),
        (None, None) => problem,
    };
    for (ours, theirs) in [("trace_id", "traceId"), ("operation", "operation")] {
        if let Some(value) = said.get(theirs) {
            problem = problem.member(ours, value.clone());
        }
    }
    if let Some(instead) = said.get("instead") {
        problem = problem.member("next_operation", instead.clone());
    }
    let fields = said["fields"].as_array().map_or(&[][..], Vec::as_slice);
    if !fields.is_empty() {
        problem = problem.member("errors", fields.iter().map(field).collect::<Value>());
    }
    Some(problem.member("suggestions", suggestions(code, said)))
}

/// Returns what is wrong with one argument, with the member names of the REST API.
fn field(field: &Value) -> Value {
    let names = [
        ("pointer", "pointer"),
        ("reason", "problem"),
        ("expected", "expected"),
        ("valid_values", "validValues"),
    ];
    let told = names.into_iter().filter_map(|(ours, theirs)| {
        field.get(theirs).map(|value| (ours.to_owned(), value.clone()))
    });
    Value::Object(told.collect())
}

/// Returns what to do next, the most likely first.
fn suggestions(code: &str, said: &Value) -> Value {
    let mut all = Vec::new();
    if let Some(tool) = said["instead"]["tool"].as_str() {
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
    if let Some(millis) = said["retryAfterMs"].as_u64() {
        all.push(format!("Try again in {} s.", millis.div_ceil(1000)));
    }
    all.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(said: &Value) -> Option<Problem> {
        let meta = json!({(extension::ERROR): said});
        let content = json!([{"type": "text", "text": "No."}]);
        let result = Object::new().with("content", &content).with("_meta", &meta);
        problem(&result)
    }

    #[test]
    fn server_error_code_maps_to_its_http_status() {
        for (code, status) in [
            (code::RESULT_EXPIRED, 410),
            (code::RESULT_TOO_LARGE, 410),
            (code::ABANDONED, 410),
            (code::PLAN_STALE, 409),
            (code::QUOTA_EXCEEDED, 429),
            (code::BUSY, 503),
        ] {
            let said =
                json!({"code": code, "raisedBy": "server", "retriable": false, "traceId": "t"});
            let problem = told(&said).unwrap();
            assert_eq!(problem.status().as_u16(), status, "{code}");
            let body = problem.body();
            assert_eq!((&body["code"], &body["detail"]), (&json!(code), &json!("No.")));
            assert_eq!((&body["is_retriable"], &body["trace_id"]), (&json!(false), &json!("t")));
            assert!(body["suggestions"].is_array());
        }
    }

    #[test]
    fn busy_for_one_caller_is_status_429() {
        let said = json!({"code": code::BUSY, "raisedBy": "server", "scope": "caller", "retryAfterMs": 1000});
        let problem = told(&said).unwrap();
        assert_eq!(problem.status().as_u16(), 429);
        assert_eq!(problem.body()["retry_after_ms"], 1000);
    }

    #[test]
    fn tool_error_stays_a_result() {
        assert!(told(&json!({"code": code::DENIED})).is_none(), "a tool may use any word");
        for code in [code::FAILED, code::INTERNAL, code::RESULT_INVALID, "own"] {
            assert!(told(&json!({"code": code, "raisedBy": "server"})).is_none(), "{code}");
        }
    }
}
