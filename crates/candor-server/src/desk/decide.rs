//! Records what an operator decides: on an approval request, and on an operation whose outcome is unknown.

use candor_ledger::{
    ApprovalChannel, AuditContext, Event, EventError, EventReply, Resolution, Review, StateKind,
    Store,
};

use super::shown::shown;
use super::{ApprovalRequest, OperationView, OperatorError, state};

/// Approves or denies exactly the request that was shown. `through` names where the decision was made: a command, a page.
///
/// # Errors
/// Another reviewer was faster, or the request changed or ended. Then nothing was recorded.
pub async fn decide(
    store: &dyn Store,
    waiting: &ApprovalRequest,
    by: &str,
    decision: Review,
    through: &str,
) -> Result<(), OperatorError> {
    let event = Event::Decide {
        question: waiting.question,
        by: by.to_owned(),
        via: ApprovalChannel::Operator,
        decision,
    };
    let note = AuditContext { note: Some(through.into()), ..Default::default() };
    let id = waiting.short();
    let refused = |words: String| Err(OperatorError::Refused(words));
    match store.apply(&waiting.id, event, note).await? {
        EventReply::Done => Ok(()),
        EventReply::Refused(EventError::AskedAnew) => refused(format!(
            "Not recorded: request {id} changed. Review it again: candor approvals show {id}"
        )),
        EventReply::Refused(EventError::Decided { by, via, stands }) => refused(format!(
            "Not recorded: {} already {} {id}{}.",
            shown(&by),
            if stands == StateKind::Denied { "denied" } else { "approved" },
            if via == ApprovalChannel::Client { " via client" } else { "" },
        )),
        EventReply::Refused(EventError::NotWaiting(kind)) => {
            refused(format!("Not recorded: request {id} has ended. State: {}.", state::label(kind)))
        }
        other => refused(format!("the ledger refused it: {other:?}")),
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
        EventReply::Refused(EventError::NotUnknown(kind)) => Err(meanwhile(operation, kind)),
        other => Err(OperatorError::Refused(format!("the ledger refused it: {other:?}"))),
    }
}

/// Returns the error for an operation that changed after it was shown.
pub fn meanwhile(operation: &OperationView, kind: StateKind) -> OperatorError {
    let (id, words) = (operation.short(), state::label(kind));
    OperatorError::Refused(format!(
        "Not recorded: operation {id} changed. State: {words}. See: candor history show {id}"
    ))
}
