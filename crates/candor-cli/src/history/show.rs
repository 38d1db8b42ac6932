//! `candor history show ID`: all that is known of one operation. Nothing is truncated here.

use std::io;

use candor::operator::shown::shown;
use candor::operator::{OperationView, ReviewView, find_operation, hex, json, when, words};
use candor_ledger::{ApprovalChannel, Body, Moment, RecordState, StartReason, Store, StoredResult};

use crate::out::{CommandEnd, Out};

/// The JSON members that programs may rely on. `OperationView::full_json` in `candor-operator` writes them.
pub(crate) const MEMBERS: &str = "\
With --json, one object with the members of the list (see list --help) and these:
  fence, fingerprint  number of the last claim; digest of the arguments
  argumentTypes       names and types of the arguments
  hints               the effect of the call
  arguments           as operators may see them, if the server stores them (--keep-arguments)
  timeline            its audit rows (see export --help), the earliest first
  resultBytes         size of the result
  omittedDigest       SHA-256 of a result that was too large to keep
  result              as it is stored; while the state is input_required, the input that is requested";

#[derive(Debug, clap::Args)]
pub(crate) struct HistoryShowArgs {
    /// The first digits of its id, at least 4, or its key
    id: String,
}

pub(crate) async fn run(
    store: &dyn Store,
    args: &HistoryShowArgs,
    out: &mut Out,
) -> Result<(), CommandEnd> {
    let operation = find_operation(store, &args.id).await?.with_replays(store).await?;
    let now = when::now();
    if out.json {
        out.line(&operation.full_json(now))?;
        return Ok(());
    }
    facts(&operation, now, out)?;
    if let Some(arguments) = operation.arguments() {
        out.line("\narguments")?;
        out.line(&json::pretty(arguments, "  "))?;
    }
    timeline(&operation, out)?;
    result(&operation, out)?;
    advice(&operation, out)?;
    Ok(())
}

/// Prints what the operation is, and its state.
pub(crate) fn facts(operation: &OperationView, now: Moment, out: &mut Out) -> io::Result<()> {
    for line in lines(operation, now, |text| out.strong(text)) {
        out.line(&line)?;
    }
    Ok(())
}

/// Returns the facts as lines. `strong` marks an unknown outcome.
pub(crate) fn lines(
    operation: &OperationView,
    now: Moment,
    strong: impl Fn(&str) -> String,
) -> Vec<String> {
    let scope = &operation.id.scope;
    let unknown = operation.reason().is_some();
    let words = if unknown { strong(operation.label()) } else { operation.label().to_owned() };
    let mut lines = vec![format!("{}  {words}", shown(&scope.tool))];
    let mut fact = |name: &str, value: &str| lines.push(format!("  {name:<12} {value}"));
    let at = |moment: Moment| match (when::written(moment), when::ago(moment, now)) {
        (written, ago) if written == ago => written,
        (written, ago) => format!("{written} ({ago})"),
    };
    fact("id", &operation.digits());
    fact("key", &shown(operation.id.key.as_str()).to_string());
    fact("caller", &shown(&scope.principal).to_string());
    fact("server", &format!("{}  {}", shown(&scope.server), shown(&scope.instance)));
    if let Some(created) = operation.created() {
        fact("first seen", &at(created));
    }
    if let Some(since) = operation.since {
        fact("since", &at(since));
    }
    if let Some(reason) = operation.reason() {
        fact("reason", words::reason(reason));
    }
    if let Some(review) = operation.review() {
        fact("review", &reviewed(&review, &at(review.at)));
    }
    if let Some(error) = operation.error() {
        fact("error", &format!("{}: {}", shown(&error.code), shown(&error.message)));
    }
    // The review already names the operator.
    let by = operation.by().filter(|_| !is_reviewed(operation));
    if let Some(by) = by {
        fact("resolved by", &shown(by).to_string());
    }
    if let Some((name, until)) = until(operation) {
        fact(name, &when::written(until));
    }
    if let Some(record) = &operation.record {
        fact("attempts", &record.attempt.to_string());
        if record.idempotent {
            fact("idempotent", "safe to retry without a key");
        }
    }
    if let Some(took) = operation.took(now) {
        fact("duration", &when::length(took));
    }
    let shape = operation.told(|row| row.circumstances.shape.as_deref());
    if let Some(shape) = shape.filter(|_| operation.arguments().is_none()) {
        fact("arguments", &shown(shape).to_string());
    }
    if let Some(effect) = operation.effect() {
        fact("effect", &shown(&effect.summary()).to_string());
    }
    lines
}

