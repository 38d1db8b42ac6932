//! Why the server does not run a call, or has no result of it. One table: code, words, status, retry advice.

use std::borrow::Cow;
use std::sync::Once;
use std::time::Duration;

use candor_ledger::{Key, Moment, Quota, StoreError, UnknownReason};
use candor_protocol::names::argument::{IDEMPOTENCY_KEY as KEY_ARGUMENT, PLAN_TOKEN};
use candor_schema::{Invalid, Violation};
use serde_json::Value;

use super::code;
use super::tool_error::{Retry, ToolError};
use crate::capacity::{AtCapacity, RateLimit};
use crate::display::{unknown_reason, when};

/// Why the server does not run a call, or has no result of it.
///
/// [`row`](Self::row) has the code, the status and the retry advice of each; [`words`](Self::words) has the sentence.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The caller has no tool of this name.
    UnknownTool(String),
    /// The caller's tools could not be determined. The log has the reason.
    ToolsUnavailable,
    /// The tool does not accept the arguments.
    InvalidArguments {
        /// The tool.
        tool: String,
        /// What is wrong.
        invalid: Invalid,
    },
    /// The tool requires an idempotency key, and the call has none.
    KeyRequired {
        /// The tool.
        tool: String,
    },
    /// The call has two different keys.
    KeysDiffer,
    /// The tool derives its keys from the arguments, and could not. Holds the reason, for the log.
    KeyUnderivable(String),
    /// The key was used with different arguments.
    KeyReused {
        /// The key.
        key: Key,
    },
    /// An attempt of this call runs.
    InProgress {
        /// When it started, if that is known.
        since: Option<Moment>,
        /// When to ask again.
        retry_after: Duration,
    },
    /// The server that ran the call stopped responding. Its outcome is not known before its lease ends.
    OwnerSilent {
        /// When the lease ends.
        ends_in: Duration,
    },
    /// The call waits for input that another client was asked for.
    InputElsewhere,
    /// The call started, and its outcome is unknown.
    OutcomeUnknown {
        /// Why it is unknown.
        reason: UnknownReason,
        /// Since when.
        since: Option<Moment>,
        /// The call is safe to retry.
        repeatable: bool,
    },
    /// The call ended, and its record expired.
    ResultExpired {
        /// Until when the key stays used.
        until: Moment,
    },
    /// The call ended, and its result was too large to store.
    ResultOmitted {
        /// The size of the result.
        bytes: u64,
        /// When the call ended.
        completed: Moment,
    },
    /// The call ended, and its stored result cannot be read: another program wrote it.
    ResultUnreadable,
    /// The call ended, and there is no capacity to hold its response.
    ResponseDropped {
        /// The size of the response.
        bytes: usize,
        /// Whose capacity is used up.
        scope: AtCapacity,
    },
    /// There is no capacity for the response that the call would have. Nothing was run.
    ResponseCapacity(AtCapacity),
    /// An operator abandoned the operation.
    Abandoned {
        /// The operator.
        by: String,
    },
    /// The tool uses keys, and the server has no ledger. Only a tool source returns such a tool: with other such tools, the server
    /// is not built.
    LedgerDisabled {
        /// The tool.
        tool: String,
    },
    /// The ledger does not answer, or cannot write. Holds the reason, for the log.
    LedgerUnavailable(Option<String>),
    /// The ledger file was deleted or replaced.
    LedgerReplaced,
    /// The caller has reached a quota of the ledger.
    QuotaExceeded(Quota),
    /// Too many calls are running.
    Busy(AtCapacity),
    /// Earlier calls of the serial group took too long.
    SerialTimeout {
        /// The group.
        group: String,
    },
    /// The rate limit of the tool does not allow the call.
    RateLimited {
        /// The tool.
        tool: String,
        /// The limit.
        rate: RateLimit,
        /// When the caller may call again.
        wait: Duration,
    },
    /// The caller asked for too many explanations.
    TooManyQuestions {
        /// When the caller may ask again.
        wait: Duration,
    },
    /// The call needs approval, and no reviewer has decided.
    ApprovalRequired {
        /// The first digits of the operation's id.
        operation: String,
        /// When the request expires.
        until: Option<Moment>,
        /// How long an approval holds.
        valid: Duration,
    },
    /// The approval of this call expired or was already used.
    ApprovalGone,
    /// The call needs approval, and the server has no ledger to store a request.
    ApprovalUnavailable {
        /// The tool.
        tool: String,
    },
    /// The call needs approval, and its request is too large to store.
    RequestTooLarge {
        /// Its size.
        bytes: u64,
        /// The maximum.
        most: u64,
    },
    /// A reviewer denied the call.
    Denied {
        /// The reviewer.
        by: String,
        /// The reviewer's reason.
        reason: Option<String>,
    },
    /// The policy denies the call.
    PolicyDenied {
        /// The tool.
        tool: String,
        /// The policy's reason, for the caller.
        reason: Option<String>,
    },
    /// A policy did not answer in time, or failed.
    PolicyUnavailable {
        /// The tool.
        tool: String,
    },
    /// The decision is not the one that the caller expects.
    DecisionChanged {
        /// The tool.
        tool: String,
        /// What changed.
        change: ChangedDecision,
    },
    /// The tool requires a preview first.
    PreviewRequired {
        /// The tool.
        tool: String,
        /// Its preview.
        preview: String,
        /// The arguments.
        arguments: Value,
    },
    /// The plan token is for another call, or it expired.
    PlanInvalid {
        /// The preview.
        preview: String,
        /// The arguments.
        arguments: Value,
    },
    /// The state changed after the preview.
    PlanStale {
        /// The preview.
        preview: String,
        /// The arguments.
        arguments: Value,
    },
    /// The preview failed just before the start, so the plan does not hold any more. Its own error tells why.
    PreviewFailed(ToolError),
    /// The handler took too long and was stopped.
    TimedOut,
    /// The state that a request brings was not made by this server for this request, or it expired.
    ResumeUnknown,
    /// The call does not wait for the answers that a request brings.
    ResumeInvalid,
    /// The server failed. The log has the reason.
    Internal,
}

