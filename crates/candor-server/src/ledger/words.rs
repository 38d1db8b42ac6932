//! The errors for callers whose call does not start, by what the ledger knows of its key.

use std::sync::Once;
use std::time::Duration;

use candor_ledger::{Grant, Key, Moment, StoreError, UnknownReason};

use crate::decision::DecisionId;
use crate::desk::words::reason as why;
use crate::people::when::{self, written};
use crate::room::AtCapacity;
use crate::tool::{ToolError, code};

/// Maximum retry delay for a running call.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// Retry delay for a ledger that is unavailable.
const TRY_AGAIN: Duration = Duration::from_secs(5);

pub(super) fn key_reused(key: &Key) -> ToolError {
    ToolError::new(format!(
        "Key {key} was already used with different arguments. Nothing was run. Use a new key."
    ))
    .code(code::KEY_REUSED)
    .never_retry()
}

pub(super) fn in_progress(since: Option<Moment>, retry_after: Duration) -> ToolError {
    let since = since.map(|since| format!(" since {}", written(since))).unwrap_or_default();
    ToolError::new(format!(
        "This call is running{since}. To get its result, repeat it with the same arguments and the same key."
    ))
    .code(code::IN_PROGRESS)
    .retry_after(retry_after.clamp(Duration::from_secs(1), ASK_AGAIN))
}

/// Returns the error for a call whose owner missed a lease renewal. Its outcome is not known before the lease ends.
pub(super) fn owner_silent(ends_in: Duration) -> ToolError {
    ToolError::new(
        "The server that ran this call stopped responding. The call may have run. When its lease ends, repeat it with the same \
         arguments and the same key.",
    )
    .code(code::IN_PROGRESS)
    .retry_after(ends_in.max(Duration::from_secs(1)))
}

pub(crate) fn waits_elsewhere() -> ToolError {
    ToolError::new("This call needs input, and the server asked another client for it.")
        .code(code::IN_PROGRESS)
        .retry_after(ASK_AGAIN)
}

/// Returns the error for an unknown outcome of a call that is safe to retry.
pub(super) fn may_be_repeated(reason: UnknownReason) -> ToolError {
    ToolError::new(format!(
        "Outcome unknown: {}. The call may have run. It is safe to retry: repeat it with the same key.",
        why(reason)
    ))
    .code(code::OUTCOME_UNKNOWN)
    .retry_after(Duration::from_secs(1))
}

pub(super) fn outcome_unknown(reason: UnknownReason, since: Option<Moment>) -> ToolError {
    let why = why(reason);
    let since = since.map(|since| format!(" ({})", written(since))).unwrap_or_default();
    ToolError::new(format!(
        "Outcome unknown: {why}{since}. The call may have run. Ask an operator to resolve it."
    ))
    .code(code::OUTCOME_UNKNOWN)
    .never_retry()
}

pub(super) fn expired(until: Moment) -> ToolError {
    ToolError::new(format!(
        "The record of this call expired. The call may have run. Its key stays used until {}. Use a new key for a new operation.",
        written(until)
    ))
    .code(code::RESULT_EXPIRED)
    .never_retry()
}

pub(super) fn omitted(bytes: u64, completed: Moment) -> ToolError {
    ToolError::new(format!(
        "The call ran. It ended at {}. Its result of {bytes} bytes was too large to store.",
        written(completed)
    ))
    .code(code::RESULT_TOO_LARGE)
    .never_retry()
}

/// Returns the error for a stored result that the server cannot read: another program wrote it.
pub(crate) fn unreadable() -> ToolError {
    ToolError::new(
        "The call ran. The server cannot read its stored result. Ask an operator to check the ledger.",
    )
    .code(code::RESULT_TOO_LARGE)
    .never_retry()
    .log("the ledger has no readable result of this call")
}

pub(super) fn abandoned(by: &str) -> ToolError {
    ToolError::new(format!(
        "An operator ({by}) abandoned this call: its outcome stays unknown. The call may have run. Use a new key for a new operation."
    ))
    .code(code::ABANDONED)
    .never_retry()
}

/// Returns the error for a tool that uses keys, from a tool source of a server without a ledger. With other such tools, the server
/// is not built.
pub(crate) fn nobody_remembers(tool: &str) -> ToolError {
    ToolError::new(format!(
        "{tool} uses idempotency keys, but this server has no ledger. Nothing was run."
    ))
    .code(code::LEDGER_UNAVAILABLE)
    .never_retry()
    .log("give the server a ledger with `.ledger(…)`")
}

/// Returns the error for a ledger that failed before the call started.
pub(crate) fn unavailable(error: &StoreError) -> ToolError {
    match error {
        StoreError::Quota(quota) => {
            ToolError::new(format!("Quota reached: {quota}. Nothing was run."))
                .code(code::QUOTA_EXCEEDED)
                .retry_after(Duration::from_secs(60))
        }
        replaced @ StoreError::Replaced(_) => {
            log_replaced(replaced);
            ToolError::new(
                "The server's ledger file was deleted or replaced while the server was running. Nothing was run. Ask the operator to \
                 restart the server.",
            )
            .code(code::LEDGER_UNAVAILABLE)
            .retry_after(Duration::from_secs(60))
        }
        other => ledger_unavailable().log(other),
    }
}
/// The ledger does not answer, or cannot write.
pub(crate) fn ledger_unavailable() -> ToolError {
    ToolError::new("This call needs the ledger, and the ledger is unavailable. Nothing was run.")
        .code(code::LEDGER_UNAVAILABLE)
        .retry_after(TRY_AGAIN)
}

