//! Texts for users about what the ledger knows. For states see [`state`].

use candor_ledger::{ApprovalChannel, AuditRow, CallError, StateKind, UnknownReason};

use super::shown::cut;
use crate::state::{self, StateWord};

/// Maximum characters of an error's message in a line.
const LETTERS: usize = 120;

/// Returns an error as one line.
pub fn error(error: &CallError) -> String {
    let line = error.message.lines().next().unwrap_or_default();
    format!("{}: {}", error.code, cut(line, LETTERS))
}

/// Returns why the outcome of a call is unknown.
pub fn reason(reason: UnknownReason) -> &'static str {
    match reason {
        UnknownReason::LeaseEnded => "the server stopped responding",
        UnknownReason::Panicked => "the handler crashed",
        UnknownReason::Stopped => "the server shut down",
        UnknownReason::NotResumed => "no input arrived in time",
        UnknownReason::Lost => "the process was lost",
        UnknownReason::Failed => "the error was not stored",
    }
}

/// Returns the approval channel, if a reader should know it.
fn channel(via: Option<ApprovalChannel>) -> &'static str {
    match via {
        Some(ApprovalChannel::Client) => " via client",
        Some(ApprovalChannel::Operator) | None => "",
    }
}

/// Returns what an audit row reports. It may contain untrusted text.
pub fn event(row: &AuditRow) -> String {
    let (from, to) = (row.change.map(|change| change.from), row.change.map(|change| change.to));
    let why = row.reason.map_or("no reason recorded", reason);
    let by = row.by.as_deref().unwrap_or("an operator");
    let ended = row.outcome.map_or("Completed", |outcome| StateWord::of_outcome(outcome).label());
    let failed = row.circumstances.error.as_ref().map(|of| format!(": {}", error(of)));
    let failed = failed.unwrap_or_default();
    match (row.event.as_str(), to) {
        ("ask", Some(_)) => "Approval requested".to_owned(),
        ("decide", Some(StateKind::Denied)) => {
            let why = row.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("Denied by {by}{}{why}", channel(row.via))
        }
        ("decide", Some(_)) => format!("Approved by {by}{}", channel(row.via)),
        ("claim", Some(_)) => "Starting".to_owned(),
        ("start", Some(_)) if row.by.is_some() => format!("Started, approved by {by}"),
        ("start" | "dispatch", Some(_)) => "Started".to_owned(),
        ("release", Some(_)) => "Not started".to_owned(),
        ("suspend", Some(_)) => "Input requested".to_owned(),
        ("resume", Some(_)) => "Resumed with input".to_owned(),
        ("complete", Some(_)) => format!("{ended}{failed}"),
        ("left", None) => "Disconnected".to_owned(),
        ("unknown", Some(_)) | ("lapse", Some(StateKind::Indeterminate)) => {
            format!("Outcome unknown: {why}")
        }
        ("discard", Some(_)) => format!("Failed without effect, may start again{failed}"),
        ("resolve", Some(StateKind::Completed)) => format!("Resolved by {by}: {ended}"),
        ("resolve", Some(kind)) => format!("Resolved by {by}: {}", state::label(kind)),
        ("lapse", _) if from == Some(StateKind::Waiting) => "Approval request expired".to_owned(),
        ("lapse", _) if from == Some(StateKind::Approved) => "Approval expired unused".to_owned(),
        ("lapse", _) if from == Some(StateKind::Denied) => "Denial expired".to_owned(),
        ("lapse", Some(StateKind::Open)) => "Start abandoned, not run".to_owned(),
        ("lapse", Some(kind)) => state::label(kind).to_owned(),
        ("grant", None) => format!("Granted by {by}"),
        ("revoke", None) => format!("Grant revoked by {by}"),
        // A note of the server, or an event of a later version.
        (word, None) if row.outcome.is_some() => format!("{}: {ended}", titled(word)),
        (word, _) => titled(word),
    }
}

/// Returns the word of an event as a label: `replayed` as `Replayed`.
fn titled(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect::<String>().replace('_', " ")
    })
}
