//! What the ledger knows, in words for people. Programs get the ledger's own words.

use candor_ledger::{AuditRow, CallError, OutcomeKind, Reason, Record, State, StateKind, Via};

use super::shown::cut;

/// Letters of an error's message in a line.
const LETTERS: usize = 120;

/// Where an operation stands. Nothing: its time is over.
pub fn state(record: Option<&Record>) -> &'static str {
    match record.map(|record| &record.state) {
        None => "forgotten",
        Some(State::Completed { outcome, .. }) => ended(outcome.kind),
        Some(_) if record.is_some_and(has_failed) => ended(OutcomeKind::Failure),
        Some(other) => kind(other.kind()),
    }
}

/// Whether its last attempt failed without an effect, so that its key may be used again.
pub fn has_failed(record: &Record) -> bool {
    matches!(record.state, State::Open { .. }) && record.error.is_some()
}

/// An error, as one line.
pub fn error(error: &CallError) -> String {
    let line = error.message.lines().next().unwrap_or_default();
    format!("{}: {}", error.code, cut(line, LETTERS))
}

/// How a call ended.
pub fn ended(outcome: OutcomeKind) -> &'static str {
    match outcome {
        OutcomeKind::Success => "done",
        OutcomeKind::Failure => "failed",
        OutcomeKind::Invalid => "invalid result",
    }
}

/// Where an operation stands, as far as its kind tells.
pub fn kind(kind: StateKind) -> &'static str {
    match kind {
        StateKind::Absent => "forgotten",
        StateKind::Open => "not done",
        StateKind::Waiting => "waiting for approval",
        StateKind::Approved => "approved, not started",
        StateKind::Denied => "denied",
        StateKind::Claimed => "starting",
        StateKind::Dispatched => "running",
        StateKind::Suspended => "waiting for an answer",
        StateKind::Completed => "ended",
        StateKind::Indeterminate => "outcome UNKNOWN",
        StateKind::Tombstone => "expired",
        StateKind::Abandoned => "abandoned",
    }
}

/// Why nobody knows what came of a call.
pub fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::LeaseEnded => "its process was not heard of in time",
        Reason::Panicked => "it panicked",
        Reason::Stopped => "its process was stopped while it ran",
        Reason::NotResumed => "it had asked something, and no answer came in time",
        Reason::Lost => "what it ran on was lost",
        Reason::Failed => "it failed, and its error was not kept",
    }
}

/// How a decision came, if that should be known to who reads of it.
fn on_which_way(via: Option<Via>) -> &'static str {
    match via {
        Some(Via::Client) => " through the caller's own client",
        Some(Via::Operator) | None => "",
    }
}

/// What happened, in a row of the audit. May hold text of others.
pub fn event(row: &AuditRow) -> String {
    let (from, to) = (row.change.map(|change| change.from), row.change.map(|change| change.to));
    let why = row.reason.map_or("nobody knows why", reason);
    let by = row.by.as_deref().unwrap_or("an operator");
    let ended = row.outcome.map_or("ended", ended);
    let failed = row.circumstances.error.as_ref().map(|of| format!(": {}", error(of)));
    let failed = failed.unwrap_or_default();
    match (row.event.as_str(), to) {
        ("ask", Some(_)) => "a person is asked".to_owned(),
        ("decide", Some(StateKind::Denied)) => {
            let why = row.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("{by} denied it{}{why}", on_which_way(row.via))
        }
        ("decide", Some(_)) => format!("{by} approved it{}", on_which_way(row.via)),
        ("claim", Some(_)) => "about to start".to_owned(),
        ("start", Some(_)) if row.by.is_some() => format!("started, approved by {by}"),
        ("start" | "dispatch", Some(_)) => "started".to_owned(),
        ("release", Some(_)) => "not started after all".to_owned(),
        ("suspend", Some(_)) => "asked something".to_owned(),
        ("resume", Some(_)) => "answered, goes on".to_owned(),
        ("complete", Some(_)) => format!("{ended}{failed}"),
        ("left", None) => "its caller left before it ended".to_owned(),
        ("unknown", Some(_)) | ("lapse", Some(StateKind::Indeterminate)) => {
            format!("outcome UNKNOWN: {why}")
        }
        ("discard", Some(_)) => format!("failed without harm, may start again{failed}"),
        ("resolve", Some(StateKind::Completed)) => format!("{by} said: {ended}"),
        ("resolve", Some(StateKind::Open)) => format!("{by} said: not done, may start once more"),
        ("resolve", Some(StateKind::Abandoned)) => format!("{by} said: abandoned"),
        ("lapse", _) if from == Some(StateKind::Waiting) => "nobody decided in time".to_owned(),
        ("lapse", _) if from == Some(StateKind::Approved) => {
            "the approval ran out before it was used".to_owned()
        }
        ("lapse", _) if from == Some(StateKind::Denied) => "the denial ran out".to_owned(),
        ("lapse", Some(StateKind::Open)) => "was about to start, and did not".to_owned(),
        ("lapse", Some(StateKind::Tombstone)) => "result no longer kept".to_owned(),
        ("lapse", Some(StateKind::Absent)) => "forgotten".to_owned(),
        ("grant", None) => format!("{by} permitted such calls for a while"),
        ("revoke", None) => format!("{by} took a permission back"),
        // A note of the server, or an event of a later version.
        (word, None) if row.outcome.is_some() => format!("{word}: {ended}"),
        (word, _) => word.to_owned(),
    }
}
