//! Explains a call without running it: whether its arguments are valid, its effect, and the decision on it.

use axum::response::Response;
use candor_operator::{StateWord, state, when};
use candor_server::hints::{EffectiveHints, HintSource};
use candor_server::store::Key;
use candor_server::tool::{Violation, code};
use candor_server::{Call, Decision, RecordStatus, ToolView, View};
use http::StatusCode;
use serde_json::{Value, json};

use super::{body, json, refused};
use crate::Inner;
use crate::problem::Problem;
use crate::request::ConsoleRequest;

/// The keyword of an error that no keyword of the schema explains.
const NO_KEYWORD: &str = "validation";

pub(super) async fn validate(
    console: &Inner,
    asked: &ConsoleRequest,
    view: &View,
    name: &str,
) -> Result<Response, Problem> {
    view.tool(name).await.map_err(refused::problem)?;
    let key = body::key(console, asked)?;
    let decision = decide(console, asked, view, name, key).await.map_err(|problem| {
        // A client that reads only `valid` finds it.
        let keyword = match problem.status() {
            StatusCode::BAD_REQUEST | StatusCode::UNSUPPORTED_MEDIA_TYPE => "format",
            _ => NO_KEYWORD,
        };
        let error = json!({"path": "", "message": problem.detail(), "keyword": keyword});
        problem.member("valid", false).member("errors", json!([error]))
    })?;
    let said = match &decision.problems[..] {
        [] => json!({"valid": true}),
        invalid => json!({"valid": false, "errors": errors(invalid)}),
    };
    Ok(json(said.to_string()))
}

pub(super) async fn annotations(
    console: &Inner,
    asked: &ConsoleRequest,
    view: &View,
    name: &str,
) -> Result<Response, Problem> {
    let tool = view.tool(name).await.map_err(refused::problem)?;
    let key = body::key(console, asked)?;
    let decision = decide(console, asked, view, name, key).await?;
    Ok(json(told(&decision, &tool).to_string()))
}

async fn decide(
    console: &Inner,
    asked: &ConsoleRequest,
    view: &View,
    name: &str,
    key: Option<Key>,
) -> Result<Decision, Problem> {
    let arguments = body::decoded(&body::arguments(console, asked)?)?;
    let call = Call { key, ..Call::new(name, arguments) };
    view.decide(&call).await.map_err(refused::problem)
}

fn errors(invalid: &[Violation]) -> Value {
    let told = invalid.iter().map(|violation| {
        let keyword = violation.keyword.unwrap_or(NO_KEYWORD);
        json!({"path": violation.pointer, "message": violation.problem, "keyword": keyword})
    });
    told.collect()
}

/// Returns everything that is known about a call, for programs.
pub(crate) fn told(decision: &Decision, tool: &ToolView<'_>) -> Value {
    let EffectiveHints { hints, sources } = decision.effect;
    let [read_only, destructive, idempotent, open_world] = sources.map(HintSource::as_str);
    let mut told = json!({
        "valid": decision.problems.is_empty(),
        "errors": errors(&decision.problems),
        "annotations": decision.annotations,
        "sources": {
            "readOnlyHint": read_only,
            "destructiveHint": destructive,
            "idempotentHint": idempotent,
            "openWorldHint": open_world,
        },
        "effect": hints.effect().as_str(),
        "summary": decision.effect.summary(),
        "exact": decision.exact,
        "verdict": decision.verdict.as_str(),
        "decision": decision.next.as_str(),
        "decisionId": decision.id,
        "record": decision.record.as_ref().map(record),
    });
    for (name, other) in [("preview", tool.preview), ("undo", tool.undo)] {
        if let Some(other) = other {
            told[name] = other.into();
        }
    }
    told
}

/// Returns what the ledger has about the call. Its state is the word of [`state`], or the code of the refusal.
fn record(record: &RecordStatus) -> Value {
    let word = |state: StateWord| state.as_str();
    match record {
        RecordStatus::Replay { outcome, completed } => {
            json!({"state": state::outcome(*outcome), "completedAt": when::exact(*completed)})
        }
        RecordStatus::Running { since: Some(since) } => {
            json!({"state": word(StateWord::Running), "since": when::exact(*since)})
        }
        RecordStatus::Running { since: None } => json!({"state": word(StateWord::Running)}),
        RecordStatus::InputRequired => json!({"state": word(StateWord::InputRequired)}),
        RecordStatus::Waiting { operation } => {
            json!({"state": word(StateWord::ApprovalRequired), "operation": operation})
        }
        RecordStatus::Approved { by } => json!({"state": word(StateWord::Approved), "by": by}),
        RecordStatus::Denied { by, reason: Some(reason) } => {
            json!({"state": word(StateWord::Denied), "by": by, "reason": reason})
        }
        RecordStatus::Denied { by, reason: None } => {
            json!({"state": word(StateWord::Denied), "by": by})
        }
        RecordStatus::Unknown => json!({"state": word(StateWord::OutcomeUnknown)}),
        RecordStatus::Expired => json!({"state": word(StateWord::ResultExpired)}),
        RecordStatus::Abandoned => json!({"state": word(StateWord::Abandoned)}),
        RecordStatus::TooLarge => json!({"state": code::RESULT_TOO_LARGE}),
        RecordStatus::Reused => json!({"state": code::KEY_REUSED}),
        // A future status has no word here yet.
        _ => json!({"state": code::LEDGER_UNAVAILABLE}),
    }
}
