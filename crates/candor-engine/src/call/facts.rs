//! Gathers the facts about one call: policy, plan, record, grants. The only stage that reads them.

use std::time::Instant;

use candor_hints::Verdict;
use candor_ledger::{Binding, Body, EventReply, Grant, Key, Record, RecordState, StoreError};

use super::decision::{NextStep, RecordStatus};
use super::expectation::Expectation;
use super::id::{self, DecisionId};
use super::judge::{
    CallStage, Expects, Facts, Judgment, Permission, RecordFact, RefusalReason, judge,
};
use crate::ctx::request::RequestScope;
use crate::ctx::round::ResumePoint;
use crate::display::ArgumentPattern;
use crate::error::{ChangedDecision, Refusal};
use crate::outcome::RecordedEnd;
use crate::parts::Parts;
use crate::plans::StateDigest;
use crate::policy::{CombinedRuling, PolicyQuery};
use crate::record::EvaluatedCall;
use crate::record::join::WaitingCaller;
use crate::record::recorded::RecordedCall;
use crate::tool::RegisteredTool;

/// A call that the server decides about.
#[derive(Clone, Copy)]
pub(crate) struct CallQuestion<'c, 'p> {
    pub(crate) call: &'c EvaluatedCall<'c>,
    pub(crate) key: Option<&'c Key>,
    /// The tool requires a key, and the call has none.
    pub(crate) lacks_key: bool,
    /// The tool that previews the call.
    pub(crate) preview: Option<&'p RegisteredTool>,
    /// The plan token that the caller sent.
    pub(crate) token: Option<&'c str>,
    /// What the request continues, if it is not the first of its call.
    pub(crate) resumes: Option<ResumePoint>,
}

/// The facts about a call, and the values behind them.
pub(crate) struct GatheredFacts {
    facts: Facts,
    /// The record that the call has, or gets because a reviewer is asked.
    pub(crate) operation: Option<Box<RecordedCall>>,
    /// What the record replies to this call.
    reply: Option<EventReply>,
    /// What an unused approval of this call is bound to.
    pub(crate) approval: Option<Binding>,
    /// The grant that covers the call.
    pub(crate) grant: Option<Box<Grant>>,
    /// The state that the caller's preview saw, or why the call has no valid plan.
    pub(crate) plan: Result<StateDigest, Refusal>,
    /// Why the ledger is unavailable.
    pub(crate) unavailable: Option<Refusal>,
    /// What the policies say.
    pub(crate) ruling: CombinedRuling,
}

/// Gathers the facts about a call.
pub(crate) async fn gather(parts: &Parts, question: CallQuestion<'_, '_>) -> GatheredFacts {
    let CallQuestion { call, key, lacks_key, preview, token, resumes } = question;
    let ruling = match parts.policy.built_in(call.entry, call.hints) {
        Some(ruling) => ruling,
        // Boxed, because few servers have policies of their own.
        None => Box::pin(rule(parts, call)).await,
    };
    let verdict = ruling.verdict;
    let stage = match resumes {
        None => CallStage::First,
        Some(ResumePoint::Approval { .. }) => CallStage::ApprovalAnswered,
        Some(ResumePoint::Round { .. }) => CallStage::InputAnswered,
    };
    let plan = parts.plans.check(call, preview, token);
    let ledger = parts.ledger.as_ref();
    let asks = verdict == Verdict::Ask && stage != CallStage::InputAnswered;
    let operation = ledger.and_then(|ledger| match key {
        Some(key) => Some(RecordedCall::new(ledger, call, key.clone())),
        // Recorded because a reviewer is asked about it.
        None => (asks || resumes.is_some()).then(|| RecordedCall::keyless(ledger, call)),
    });
    let facts = Facts {
        verdict,
        policy_failed: ruling.failed,
        lacks_key,
        has_key: key.is_some(),
        has_ledger: ledger.is_some(),
        can_record: true,
        record: RecordFact::None,
        has_plan: plan.is_ok(),
        granted: false,
        stage,
    };
    let (reply, approval, grant, unavailable) = (None, None, None, None);
    let mut gathered =
        GatheredFacts { facts, operation, reply, approval, grant, plan, unavailable, ruling };
    if gathered.operation.is_some() && stage == CallStage::First {
        // Boxed, because few calls have a record: the future of every request is as large as its largest branch.
        if let Err(error) = Box::pin(gathered.read_record(parts, call, asks)).await {
            tracing::warn!(%error, "the ledger could not be read");
            gathered.facts.record = RecordFact::Unavailable;
            gathered.unavailable = Some(Refusal::of_store(&error));
        }
    }
    let unrecorded = gathered.operation.as_ref().is_none_or(|operation| operation.is_keyless());
    if unrecorded && let Some(Err(error)) = ledger.map(|ledger| ledger.check(call.hints)) {
        gathered.facts.can_record = false;
        gathered.unavailable.get_or_insert(error);
    }
    gathered
}

