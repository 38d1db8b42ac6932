//! What an operator decides: on an approval request, and on an operation whose outcome is unknown.

use candor_ledger::{
    Answer, Circumstances, Decision, Event, Refusal, Resolution, StateKind, Store, Via,
};

use super::shown::shown;
use super::{Operation, Problem, Waiting, state};

/// Approves or denies exactly the request that was shown. `through` names where: a command, a page.
///
/// # Errors
/// Another reviewer was faster, or the request changed or ended. Then nothing was recorded.
pub async fn decide(
    store: &dyn Store,
    waiting: &Waiting,
    by: &str,
    decision: Decision,
    through: &str,
) -> Result<(), Problem> {
    let event = Event::Decide {
        question: waiting.question,
        by: by.to_owned(),
        via: Via::Operator,
        decision,
    };
    let note = Circumstances { note: Some(through.into()), ..Default::default() };
    let id = waiting.short();
    let refused = |words: String| Err(Problem::Refused(words));
    match store.apply(&waiting.id, event, note).await? {
        Answer::Done => Ok(()),
        Answer::Refused(Refusal::AskedAnew) => refused(format!(
            "Not recorded: request {id} changed. Review it again: candor approvals show {id}"
        )),
        Answer::Refused(Refusal::Decided { by, via, stands }) => refused(format!(
            "Not recorded: {} already {} {id}{}.",
            shown(&by),
            if stands == StateKind::Denied { "denied" } else { "approved" },
            if via == Via::Client { " via client" } else { "" },
        )),
        Answer::Refused(Refusal::NotWaiting(kind)) => {
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
    operation: &Operation,
    by: &str,
    resolution: Resolution,
    through: &str,
) -> Result<(), Problem> {
    let note = Circumstances { note: Some(through.into()), ..Default::default() };
    let event = Event::Resolve { by: by.to_owned(), resolution };
    match store.apply(&operation.id, event, note).await? {
        Answer::Done => Ok(()),
        Answer::Refused(Refusal::NotUnknown(kind)) => Err(meanwhile(operation, kind)),
        other => Err(Problem::Refused(format!("the ledger refused it: {other:?}"))),
    }
}

/// Its state changed after it was shown.
pub fn meanwhile(operation: &Operation, kind: StateKind) -> Problem {
    let (id, words) = (operation.short(), state::label(kind));
    Problem::Refused(format!(
        "Not recorded: operation {id} changed. State: {words}. See: candor history show {id}"
    ))
}