/// How a decision differs from the one that the caller expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangedDecision {
    /// The caller expects an approval request, and a grant covers the call.
    Granted,
    /// The caller expects an approval request, and the policy does not ask.
    NotAsked,
    /// The caller expects the decision with this id.
    Other {
        /// The expected id.
        expected: String,
        /// The next step of the present decision.
        now: &'static str,
    },
    /// The approval is for a tool or a state that changed.
    State,
}

/// What programs get of a [`Refusal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusalRow {
    /// The code, the same on the wire, over REST and in the command line.
    pub code: &'static str,
    /// The status over REST.
    pub status: u16,
    /// Whether the same call may succeed later.
    pub retry: Retry,
}

/// Maximum retry delay for a running call.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// Retry delay for a ledger that is unavailable.
const TRY_AGAIN: Duration = Duration::from_secs(5);

const SECOND: Duration = Duration::from_secs(1);

impl Refusal {
    /// Returns the refusal for a ledger that failed before the call started.
    pub(crate) fn of_store(error: &StoreError) -> Self {
        match error {
            StoreError::Quota(quota) => Self::QuotaExceeded(*quota),
            replaced @ StoreError::Replaced(_) => {
                log_replaced(replaced);
                Self::LedgerReplaced
            }
            other => Self::LedgerUnavailable(Some(other.to_string())),
        }
    }

    /// Returns the refusal for a call whose task is gone.
    pub(crate) const fn lost() -> Self {
        Self::OutcomeUnknown { reason: UnknownReason::Lost, since: None, repeatable: false }
    }