impl GatheredFacts {
    /// Reads what the ledger has of the call: the reply of its record, and a grant if the policy asks.
    async fn read_record(
        &mut self,
        parts: &Parts,
        call: &EvaluatedCall<'_>,
        asks: bool,
    ) -> Result<(), StoreError> {
        let Some(operation) = &self.operation else { return Ok(()) };
        self.reply = operation.reply().await?;
        if asks {
            let binding = parts.policy.binding(call.entry, &self.ruling, None);
            self.grant = covering_grant(binding, call, operation).await?.map(Box::new);
        }
        let mut denied_since = None;
        // An approval is in no call's way, so `reply` leaves it out.
        if asks && matches!(self.reply, None | Some(EventReply::Denied { .. })) {
            match operation.stored().await? {
                Some(Record {
                    fence,
                    state: RecordState::Approved { by, via, until, binding, .. },
                    ..
                }) => {
                    self.approval = Some(binding);
                    self.reply = Some(EventReply::Approved { fence, by, via, until });
                }
                Some(Record { state: RecordState::Denied { since, .. }, .. }) => {
                    denied_since = Some(since);
                }
                _ => {}
            }
        }
        let newer = |grant: &Grant| denied_since.is_some_and(|since| since < grant.since);
        let prevails = !self.grant.as_deref().is_some_and(newer);
        self.facts.granted = self.grant.is_some();
        self.facts.record = record_fact(self.reply.as_ref(), operation.is_keyless(), prevails);
        Ok(())
    }

    /// Returns what the server does with the call, if the caller's expectation holds.
    ///
    /// A replay and a join start nothing, so they meet every expectation.
    pub(crate) fn decide(
        &self,
        call: &EvaluatedCall<'_>,
        parts: &Parts,
        expectation: Option<Expectation>,
    ) -> Judgment {
        let expected = match expectation {
            None => return judge(&self.facts, Expects::Nothing),
            Some(Expectation::Approval) => return judge(&self.facts, Expects::Approval),
            Some(Expectation::Decision(expected)) => expected,
        };
        let judgment = judge(&self.facts, Expects::Nothing);
        let continues = self.facts.stage == CallStage::InputAnswered;
        if continues || !matches!(judgment, Judgment::Run(_) | Judgment::Ask) {
            return judgment;
        }
        let is_expected = |judgment, as_asked| self.id(call, parts, judgment, as_asked) == expected;
        if is_expected(judgment, false) {
            return judgment;
        }
        // The caller was told that a reviewer is asked, and a reviewer has the request or approved it.
        match judge(&self.facts, Expects::Approval) {
            asked @ (Judgment::Ask | Judgment::Run(Permission::Approval))
                if is_expected(asked, true) =>
            {
                asked
            }
            _ => Judgment::Refuse(RefusalReason::DecisionChanged),
        }
    }

    /// Returns the id of a decision about this call. `as_asked`: the id before the reviewer approved it.
    fn id(
        &self,
        call: &EvaluatedCall<'_>,
        parts: &Parts,
        judgment: Judgment,
        as_asked: bool,
    ) -> DecisionId {
        let next = if as_asked { NextStep::Ask } else { judgment.next() };
        let grant = match judgment {
            Judgment::Run(Permission::Grant) => self.grant.as_deref().map(|grant| grant.id),
            _ => None,
        };
        let state = self.plan.as_ref().ok().and_then(Option::as_ref);
        let rule = parts.policy.binding(call.entry, &self.ruling, None);
        id::of(call, &rule, next.as_str(), grant, state)
    }

    /// Returns the id of the decision, for an explanation.
    pub(crate) fn decision_id(&self, call: &EvaluatedCall<'_>, parts: &Parts) -> DecisionId {
        self.id(call, parts, judge(&self.facts, Expects::Nothing), false)
    }

    /// Returns the verdict on the call: a grant that covers it allows it, unless a review of this call takes precedence.
    pub(crate) const fn verdict(&self) -> Verdict {
        match self.facts.record {
            RecordFact::Approved | RecordFact::Denied { prevails: true } => self.facts.verdict,
            _ if self.facts.granted => Verdict::Allow,
            _ => self.facts.verdict,
        }
    }

    /// Returns the state of the call's record, as the caller may see it.
    pub(crate) fn record_status(&self) -> Option<RecordStatus> {
        if self.facts.record == RecordFact::Unavailable {
            return Some(RecordStatus::Unavailable);
        }
        let operation =
            self.operation.as_ref().filter(|_| self.facts.record != RecordFact::None)?;
        RecordStatus::of(self.reply.as_ref()?, operation)
    }

    /// Returns what the caller gets from the record that answers it: a result, questions or a refusal. Waits if an attempt runs.
    /// `None` if the record changed meanwhile, so that the facts must be gathered again.
    pub(crate) async fn answer(
        &mut self,
        until: Instant,
        request: &RequestScope,
    ) -> Option<RecordedEnd> {
        let (Some(operation), Some(reply)) = (&self.operation, self.reply.take()) else {
            return None;
        };
        operation.told(reply, until, WaitingCaller::Request(request)).await
    }

