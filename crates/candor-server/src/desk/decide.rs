//! An operator's word: on a call that waits, and on a call of which nobody knows what came of it.

use candor_ledger::{
    Answer, Circumstances, Decision, Event, Refusal, Resolution, StateKind, Store, Via,
};

use super::shown::shown;
use super::{Operation, Problem, Waiting, words};

/// Says yes or no to exactly the question that was shown. `through` is where it was said: a command, a page.
///
/// # Errors
/// Somebody was quicker, the question is another one by now, or nobody waits for a decision any more. Then nothing was decided.
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
            "nothing was decided: {id} has changed since it was shown, and something else is asked by now. Look again: candor approvals show {id}"
        )),
        Answer::Refused(Refusal::Decided { by, via, stands }) => refused(format!(
            "nothing was decided: somebody was quicker. {id} is {}, says {}{}",
            if stands == StateKind::Denied { "denied" } else { "approved" },
            shown(&by),
            if via == Via::Client { " through the caller's own client" } else { "" },
        )),
        Answer::Refused(Refusal::NotWaiting(kind)) => refused(format!(
            "nothing was decided: {id} waits no longer and stands at `{}`",
            words::kind(kind)
        )),
        other => refused(format!("the ledger did not take it: {other:?}")),
    }
}

/// Says what came of a call of which nobody knew.
///
/// # Errors
/// It is known by now, or something else has happened to it. Then nothing was changed.
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
        other => Err(Problem::Refused(format!("the ledger did not take it: {other:?}"))),
    }
}

/// It stands elsewhere by now.
pub fn meanwhile(operation: &Operation, kind: StateKind) -> Problem {
    let (id, words) = (operation.short(), words::kind(kind));
    Problem::Refused(format!(
        "{id} has changed in the meantime and stands at `{words}` now; nothing was changed. Look again: candor history show {id}"
    ))
}