    /// Returns the refusal for a key argument that is no key.
    pub(crate) fn invalid_key(tool: &str, problem: impl Into<String>) -> Self {
        Self::InvalidArguments { tool: tool.to_owned(), invalid: key_violation(problem).into() }
    }

    /// Returns the code, the status and the retry advice.
    #[must_use]
    pub fn row(&self) -> RefusalRow {
        use Retry::{After, Never, Unknown};
        let (code, status, retry) = match self {
            Self::UnknownTool(_) => ("tool_not_found", 404, Unknown),
            Self::ToolsUnavailable | Self::Internal => (code::INTERNAL, 500, Unknown),
            Self::InvalidArguments { .. } => (code::INVALID_ARGUMENTS, 422, Unknown),
            Self::KeyRequired { .. } => (code::KEY_REQUIRED, 400, Unknown),
            Self::KeysDiffer => (code::KEY_INVALID, 400, Never),
            Self::KeyUnderivable(_) => (code::KEY_INVALID, 400, Unknown),
            Self::KeyReused { .. } => (code::KEY_REUSED, 422, Never),
            Self::InProgress { retry_after, .. } => {
                (code::IN_PROGRESS, 409, After((*retry_after).clamp(SECOND, ASK_AGAIN)))
            }
            Self::OwnerSilent { ends_in } => {
                (code::IN_PROGRESS, 409, After((*ends_in).max(SECOND)))
            }
            Self::InputElsewhere => (code::IN_PROGRESS, 409, After(ASK_AGAIN)),
            Self::OutcomeUnknown { repeatable: true, .. } => {
                (code::OUTCOME_UNKNOWN, 409, After(SECOND))
            }
            Self::OutcomeUnknown { .. } => (code::OUTCOME_UNKNOWN, 409, Never),
            Self::ResultExpired { .. } => (code::RESULT_EXPIRED, 410, Never),
            Self::ResultOmitted { .. } | Self::ResultUnreadable => {
                (code::RESULT_TOO_LARGE, 410, Never)
            }
            Self::ResponseDropped { .. } => (code::RESULT_TOO_LARGE, 500, Unknown),
            Self::Abandoned { .. } => (code::ABANDONED, 410, Never),
            Self::LedgerDisabled { .. } => (code::LEDGER_UNAVAILABLE, 503, Never),
            Self::LedgerUnavailable(_) => (code::LEDGER_UNAVAILABLE, 503, After(TRY_AGAIN)),
            Self::LedgerReplaced => (code::LEDGER_UNAVAILABLE, 503, After(60 * SECOND)),
            Self::QuotaExceeded(_) => (code::QUOTA_EXCEEDED, 429, After(60 * SECOND)),
            // Only this caller must end something. The server may still serve others.
            Self::Busy(AtCapacity::Caller) | Self::ResponseCapacity(AtCapacity::Caller) => {
                (code::BUSY, 429, After(SECOND))
            }
            Self::Busy(_) | Self::ResponseCapacity(_) | Self::SerialTimeout { .. } => {
                (code::BUSY, 503, After(SECOND))
            }
            Self::RateLimited { wait, .. } => (code::RATE_LIMITED, 429, After(*wait)),
            Self::TooManyQuestions { wait } => (code::BUSY, 429, After(*wait)),
            Self::ApprovalRequired { .. } => (code::APPROVAL_REQUIRED, 403, After(10 * SECOND)),
            Self::ApprovalGone => (code::APPROVAL_REQUIRED, 403, After(SECOND)),
            Self::ApprovalUnavailable { .. } | Self::RequestTooLarge { .. } => {
                (code::APPROVAL_UNAVAILABLE, 403, Never)
            }
            Self::Denied { .. } | Self::PolicyDenied { .. } => (code::DENIED, 403, Never),
            Self::PolicyUnavailable { .. } => (code::POLICY_UNAVAILABLE, 503, After(TRY_AGAIN)),
            Self::DecisionChanged { .. } => (code::DECISION_CHANGED, 409, Never),
            Self::PreviewRequired { .. } => (code::PREVIEW_REQUIRED, 409, Unknown),
            Self::PlanInvalid { .. } => (code::PLAN_INVALID, 409, Unknown),
            Self::PlanStale { .. } | Self::PreviewFailed(_) => (code::PLAN_STALE, 409, Unknown),
            Self::TimedOut => (code::TIMED_OUT, 504, Unknown),
            Self::ResumeUnknown | Self::ResumeInvalid => ("resume_invalid", 400, Unknown),
        };
        RefusalRow { code, status, retry }
    }