    /// Returns true if a request for approval of this call waits for a reviewer.
    pub(crate) fn has_request(&self) -> bool {
        self.facts.record == RecordFact::ApprovalRequired
    }

    /// Returns the judgment if the caller expected nothing.
    pub(crate) const fn judgment(&self) -> Judgment {
        judge(&self.facts, Expects::Nothing)
    }

    /// Returns what the server would do if the caller expected nothing.
    pub(crate) const fn next(&self) -> NextStep {
        self.judgment().next()
    }

    /// Returns the refusal for a reason. `None`: the record says why, and only its reply has the details.
    pub(crate) fn refusal(
        &self,
        reason: RefusalReason,
        call: &EvaluatedCall<'_>,
        expectation: Option<Expectation>,
    ) -> Option<Refusal> {
        let tool = || call.entry.name().to_owned();
        Some(match reason {
            RefusalReason::KeyRequired => Refusal::KeyRequired { tool: tool() },
            RefusalReason::LedgerDisabled => Refusal::LedgerDisabled { tool: tool() },
            RefusalReason::Policy => {
                Refusal::PolicyDenied { tool: tool(), reason: self.ruling.reason.clone() }
            }
            RefusalReason::PolicyUnavailable => Refusal::PolicyUnavailable { tool: tool() },
            RefusalReason::ApprovalUnavailable => Refusal::ApprovalUnavailable { tool: tool() },
            RefusalReason::DecisionChanged => {
                let change = match expectation {
                    Some(Expectation::Decision(expected)) => ChangedDecision::Other {
                        expected: expected.to_string(),
                        now: self.next().as_str(),
                    },
                    _ if self.grant.is_some() => ChangedDecision::Granted,
                    _ => ChangedDecision::NotAsked,
                };
                Refusal::DecisionChanged { tool: tool(), change }
            }
            RefusalReason::Plan | RefusalReason::LedgerUnavailable | RefusalReason::Record => {
                return None;
            }
        })
    }

    /// Takes the refusal for a reason.
    pub(crate) fn into_refusal(
        self,
        reason: RefusalReason,
        call: &EvaluatedCall<'_>,
        expectation: Option<Expectation>,
    ) -> Refusal {
        match (self.refusal(reason, call, expectation), reason) {
            (Some(refusal), _) => refusal,
            (None, RefusalReason::Plan) => self.plan.err().unwrap_or(Refusal::Internal),
            (None, _) => self.unavailable.unwrap_or(Refusal::LedgerUnavailable(None)),
        }
    }
}

async fn rule(parts: &Parts, call: &EvaluatedCall<'_>) -> CombinedRuling {
    let arguments = call.entry.without_key(call.arguments);
    let query = PolicyQuery {
        caller: &call.request.caller,
        tool: &call.entry.definition,
        arguments: arguments.as_value(),
        effect: call.effect(),
        now: std::time::SystemTime::now(),
    };
    parts.policy.rule(call.entry, call.hints, &query).await
}

/// Returns what a reply of the ledger means for a call. Without a key, the next call is a new operation, so an ended record says
/// nothing about it.
fn record_fact(reply: Option<&EventReply>, keyless: bool, prevails: bool) -> RecordFact {
    let is_over = |reply: &EventReply| {
        matches!(
            reply,
            EventReply::Replay { .. }
                | EventReply::OutcomeUnknown { .. }
                | EventReply::Expired { .. }
                | EventReply::Abandoned { .. }
        )
    };
    match reply.filter(|reply| !(keyless && is_over(reply))) {
        Some(EventReply::Replay { outcome, .. }) => match outcome.body {
            Body::Omitted { .. } => RecordFact::Closed,
            Body::Kept(_) => RecordFact::Result,
        },
        Some(EventReply::InFlight { .. }) => RecordFact::Running,
        Some(EventReply::Suspended { .. }) => RecordFact::InputRequired,
        Some(EventReply::Waiting { .. }) => RecordFact::ApprovalRequired,
        Some(EventReply::Approved { .. }) => RecordFact::Approved,
        Some(EventReply::Denied { .. }) => RecordFact::Denied { prevails },
        Some(
            EventReply::OutcomeUnknown { .. }
            | EventReply::KeyReused
            | EventReply::Expired { .. }
            | EventReply::Abandoned { .. },
        ) => RecordFact::Closed,
        // A recall returns none of the others.
        None | Some(_) => RecordFact::None,
    }
}

/// Returns the grant that covers this call of the tool, with its current definition and policy.
async fn covering_grant(
    binding: Binding,
    call: &EvaluatedCall<'_>,
    operation: &RecordedCall,
) -> Result<Option<Grant>, StoreError> {
    let grants = operation.grants().await?;
    let arguments = call.entry.without_key(call.arguments);
    Ok(grants.into_iter().filter(|grant| grant.covers(binding)).find(|grant| {
        ArgumentPattern::read(&grant.pattern).is_some_and(|pattern| pattern.fits(&arguments))
    }))
}