/// Returns true if the state is itself a review.
fn is_reviewed(operation: &OperationView) -> bool {
    matches!(operation.state(), Some(RecordState::Approved { .. } | RecordState::Denied { .. }))
}

/// Returns who approved or denied the call, when and why.
fn reviewed(review: &ReviewView, at: &str) -> String {
    let through = match review.via {
        ApprovalChannel::Client => " via client",
        ApprovalChannel::Operator => "",
    };
    let reason = review.reason.as_deref().map(|reason| format!(": {}", shown(reason)));
    let (word, by) = (review.word(), shown(&review.by));
    format!("{word} by {by}{through}, {at}{}", reason.unwrap_or_default())
}

/// Returns when time alone will change the state, and a label for it.
fn until(operation: &OperationView) -> Option<(&'static str, Moment)> {
    let state = operation.state()?;
    let name = match state {
        RecordState::Claimed { .. } | RecordState::Dispatched { .. } => "lease ends",
        RecordState::Suspended { .. } | RecordState::Waiting { .. } => "expires",
        RecordState::Completed { .. } => "stored until",
        RecordState::Open { license: StartReason::First, .. } => "purged at",
        RecordState::Approved { .. } | RecordState::Open { .. } => "may start until",
        RecordState::Denied { .. } => "denied until",
        RecordState::Tombstone { .. } | RecordState::Abandoned { .. } => "key purged at",
        RecordState::Indeterminate { .. } => return None,
    };
    Some((name, operation.until()?))
}

fn timeline(operation: &OperationView, out: &mut Out) -> io::Result<()> {
    if operation.story.is_empty() {
        return out.line("\nIts audit rows are no longer stored.");
    }
    out.line("\ntimeline")?;
    for row in &operation.story {
        let mut line = format!("  {}  {}", when::written(row.at), shown(&words::event(row)));
        if let Some(change) = row.change.filter(|change| change.attempt > 1) {
            line += &format!(" (attempt {})", change.attempt);
        }
        if let Some(took) = row.circumstances.duration {
            line += &format!(" after {}", when::length(took));
        }
        if let Some(note) = row.circumstances.note.as_deref() {
            line += &format!("  [{}]", shown(note));
        }
        out.line(&line)?;
    }
    Ok(())
}

fn result(operation: &OperationView, out: &mut Out) -> io::Result<()> {
    let Some(StoredResult { body, .. }) = operation.outcome() else { return Ok(()) };
    let asked = matches!(operation.state(), Some(RecordState::Suspended { .. }));
    out.line(if asked { "\ninput requested" } else { "\nresult" })?;
    match body {
        Body::Kept(bytes) => match json::text(bytes) {
            Some(text) => out.line(&json::pretty(text, "  ")),
            None => {
                out.line(&format!("  {} bytes that are not JSON:", bytes.len()))?;
                out.line(&format!("  {}", shown(&String::from_utf8_lossy(bytes))))
            }
        },
        Body::Omitted { len, digest } => {
            out.line(&format!("  too large to store: {len} bytes, SHA-256 {}", hex(digest)))
        }
    }
}

fn advice(operation: &OperationView, out: &mut Out) -> io::Result<()> {
    let (id, same) = (operation.short(), out.same.clone());
    if let Some(RecordState::Waiting { .. }) = operation.state() {
        return out.line(&format!(
            "\nA reviewer must approve this call. Review it, then decide:\n  \
             candor approvals show {id}{same}\n  \
             candor approvals approve {id}{same}\n  \
             candor approvals deny {id}{same}"
        ));
    }
    if operation.reason().is_none() {
        return Ok(());
    }
    out.line(&format!(
        "\nThe call may have run. Check the external system, then record the outcome:\n  \
         candor history resolve {id} --succeeded [--result JSON | --text TEXT]{same}\n  \
         candor history resolve {id} --failed [--result JSON | --text TEXT]{same}\n  \
         candor history resolve {id} --not-run{same}\n  \
         candor history resolve {id} --abandoned{same}"
    ))
}