    /// Returns the code.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::PreviewFailed(error) => error.error_code(),
            other => other.row().code,
        }
    }

    /// Returns what happened, whether the call ran, and what to do.
    #[must_use]
    pub fn words(&self) -> Cow<'static, str> {
        match self {
            Self::UnknownTool(name) => format!("Unknown tool: {name}").into(),
            Self::ToolsUnavailable => "The server could not get its tools".into(),
            Self::Internal => {
                "The request failed unexpectedly; the server's log says why".into()
            }
            Self::InvalidArguments { tool, invalid } => {
                format!("Invalid arguments for {tool}: {invalid}").into()
            }
            Self::KeyRequired { tool } => format!(
                "{tool} needs an idempotency key. Nothing was run. Send a new unique key (a UUID) in `{KEY_ARGUMENT}`, and the same \
                 key on every retry"
            )
            .into(),
            Self::KeysDiffer => {
                "The call has two different idempotency keys. Nothing was run. Send one key.".into()
            }
            Self::KeyUnderivable(_) => {
                "The server cannot derive a key from these arguments. Nothing was run.".into()
            }
            Self::KeyReused { key } => format!(
                "Key {key} was already used with different arguments. Nothing was run. Use a new key."
            )
            .into(),
            Self::InProgress { since, .. } => {
                let since =
                    since.map(|since| format!(" since {}", when::written(since))).unwrap_or_default();
                format!(
                    "This call is running{since}. To get its result, repeat it with the same arguments and the same key."
                )
                .into()
            }
            Self::OwnerSilent { .. } => "The server that ran this call stopped responding. The call may have run. When its lease \
                                         ends, repeat it with the same arguments and the same key."
                .into(),
            Self::InputElsewhere => {
                "This call needs input, and the server asked another client for it.".into()
            }
            Self::OutcomeUnknown { reason, repeatable: true, .. } => format!(
                "Outcome unknown: {}. The call may have run. It is safe to retry: repeat it with the same key.",
                unknown_reason(*reason)
            )
            .into(),
            Self::OutcomeUnknown { reason, since, .. } => {
                let why = unknown_reason(*reason);
                let since =
                    since.map(|since| format!(" ({})", when::written(since))).unwrap_or_default();
                format!(
                    "Outcome unknown: {why}{since}. The call may have run. Ask an operator to resolve it."
                )
                .into()
            }
            Self::ResultExpired { until } => format!(
                "The record of this call expired. The call may have run. Its key stays used until {}. Use a new key for a new \
                 operation.",
                when::written(*until)
            )
            .into(),
            Self::ResultOmitted { bytes, completed } => format!(
                "The call ran. It ended at {}. Its result of {bytes} bytes was too large to store.",
                when::written(*completed)
            )
            .into(),
            Self::ResultUnreadable => "The call ran. The server cannot read its stored result. Ask an operator to check the ledger."
                .into(),
            Self::ResponseDropped { bytes, scope } => {
                let whose = match scope {
                    AtCapacity::Everybody => "the server holds too many responses that were not read",
                    AtCapacity::Caller => "you have too many responses that you did not read",
                };
                format!("The response of {bytes} bytes was dropped: {whose}. The call ran.").into()
            }
            Self::ResponseCapacity(AtCapacity::Everybody) => {
                "The server holds too many responses that were not read. Nothing was run.".into()
            }
            Self::ResponseCapacity(AtCapacity::Caller) => {
                "You have too many responses that you did not read. Nothing was run.".into()
            }
            Self::Abandoned { by } => format!(
                "An operator ({by}) abandoned this call: its outcome stays unknown. The call may have run. Use a new key for a new \
                 operation."
            )
            .into(),
            Self::LedgerDisabled { tool } => format!(
                "{tool} uses idempotency keys, but this server has no ledger. Nothing was run."
            )
            .into(),
            Self::LedgerUnavailable(_) => {
                "This call needs the ledger, and the ledger is unavailable. Nothing was run.".into()
            }
            Self::LedgerReplaced => "The server's ledger file was deleted or replaced while the server was running. Nothing was run. \
                                     Ask the operator to restart the server."
                .into(),
            Self::QuotaExceeded(quota) => {
                format!("Quota reached: {quota}. Nothing was run.").into()
            }
            Self::Busy(AtCapacity::Everybody) => {
                "Too many calls are running. Nothing was run.".into()
            }
            Self::Busy(AtCapacity::Caller) => "You have reached your limit of concurrent calls, background calls included. Nothing \
                                               was run."
                .into(),
            Self::SerialTimeout { group } => format!(
                "Earlier calls that change `{group}` took too long. This attempt was not started."
            )
            .into(),
            Self::RateLimited { tool, rate, .. } => {
                format!("Rate limit: {rate} per caller for {tool}. Nothing was run.").into()
            }
            Self::TooManyQuestions { wait } => format!(
                "Too many requests to explain calls. Try again in {} ms.",
                wait.as_millis()
            )
            .into(),
            Self::ApprovalRequired { operation, until, valid } => {
                let until = until
                    .map(|until| format!(", until {}", when::written(until)))
                    .unwrap_or_default();
                format!(
                    "Approval required (operation {operation}{until}). Nothing was run. Once an operator approves it, repeat the \
                     call with the same arguments within {}.",
                    when::length(*valid)
                )
                .into()
            }
            Self::ApprovalGone => "The approval of this call expired or was already used. Nothing was run. Repeat the call to request \
                                   a new approval."
                .into(),
            Self::ApprovalUnavailable { tool } => format!(
                "{tool} needs approval, but this server has no ledger. Nothing was run."
            )
            .into(),
            Self::RequestTooLarge { bytes, most } => format!(
                "This call needs approval, but its request is too large: {bytes} bytes, at most {most}. Nothing was run. Send \
                 smaller arguments."
            )
            .into(),
            Self::Denied { by, reason } => {
                let reason =
                    reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                format!("A reviewer ({by}) denied this call{reason}. Nothing was run.").into()
            }
            Self::PolicyDenied { tool, reason } => {
                let reason =
                    reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                format!("This server denies calls of {tool}{reason}. Nothing was run.").into()
            }
            Self::PolicyUnavailable { tool } => format!(
                "The server's policy did not decide about this call of {tool}. Nothing was run."
            )
            .into(),
            Self::DecisionChanged { tool, change } => match change {
                ChangedDecision::Granted => format!(
                    "The caller expected {tool} to need approval, but a grant now covers it. Nothing was run. Explain the call \
                     again and ask the user."
                ),
                ChangedDecision::NotAsked => format!(
                    "The caller expected {tool} to need approval, but the policy does not ask about it. Nothing was run. Explain \
                     the call again and ask the user."
                ),
                ChangedDecision::Other { .. } => format!(
                    "The decision about this call of {tool} changed after it was explained. Nothing was run. Explain the call \
                     again."
                ),
                ChangedDecision::State => format!(
                    "{tool} or the state that its preview shows changed after the approval. Nothing was run. Explain the call \
                     again."
                ),
            }
            .into(),
            Self::PreviewRequired { tool, .. } => format!(
                "{tool} needs the {PLAN_TOKEN} of a new preview. Nothing was run."
            )
            .into(),
            Self::PlanInvalid { .. } => {
                "The plan token is for another call, or it expired. Nothing was run.".into()
            }
            Self::PlanStale { .. } => {
                "The state changed after the preview. Nothing was run. Preview it again.".into()
            }
            Self::PreviewFailed(error) => error.to_string().into(),
            Self::TimedOut => {
                "It took too long and was stopped; what it had done by then is not known.".into()
            }
            Self::ResumeUnknown => {
                "Invalid requestState: not made by this server for this request, or expired".into()
            }
            Self::ResumeInvalid => {
                "Invalid requestState: this call does not wait for that answer any more".into()
            }
        }
    }

    /// Returns the tool to call first, with its arguments.
    #[must_use]
    pub fn instead(&self) -> Option<(&str, &Value)> {
        match self {
            Self::PreviewRequired { preview, arguments, .. }
            | Self::PlanInvalid { preview, arguments }
            | Self::PlanStale { preview, arguments } => Some((preview, arguments)),
            _ => None,
        }
    }

    /// Returns what is wrong with single arguments.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        match self {
            Self::InvalidArguments { invalid, .. } => invalid.violations.clone(),
            Self::KeyRequired { .. } => vec![key_violation("is required")],
            Self::PreviewFailed(error) => error.fields().to_vec(),
            _ => Vec::new(),
        }
    }

    /// Returns what only the log contains.
    pub(super) fn internal_reason(&self) -> Option<String> {
        match self {
            Self::KeyUnderivable(why) => Some(why.clone()),
            Self::ResultUnreadable => {
                Some("the ledger has no readable result of this call".to_owned())
            }
            Self::LedgerDisabled { .. } => {
                Some("give the server a ledger with `.ledger(…)`".to_owned())
            }
            Self::LedgerUnavailable(why) => why.clone(),
            _ => None,
        }
    }

    /// Returns more for programs.
    #[must_use]
    pub fn details(&self) -> Vec<(&'static str, Value)> {
        match self {
            Self::Busy(AtCapacity::Caller) | Self::ResponseCapacity(AtCapacity::Caller) => {
                vec![("scope", "caller".into())]
            }
            Self::ApprovalRequired { operation, .. } => {
                vec![("operation", operation.as_str().into())]
            }
            Self::DecisionChanged { change, .. } => match change {
                ChangedDecision::Granted | ChangedDecision::NotAsked => {
                    vec![("expected", "ask".into()), ("decision", "allow".into())]
                }
                ChangedDecision::Other { expected, now } => {
                    vec![("expected", expected.as_str().into()), ("decision", (*now).into())]
                }
                ChangedDecision::State => vec![("decision", "ask".into())],
            },
            _ => Vec::new(),
        }
    }

    /// Returns true if nothing was run, and the same call may succeed later without a change.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self.code(),
            code::APPROVAL_REQUIRED
                | code::IN_PROGRESS
                | code::LEDGER_UNAVAILABLE
                | code::RATE_LIMITED
                | code::BUSY
        )
    }

    /// Returns true if a reviewer or the policy denied the call, or if no reviewer can be asked.
    pub(crate) fn is_denial(&self) -> bool {
        [code::DENIED, code::APPROVAL_UNAVAILABLE].contains(&self.code())
    }
}

/// Returns the violation for an invalid key argument.
fn key_violation(problem: impl Into<String>) -> Violation {
    let expected = "a string of 1 to 255 visible ASCII characters";
    Violation::new(format!("/{KEY_ARGUMENT}"), problem).expecting(expected)
}

/// Logs that the ledger is gone: once, because every call would log the same.
pub(crate) fn log_replaced(error: &StoreError) {
    static LOGGED: Once = Once::new();
    LOGGED.call_once(
        || tracing::error!(%error, "the ledger file is gone, so calls that need it are refused"),
    );
}
