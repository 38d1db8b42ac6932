//! The decision about one call, as callers and consoles see it.

use candor_hints::{EffectiveHints, Verdict};
use candor_ledger::{Body, EventReply, Moment, OutcomeKind, StateKind};
use candor_protocol::types::ToolAnnotations;
use candor_schema::Violation;
use serde_json::{Map, Value};

use super::id::DecisionId;
use crate::error::Refusal;
use crate::record::recorded::RecordedCall;
use crate::tool::{RegisteredTool, effects};

/// What the server does with a call now, and why: returned by [`View::decide`](crate::View::decide).
#[derive(Debug)]
#[non_exhaustive]
pub struct Decision {
    /// What is wrong with the arguments. Empty if the call is valid.
    pub problems: Vec<Violation>,
    /// The effect of the call. If its arguments are invalid or incomplete, the worst case that is still possible.
    pub effect: EffectiveHints,
    /// The tool's annotations with the hints of this call, and with the fields that the tool's author refines for it.
    pub annotations: ToolAnnotations,
    /// The refined fields alone.
    pub fields: Map<String, Value>,
    /// Whether the tool's effect depends on the arguments.
    pub dynamic: bool,
    /// Whether the effect belongs to these arguments. False if they are invalid or incomplete, or if the evaluator failed.
    pub exact: bool,
    /// The policy's verdict on the call. A grant that covers the call makes it `allow`.
    pub verdict: Verdict,
    /// The state of its record, if it has one.
    pub record: Option<RecordStatus>,
    /// What the server will do with it now.
    pub next: NextStep,
    /// Why the server will refuse it, if it will.
    pub refusal: Option<Refusal>,
    /// The id of this decision. A call may expect it. `None` if the arguments are invalid or incomplete.
    pub id: Option<DecisionId>,
}

/// What the server will do with a call now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NextStep {
    /// Run it.
    Run,
    /// Return the stored result, and run nothing.
    Replay,
    /// Wait for the running attempt.
    Join,
    /// Ask a reviewer first.
    Ask,
    /// Ask the caller's client again for the input that the handler needs.
    Input,
    /// Refuse it.
    Refuse,
}

impl NextStep {
    /// Returns its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Replay => "replay",
            Self::Join => "join",
            Self::Ask => "ask",
            Self::Input => "input",
            Self::Refuse => "refuse",
        }
    }

    /// Returns the label for display.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Run => "Runs now",
            Self::Replay => "Replays",
            Self::Join => "Joins",
            Self::Ask => "Needs approval",
            Self::Input => "Needs input",
            Self::Refuse => "Refused",
        }
    }

    /// Returns what a verdict means for a call that has no record.
    #[must_use]
    pub const fn of_verdict(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Allow => Self::Run,
            Verdict::Ask => Self::Ask,
            Verdict::Deny => Self::Refuse,
        }
    }
}

/// The state of a call's record.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordStatus {
    /// It has ended: a retry gets the first result.
    Replay {
        /// How it ended.
        outcome: OutcomeKind,
        /// When it ended.
        completed: Moment,
    },
    /// It has ended, and its result was too large to store.
    TooLarge,
    /// It waits for an answer of the caller's client.
    InputRequired,
    /// It runs, or is about to start.
    Running {
        /// When it started, if that is known.
        since: Option<Moment>,
    },
    /// It needs approval, and the request is pending.
    Waiting {
        /// The first digits of the operation's id.
        operation: String,
    },
    /// A reviewer approved it, and it has not started since.
    Approved {
        /// The reviewer.
        by: String,
    },
    /// A reviewer denied it.
    Denied {
        /// The reviewer.
        by: String,
        /// The reviewer's reason, if one was given.
        reason: Option<String>,
    },
    /// It started, and its outcome is unknown.
    Unknown,
    /// The key belongs to a call with other arguments.
    Reused,
    /// It has ended, and its result is no longer stored.
    Expired,
    /// An operator abandoned it.
    Abandoned,
    /// The ledger is unavailable.
    Unavailable,
}

impl RecordStatus {
    /// Returns what the ledger's reply says about the call.
    pub(super) fn of(reply: &EventReply, operation: &RecordedCall) -> Option<Self> {
        Some(match reply {
            EventReply::Replay { outcome, .. } if matches!(outcome.body, Body::Omitted { .. }) => {
                Self::TooLarge
            }
            EventReply::Replay { outcome, completed, .. } => {
                Self::Replay { outcome: outcome.kind, completed: *completed }
            }
            EventReply::InFlight { since, state, .. } => {
                Self::Running { since: (*state == StateKind::Dispatched).then_some(*since) }
            }
            EventReply::Suspended { .. } => Self::InputRequired,
            EventReply::Waiting { .. } => Self::Waiting { operation: operation.short_id() },
            EventReply::Approved { by, .. } => Self::Approved { by: by.clone() },
            EventReply::Denied { by, reason, .. } => {
                Self::Denied { by: by.clone(), reason: reason.clone() }
            }
            EventReply::OutcomeUnknown { .. } => Self::Unknown,
            EventReply::KeyReused => Self::Reused,
            EventReply::Expired { .. } => Self::Expired,
            EventReply::Abandoned { .. } => Self::Abandoned,
            _ => return None,
        })
    }
}

/// Returns the annotations of a tool for one call.
pub(super) fn annotations(
    entry: &RegisteredTool,
    effective: EffectiveHints,
    fields: &Map<String, Value>,
) -> ToolAnnotations {
    let declared = entry.definition.annotations.clone();
    let mut annotations = declared.unwrap_or_else(ToolAnnotations::new);
    effects::write(effective.hints.declared(), &mut annotations);
    effects::add_fields(fields, &mut annotations);
    annotations
}
