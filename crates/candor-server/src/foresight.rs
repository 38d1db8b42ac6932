//! Explains a call without running it: its effect, and the server's decision.
//!
//! This is the pipeline of `tools/call` up to the first effect: no handler runs, no approval request is made, and nothing is
//! recorded.

use candor_hints::{DeclaredHints, EffectiveHints, Verdict};
use candor_ledger::{Body, EventReply, Moment, OutcomeKind, StateKind};
use candor_protocol::json::{Object, RawValue};
use candor_protocol::names::method;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::ToolAnnotations;
use candor_schema::Violation;
use serde_json::{Map, Value};

use crate::engine::Engine;
use crate::gate::approval::verdict;
use crate::ledger::operation::RecordedCall;
use crate::ledger::{Call, key};
use crate::methods::provider_failed;
use crate::methods::reading::{self, DecodedCall, InvalidCall, PreparedCall};
use crate::tool::{Evaluated, PLAN_ARGUMENT, RegisteredTool, effects};
use crate::visit::Visit;

/// The explanation of a call: its effect, and what the server would do with it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Foresight {
    /// What is wrong with its arguments. Empty if the call is valid.
    pub invalid: Vec<Violation>,
    /// The effect of the call. If its arguments are invalid or incomplete, the worst case that is still possible.
    pub effective: EffectiveHints,
    /// The tool's annotations with the hints of this call, and with the fields that the tool's author refines for it.
    pub annotations: ToolAnnotations,
    /// Whether the effect belongs to these arguments. False if they are invalid, or if the evaluator failed.
    pub exact: bool,
    /// The policy's verdict on it.
    pub judgement: Verdict,
    /// The state of its record, if it has one.
    pub standing: Option<RecordStatus>,
    /// What the server will do with it now.
    pub decision: NextStep,
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

    /// Returns the next step. The order is that of `tools/call`: the record first, then the policy.
    fn of(record: Option<&RecordStatus>, verdict: Verdict) -> Self {
        match (record, verdict) {
            (Some(RecordStatus::Replay { .. }), _) => Self::Replay,
            (Some(RecordStatus::Running { .. }), _) => Self::Join,
            (Some(RecordStatus::InputRequired), _) => Self::Input,
            (Some(RecordStatus::Approved { .. }), Verdict::Ask) => Self::Run,
            (
                None | Some(RecordStatus::Waiting { .. } | RecordStatus::Approved { .. }),
                verdict,
            ) => Self::of_verdict(verdict),
            (Some(_), _) => Self::Refuse,
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

impl Visit {
    /// Explains a call. The key is that of the visit, or is among the arguments.
    pub async fn foresee(
        &self,
        name: &str,
        arguments: &RawValue,
    ) -> Result<Foresight, ErrorObject> {
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
        let entry = found.entry;
        let judge = |effective: EffectiveHints| engine.parts().policy.judge(entry, effective.hints);
        let unfit = |unfit: InvalidCall| {
            let nature = match &unfit.arguments {
                None => entry.effects.worst(),
                Some(arguments) => entry.effects.of_partial(arguments),
            };
            let (effective, judgement) = (entry.of_keyed(nature, false), judge(nature));
            let invalid = unfit.into_violations();
            let annotations = annotations(entry, effective, &Map::new());
            Ok(Foresight {
                invalid,
                effective,
                annotations,
                exact: false,
                judgement,
                standing: None,
                decision: NextStep::Refuse,
            })
        };
        let taken = match DecodedCall::from(&found, sent, beside, exchange) {
            Ok(taken) => taken,
            Err(wrong) => return unfit(*wrong),
        };
        let lacks_key = taken.lacks_key();
        let mut ready = match taken.ready() {
            Ok(ready) => ready,
            Err(wrong) => return unfit(*wrong),
        };
        let evaluated = ready.foresee().await;
        let exact = evaluated.is_ok();
        // Without an evaluation, the worst case applies.
        let Evaluated { effective: nature, fields } =
            evaluated.unwrap_or_else(|_| DeclaredHints::default().effective().into());
        let PreparedCall { arguments, key, token, .. } = ready;
        let call = Call {
            entry,
            arguments: &arguments,
            hints: nature.hints,
            has_key: key.is_some(),
            exchange,
        };
        let (judgement, operation) = verdict(engine, &call, key.as_ref()).await;
        let standing = match &operation {
            Some(operation) => standing(operation).await,
            None => None,
        };
        let mut decision = NextStep::of(standing.as_ref(), judgement);
        if engine.ledger().is_none() && (key.is_some() || decision == NextStep::Ask) {
            decision = NextStep::Refuse;
        }
        let effective = entry.of_keyed(nature, key.is_some());
        let mut invalid = Vec::new();
        if lacks_key {
            invalid = reading::violations(&key::required(entry));
        }
        let plan =
            engine.plans().check(&call, found.preview.map(|preview| &**preview), token.as_deref());
        if let Err(error) = plan {
            invalid.push(Violation::new(format!("/{PLAN_ARGUMENT}"), error.to_string()));
        }
        if !invalid.is_empty() && decision != NextStep::Replay {
            decision = NextStep::Refuse;
        }
        let annotations = annotations(entry, effective, &fields);
        Ok(Foresight { invalid, effective, annotations, exact, judgement, standing, decision })
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

async fn standing(operation: &RecordedCall) -> Option<RecordStatus> {
    let answer = match operation.look().await {
        Ok(answer) => answer?,
        Err(error) => {
            tracing::warn!(%error, "the ledger could not be looked at");
            return Some(RecordStatus::Unavailable);
        }
    };
    Some(match answer {
        // Without a key, the next call is a new operation, so an ended record says nothing about it.
        EventReply::Replay { .. }
        | EventReply::OutcomeUnknown { .. }
        | EventReply::Expired { .. }
            if operation.is_keyless() =>
        {
            return None;
        }
        EventReply::Replay { outcome, .. } if matches!(outcome.body, Body::Omitted { .. }) => {
            RecordStatus::TooLarge
        }
        EventReply::Replay { outcome, completed, .. } => {
            RecordStatus::Replay { outcome: outcome.kind, completed }
        }
        EventReply::InFlight { since, state, .. } => {
            RecordStatus::Running { since: (state == StateKind::Dispatched).then_some(since) }
        }
        EventReply::Suspended { .. } => RecordStatus::InputRequired,
        EventReply::Waiting { .. } => RecordStatus::Waiting { operation: operation.short_id() },
        EventReply::Approved { by, .. } => RecordStatus::Approved { by },
        EventReply::Denied { by, reason, .. } => RecordStatus::Denied { by, reason },
        EventReply::OutcomeUnknown { .. } => RecordStatus::Unknown,
        EventReply::KeyReused => RecordStatus::Reused,
        EventReply::Expired { .. } => RecordStatus::Expired,
        EventReply::Abandoned { .. } => RecordStatus::Abandoned,
        _ => return None,
    })
}

impl Engine {
    /// Returns which calls need approval, unless a tool or a rule says otherwise. [`Visit::foresee`] explains a single call.
    #[must_use]
    pub fn asks(&self) -> candor_hints::AskLevel {
        self.parts().policy.ask
    }
}