/// Logs that the ledger is gone: once, because every call would log the same.
pub(super) fn log_replaced(error: &StoreError) {
    static LOGGED: Once = Once::new();
    LOGGED.call_once(
        || tracing::error!(%error, "the ledger file is gone, so calls that need it are refused"),
    );
}

pub(super) fn busy() -> ToolError {
    ToolError::new("Too many calls are running. Nothing was run.")
        .code(code::BUSY)
        .retry_after(Duration::from_secs(1))
}

/// Returns the error for a call that finds no free slot.
pub(super) fn full(full: AtCapacity) -> ToolError {
    match full {
        AtCapacity::Everybody => busy(),
        // Tells programs that the server may still serve other callers. Over HTTP, this is another status.
        AtCapacity::Caller => ToolError::new(
            "You have reached your limit of concurrent calls, background calls included. Nothing was run.",
        )
        .code(code::BUSY)
        .detail("scope", "caller".into())
        .retry_after(Duration::from_secs(1)),
    }
}

/// Returns the error for a call that started, and whose task is gone.
pub(super) fn lost() -> ToolError {
    outcome_unknown(UnknownReason::Lost, None)
}

/// Returns the error for a call that needs approval. The caller may read it after the review, so it tells what to do in either
/// case. `until` is when the request expires, and `valid` how long an approval holds.
pub(crate) fn approval_required(
    operation: &str,
    until: Option<Moment>,
    valid: Duration,
) -> ToolError {
    let until = until.map(|until| format!(", until {}", written(until))).unwrap_or_default();
    ToolError::new(format!(
        "Approval required (operation {operation}{until}). Nothing was run. Once an operator approves it, repeat the call with the same \
         arguments within {}.",
        when::length(valid)
    ))
    .code(code::APPROVAL_REQUIRED)
    .detail("operation", operation.into())
    .retry_after(Duration::from_secs(10))
}

/// Returns the audit text for a call that a grant covers.
pub(crate) fn permitted(grant: &Grant) -> String {
    format!("grant {} of {}", grant.id, grant.by)
}

pub(crate) fn denied(by: &str, reason: Option<&str>) -> ToolError {
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    ToolError::new(format!("A reviewer ({by}) denied this call{reason}. Nothing was run."))
        .code(code::DENIED)
        .never_retry()
}

/// Returns the error for a caller that expects an approval request that the server would not make.
pub(crate) fn decision_changed(tool: &str, grant: Option<&Grant>) -> ToolError {
    let why = match grant {
        Some(_) => "a grant now covers it",
        None => "the policy does not ask about it",
    };
    ToolError::new(format!(
        "The caller expected {tool} to need approval, but {why}. Nothing was run. Explain the call again \
         and ask the user."
    ))
    .code(code::DECISION_CHANGED)
    .detail("expected", "ask".into())
    .detail("decision", "allow".into())
    .never_retry()
}

/// The caller expects another decision. `now`: the next step of the present one.
pub(crate) fn other_decision(tool: &str, expected: DecisionId, now: &'static str) -> ToolError {
    ToolError::new(format!(
        "The decision about this call of {tool} changed after it was explained. Nothing was run. Explain the call again."
    ))
    .code(code::DECISION_CHANGED)
    .detail("expected", expected.to_string().into())
    .detail("decision", now.into())
    .never_retry()
}

/// The caller expects the approved call to run, and the approval is for a state that changed.
pub(crate) fn approved_state_changed(tool: &str) -> ToolError {
    ToolError::new(format!(
        "{tool} or the state that its preview shows changed after the approval. Nothing was run. Explain the call again."
    ))
    .code(code::DECISION_CHANGED)
    .detail("decision", "ask".into())
    .never_retry()
}

/// Returns the error for a call that the policy denies.
pub(crate) fn not_allowed(tool: &str) -> ToolError {
    ToolError::new(format!("This server denies calls of {tool}. Nothing was run."))
        .code(code::DENIED)
        .never_retry()
}

/// Returns the error for a call that needs approval on a server without a ledger. No channel means no.
pub(crate) fn nobody_to_ask(tool: &str) -> ToolError {
    ToolError::new(format!(
        "{tool} needs approval, but this server has no ledger. Nothing was run."
    ))
    .code(code::APPROVAL_UNAVAILABLE)
    .never_retry()
}

pub(crate) fn too_large_to_ask(len: u64, most: u64) -> ToolError {
    ToolError::new(format!(
        "This call needs approval, but its request is too large: {len} bytes, at most {most}. Nothing was run. Send smaller arguments."
    ))
    .code(code::APPROVAL_UNAVAILABLE)
    .never_retry()
}

pub(super) fn approval_gone() -> ToolError {
    ToolError::new("The approval of this call expired or was already used. Nothing was run. Repeat the call to request a new approval.")
        .code(code::APPROVAL_REQUIRED)
        .retry_after(Duration::from_secs(1))
}
