//! What the server does with a call: facts are gathered once, and one pure function decides.
//!
//! - `facts`: gathers the facts: policy, plan, record, grants. The only stage that reads.
//! - `judge`: from facts to a decision. Pure; its laws are in `laws`.
//! - `id`: the id of a decision. `expectation`: the decision that a caller expects.
//! - here: the decision as callers and consoles see it.
//!
//! `tools/call` acts on the decision. `tools/annotations`, `tools/resolve`, the REST API and the console explain it.

pub(crate) mod expectation;
pub(crate) mod facts;
mod id;
pub(crate) mod judge;
#[cfg(test)]
mod laws;

use candor_hints::{DeclaredHints, EffectiveHints, Verdict};
use candor_ledger::{Body, EventReply, Moment, OutcomeKind, StateKind};
use candor_protocol::json::{Object, RawValue};
use candor_protocol::names::method;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::ToolAnnotations;
use candor_schema::Violation;
use serde_json::{Map, Value};

use crate::engine::Engine;
use crate::ledger::operation::RecordedCall;
use crate::ledger::{Call, key};
use crate::methods::provider_failed;
use crate::methods::reading::{self, DecodedCall, InvalidCall, PreparedCall};
use crate::tool::{Evaluated, PLAN_ARGUMENT, RegisteredTool, effects};
use crate::visit::Visit;
use facts::{CallQuestion, gather};

pub use id::DecisionId;

/// What the server does with a call now, and why: returned by [`Visit::decide`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Decision {
    /// What is wrong with the arguments. Empty if the call is valid.
    pub problems: Vec<Violation>,
    /// The effect of the call. If its arguments are invalid or incomplete, the worst case that is still possible.
    pub effect: EffectiveHints,
    /// The tool's annotations with the hints of this call, and with the fields that the tool's author refines for it.
    pub annotations: ToolAnnotations,
    /// Whether the effect belongs to these arguments. False if they are invalid, or if the evaluator failed.
    pub exact: bool,
    /// The policy's verdict on the call. A grant that covers the call makes it `allow`.
    pub verdict: Verdict,
    /// The state of its record, if it has one.
    pub record: Option<RecordStatus>,
    /// What the server will do with it now.
    pub next: NextStep,
    /// The id of this decision. A call may expect it. `None` if the arguments are invalid.
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
    fn of(reply: &EventReply, operation: &RecordedCall) -> Option<Self> {
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

impl Visit {
    /// Returns what the server does with a call now, without running it. The key is that of the visit, or is among the arguments.
    pub async fn decide(&self, name: &str, arguments: &RawValue) -> Result<Decision, ErrorObject> {
        let (engine, exchange) = (self.engine(), &self.exchange()?);
        let Some(source) = &engine.parts().tools else {
            return Err(ErrorObject::method_not_found(method::TOOLS_CALL));
        };
        engine.rates().admit_question(engine.limits().foresights, &exchange.principal)?;
        let sent = reading::decode(Some(arguments.into()))?;
        let beside = reading::key_beside(engine, exchange, &Object::new())?;
        let tools =
            source.get(&exchange.principal).await.map_err(|e| provider_failed(&e, "tools"))?;
        let found = tools.find(name, engine.parts().form).ok_or_else(|| reading::unknown(name))?;
        let (entry, policy) = (found.entry, &engine.parts().policy);
        let invalid = |call: InvalidCall| {
            let worst = match &call.arguments {
                None => entry.effects.worst(),
                Some(arguments) => entry.effects.of_partial(arguments),
            };
            let effect = entry.of_keyed(worst, false);
            Ok(Decision {
                problems: call.into_violations(),
                effect,
                annotations: annotations(entry, effect, &Map::new()),
                exact: false,
                verdict: policy.verdict(entry, worst.hints),
                record: None,
                next: NextStep::Refuse,
                id: None,
            })
        };
        let decoded = match DecodedCall::from(&found, sent, beside, exchange) {
            Ok(decoded) => decoded,
            Err(wrong) => return invalid(*wrong),
        };
        let lacks_key = decoded.lacks_key();
        let mut ready = match decoded.ready() {
            Ok(ready) => ready,
            Err(wrong) => return invalid(*wrong),
        };
        let evaluated = ready.evaluate().await;
        let exact = evaluated.is_ok();
        // Without an evaluation, the worst case applies.
        let Evaluated { effective: without_key, fields } =
            evaluated.unwrap_or_else(|_| DeclaredHints::default().effective().into());
        let PreparedCall { arguments, key, token, .. } = ready;
        let call = Call {
            entry,
            arguments: &arguments,
            hints: without_key.hints,
            has_key: key.is_some(),
            exchange,
        };
        let question = CallQuestion {
            call: &call,
            key: key.as_ref(),
            lacks_key,
            preview: found.preview.map(|preview| &**preview),
            token: token.as_deref(),
            resumes: None,
        };
        let gathered = gather(engine, question).await;
        let judgment = gathered.decide(&call, policy, None);
        let mut problems = Vec::new();
        if lacks_key {
            problems = reading::violations(&key::required(entry));
        }
        if let Err(error) = &gathered.plan {
            problems.push(Violation::new(format!("/{PLAN_ARGUMENT}"), error.to_string()));
        }
        let effect = entry.of_keyed(without_key, key.is_some());
        Ok(Decision {
            problems,
            effect,
            annotations: annotations(entry, effect, &fields),
            exact,
            verdict: gathered.verdict(),
            record: gathered.record_status(),
            next: judgment.next(),
            id: Some(gathered.decision_id(&call, policy)),
        })
    }
}

/// Returns the annotations of a tool for one call.
pub(crate) fn annotations(
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

impl Engine {
    /// Returns which calls need approval, unless a tool or a rule says otherwise. [`Visit::decide`] decides about a single call.
    #[must_use]
    pub fn asks(&self) -> candor_hints::AskLevel {
        self.parts().policy.ask
    }
}
