//! Records an unknown outcome, with the result that an operator reports: a tool result that fits any era.

use candor_ledger::{
    AuditContext, Event, EventError, EventReply, LedgerLimits, OutcomeKind, Record, RecordState,
    Resolution, StateKind, Store, StoredResult,
};
use candor_protocol::json::{Decode as _, Json, Malformed, scan};
use candor_protocol::types::{CallToolResult, Content};

use crate::error::OperatorError;
use crate::operation::OperationView;
use crate::state;

/// Maximum nesting of a result, as in a server.
const DEPTH: usize = 127;

/// The result that an operator reports.
pub enum ReportedResult<'a> {
    /// A complete tool result, or a value to make one from.
    Json(&'a str),
    /// A text to make a result from.
    Text(&'a str),
    /// No result.
    Nothing,
}

impl ReportedResult<'_> {
    /// Returns the result to store. If `failed` is true, it is an error.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub fn outcome(&self, failed: bool) -> Result<StoredResult, String> {
        let mut result = match self {
            Self::Json(text) => {
                let json = scan(text.as_bytes(), DEPTH).map_err(|error| error.to_string())?;
                from_json(json).map_err(|error| error.to_string())?
            }
            Self::Text(text) => CallToolResult::new(vec![Content::text(*text)]),
            Self::Nothing => CallToolResult::new(vec![Content::text(if failed {
                "An operator recorded that this call failed. Its error is not known."
            } else {
                "An operator recorded that this call succeeded. Its result is not known."
            })]),
        };
        if failed {
            result.is_error = Some(true);
        }
        let kind = match result.is_error {
            Some(true) => OutcomeKind::Failure,
            _ => OutcomeKind::Success,
        };
        let bytes = serde_json::to_vec(&result).map_err(|error| error.to_string())?;
        let most = LedgerLimits::default().max_outcome;
        if bytes.len() as u64 > most {
            return Err(format!("it has {} bytes, and at most {most} are kept", bytes.len()));
        }
        Ok(StoredResult::new(kind, bytes))
    }
}

fn from_json(json: Json<'_>) -> Result<CallToolResult, Malformed> {
    let content = json.entries().find(|(name, _)| name == "content").map(|(_, value)| value);
    if content.is_some_and(|content| content.items().is_ok()) {
        return CallToolResult::decode(json);
    }
    let mut result = CallToolResult::new(vec![Content::text(json.text())]);
    if json.text().starts_with('{') {
        result.structured_content = Some(json.to_raw());
    }
    Ok(result)
}

/// Returns an error unless the outcome of the operation is unknown.
///
/// # Errors
/// The outcome is known, or no attempt has started.
pub fn ensure_unknown(operation: &OperationView) -> Result<(), OperatorError> {
    match operation.state() {
        Some(RecordState::Indeterminate { .. }) => Ok(()),
        _ => {
            let (id, state) = (operation.short(), operation.label());
            Err(OperatorError::AlreadyResolved { id, state })
        }
    }
}

/// Records the outcome of an operation whose outcome is unknown.
///
/// # Errors
/// Its outcome is known by now, or its state changed. Then nothing was recorded.
pub async fn resolve(
    store: &dyn Store,
    operation: &OperationView,
    by: &str,
    resolution: Resolution,
    through: &str,
) -> Result<(), OperatorError> {
    let note = AuditContext { note: Some(through.into()), ..Default::default() };
    let event = Event::Resolve { by: by.to_owned(), resolution };
    match store.apply(&operation.id, event, note).await? {
        EventReply::Done => Ok(()),
        EventReply::Refused(EventError::NotUnknown(kind)) => Err(changed(operation, kind)),
        other => Err(OperatorError::UnexpectedReply(Box::new(other))),
    }
}

/// Returns an error if the record changed after the operation was shown. Its owner may have returned, or another operator may have
/// resolved it so that the call started again.
///
/// # Errors
/// The record changed.
pub fn ensure_unchanged(operation: &OperationView, now: &Record) -> Result<(), OperatorError> {
    match &operation.record {
        Some(then) if (then.fence, then.state.kind()) == (now.fence, now.state.kind()) => Ok(()),
        _ => Err(changed(operation, now.state.kind())),
    }
}

fn changed(operation: &OperationView, kind: StateKind) -> OperatorError {
    OperatorError::OperationChanged { id: operation.short(), state: state::label(kind) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_ledger::Body;

    fn stored(given: &ReportedResult<'_>, failed: bool) -> (OutcomeKind, String) {
        let outcome = given.outcome(failed).unwrap();
        let Body::Kept(bytes) = outcome.body else { panic!() };
        (outcome.kind, String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[test]
    fn complete_result_is_stored_unchanged() {
        let whole = r#"{"content":[{"type":"text","text":"x"}],"structuredContent":{"n":12345678901234567890123},"odd":1}"#;
        assert_eq!(
            stored(&ReportedResult::Json(whole), false),
            (OutcomeKind::Success, whole.to_owned())
        );
        let failed = r#"{"content":[],"isError":true}"#;
        assert_eq!(
            stored(&ReportedResult::Json(failed), false),
            (OutcomeKind::Failure, failed.to_owned())
        );
        let (kind, text) = stored(&ReportedResult::Json(whole), true);
        assert!(kind == OutcomeKind::Failure && text.contains(r#""isError":true"#), "{text}");
    }

    #[test]
    fn any_json_or_text_becomes_a_tool_result() {
        let (_, text) = stored(&ReportedResult::Json(r#" {"number": 4711} "#), false);
        assert_eq!(
            text,
            r#"{"content":[{"type":"text","text":"{\"number\": 4711}"}],"structuredContent":{"number": 4711}}"#
        );
        let (_, text) = stored(&ReportedResult::Json("[1]"), false);
        assert_eq!(text, r#"{"content":[{"type":"text","text":"[1]"}]}"#);
        let (_, text) = stored(&ReportedResult::Text("paid"), false);
        assert_eq!(text, r#"{"content":[{"type":"text","text":"paid"}]}"#);
    }

    #[test]
    fn malformed_result_is_refused() {
        for (bad, problem) in [
            ("{", "byte"),
            (r#"{"a":1,"a":2}"#, "duplicate"),
            (r#"{"content":[{"type":"text"}]}"#, "/content/0"),
            (r#"{"content":[],"isError":"yes"}"#, "/isError"),
        ] {
            let told = ReportedResult::Json(bad).outcome(false).unwrap_err();
            assert!(told.contains(problem), "{bad}: {told}");
        }
        assert!(ReportedResult::Text(&"x".repeat(2 << 20)).outcome(false).is_err());
    }
}
