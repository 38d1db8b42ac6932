//! Admits a call: decides about it, and waits for what the decision needs: approval, rate limit, serial turn.

use std::time::Instant;

use candor_ledger::{Binding, Grant};

use crate::BoxFuture;
use crate::admission::plan::PlanStatus;
use crate::admission::rate::{RateInput, RatePermit};
use crate::admission::serial::SerialTurn;
use crate::ctx::Ctx;
use crate::decision::expectation::Expectation;
use crate::decision::facts::{CallQuestion, GatheredFacts, gather};
use crate::decision::judge::{Judgment, Permission, RefusalReason};
use crate::engine::Engine;
use crate::gate::approval::{ApprovalFlow, ApprovedStart};
use crate::ledger::operation::{Outcome, RecordedCall};
use crate::ledger::{Call, ServerLedger, key, words};
use crate::round::ResumePoint;
use crate::tool::{RegisteredTool, ToolError};

/// A call that runs now, or as soon as a reviewer approves it.
pub(super) struct PermittedCall<'c, 'p> {
    call: &'c Call<'c>,
    /// Its record, if it has a key or needs approval.
    operation: Option<Box<RecordedCall>>,
    resumes: Option<ResumePoint>,
    start: StartRule,
    /// The grant that covers it.
    grant: Option<Box<Grant>>,
    preview: Option<&'p RegisteredTool>,
    plan: PlanStatus<'p>,
}

/// What a start needs besides rate limit and serial turn.
#[derive(Clone, Copy)]
enum StartRule {
    Free,
    /// A reviewer's approval, asked for if there is none.
    Review,
    /// The approval that is bound to this, and no other.
    Approval(Binding),
    /// The approval that is bound to this, or else the grant.
    ApprovalOrGrant(Binding),
}

/// Decides about a call. If another attempt of it runs, waits for that, and decides again.
///
/// # Errors
/// Returns what the caller gets if the call is not to run now.
pub(super) async fn decide<'c, 'p>(
    engine: &Engine,
    question: CallQuestion<'c, 'p>,
    expectation: Option<Expectation>,
) -> Result<PermittedCall<'c, 'p>, Outcome> {
    let (call, policy) = (question.call, &engine.parts().policy);
    let mut until: Option<Instant> = None;
    loop {
        let mut gathered = gather(engine, question).await;
        let judgment = gathered.decide(call, policy, expectation);
        match judgment {
            Judgment::Run(permission) => {
                return Ok(permitted(question, gathered, Some(permission), expectation));
            }
            Judgment::Ask => return Ok(permitted(question, gathered, None, expectation)),
            Judgment::Replay
            | Judgment::Join
            | Judgment::Input
            | Judgment::Refuse(RefusalReason::Record) => {
                let waits_until =
                    || gathered.operation.as_ref().map_or_else(Instant::now, |o| o.waits_until());
                let until = *until.get_or_insert_with(waits_until);
                if let Some(outcome) = Box::pin(gathered.answer(until, call.exchange)).await {
                    if let Some(operation) = &gathered.operation {
                        Box::pin(operation.note(&outcome)).await;
                    }
                    return Err(outcome);
                }
            }
            Judgment::Refuse(reason) => {
                let operation = gathered.operation.take();
                let error = refusal(reason, call, gathered, expectation);
                return Err(refuse(engine.ledger(), call, operation.as_deref(), error).await);
            }
        }
    }
}

/// Returns a call that may start; `None` as its permission: if a reviewer approves it.
fn permitted<'c, 'p>(
    question: CallQuestion<'c, 'p>,
    gathered: GatheredFacts<'p>,
    permission: Option<Permission>,
    expectation: Option<Expectation>,
) -> PermittedCall<'c, 'p> {
    let CallQuestion { call, preview, resumes, .. } = question;
    let has_request = gathered.has_request();
    let GatheredFacts { mut operation, approval, grant, plan, .. } = gathered;
    let strict = matches!(expectation, Some(Expectation::Decision(_)));
    let start = match (permission, approval) {
        (Some(Permission::Approval), Some(binding)) if strict => StartRule::Approval(binding),
        (None | Some(Permission::Approval), _) => StartRule::Review,
        (Some(Permission::Grant), Some(binding)) => StartRule::ApprovalOrGrant(binding),
        (Some(_), _) => StartRule::Free,
    };
    if let (Some(Permission::Grant), None, Some(grant)) = (permission, approval, &grant) {
        operation = match operation {
            // A call under a grant needs no approval, and so no record. If its request is open, the start closes it, so that no
            // reviewer decides on a call that has run.
            Some(operation) if operation.is_keyless() && !has_request => None,
            other => other.map(|operation| operation.permitted(grant)),
        };
    }
    let grant = grant.filter(|_| permission == Some(Permission::Grant));
    // A call whose plan is invalid is refused before.
    let plan = plan.unwrap_or_default();
    PermittedCall { call, operation, resumes, start, grant, preview, plan }
}

/// Returns the error for a call that is refused for a reason of ours.
fn refusal(
    reason: RefusalReason,
    call: &Call<'_>,
    gathered: GatheredFacts<'_>,
    expectation: Option<Expectation>,
) -> ToolError {
    let name = call.entry.name();
    match reason {
        RefusalReason::KeyRequired => key::required(call.entry),
        RefusalReason::LedgerDisabled => words::nobody_remembers(name),
        RefusalReason::Policy => words::not_allowed(name),
        RefusalReason::Plan => gathered.plan.err().unwrap_or_else(|| words::not_allowed(name)),
        RefusalReason::ApprovalUnavailable => words::nobody_to_ask(name),
        RefusalReason::LedgerUnavailable | RefusalReason::Record => {
            gathered.unavailable.unwrap_or_else(words::ledger_unavailable)
        }
        RefusalReason::DecisionChanged => match expectation {
            Some(Expectation::Decision(id)) => {
                words::other_decision(name, id, gathered.next().as_str())
            }
            _ => words::decision_changed(name, gathered.grant.as_deref()),
        },
    }
}

/// A call that may start.
pub(super) struct ClearedCall {
    pub(super) ticket: Ticket,
    /// The grant that replaces an approval, if one does.
    pub(super) grant: Option<Box<Grant>>,
    /// Its record, if it has one.
    pub(super) record: Option<CallRecord>,
}

/// The record of a call that may start, and what its start event must name.
pub(super) struct CallRecord {
    pub(super) operation: Box<RecordedCall>,
    pub(super) resumes: Option<ResumePoint>,
    /// The approval that the start uses. `None` if it needs none.
    pub(super) approval: Option<Binding>,
}

impl PermittedCall<'_, '_> {
    /// Returns true if the call has a record.
    pub(super) const fn has_record(&self) -> bool {
        self.operation.is_some()
    }

    /// Waits for approval, rate limit and serial turn, and checks the plan. `continues` is true if the call brings the answer to a
    /// question of an earlier round.
    pub(super) async fn admit(
        mut self,
        engine: &Engine,
        ctx: &Ctx,
        continues: bool,
    ) -> Result<ClearedCall, Outcome> {
        match self.operation.take() {
            None => {
                let (call, input) = (self.call, RateInput { key: None, goes_on: continues });
                match admit(engine, &self.plan, call, input, ctx).await {
                    Ok(ticket) => Ok(ClearedCall { ticket, grant: self.grant, record: None }),
                    Err(error) => Err(refuse(engine.ledger(), call, None, error).await),
                }
            }
            // Boxed, because few calls get here: the future of every request is as large as its largest branch.
            Some(operation) => Box::pin(self.admit_recorded(engine, ctx, operation)).await,
        }
    }

    async fn admit_recorded(
        self,
        engine: &Engine,
        ctx: &Ctx,
        operation: Box<RecordedCall>,
    ) -> Result<ClearedCall, Outcome> {
        let Self { call, resumes, start, grant, preview, plan, .. } = self;
        let review = ApprovalFlow { engine, call, operation: &operation, preview, planned: plan };
        let approved = match start {
            StartRule::Free => ApprovedStart { binding: None, planned: plan },
            StartRule::ApprovalOrGrant(binding) => review.given(binding).await?,
            StartRule::Approval(binding) => {
                let approved = review.given(binding).await?;
                if approved.binding.is_none() {
                    let error = words::approved_state_changed(call.entry.name());
                    return Err(refuse(engine.ledger(), call, Some(&operation), error).await);
                }
                approved
            }
            StartRule::Review => {
                // A reviewer may take long, so later serial calls do not wait for this one.
                call.exchange.release_position();
                match review.get(ctx).await {
                    Ok(approved) => approved,
                    Err(outcome) => {
                        if let Outcome::Refused(error) = &outcome
                            && error.is_denial()
                        {
                            operation.note_refusal(error).await;
                        }
                        return Err(outcome);
                    }
                }
            }
        };
        let ApprovedStart { binding: approval, planned: plan } = approved;
        // Counted only now: a caller that retries while a reviewer decides makes no new call.
        let continues = matches!(resumes, Some(ResumePoint::Round { .. }));
        let input = RateInput { key: Some(operation.key()), goes_on: continues };
        match admit(engine, &plan, call, input, ctx).await {
            Ok(ticket) => {
                let by_grant = matches!(start, StartRule::ApprovalOrGrant(_)) && approval.is_none();
                let operation = match &grant {
                    Some(grant) if by_grant => operation.permitted(grant),
                    _ => operation,
                };
                let record = Some(CallRecord { operation, resumes, approval });
                Ok(ClearedCall { ticket, grant, record })
            }
            Err(error) => Err(refuse(engine.ledger(), call, Some(&operation), error).await),
        }
    }
}

/// The admission of a call. The rate limit counts the call if it starts. No other call of its serial group runs until this is
/// dropped.
pub(super) struct Ticket {
    pass: Option<RatePermit>,
    _turn: Option<SerialTurn>,
}

impl Ticket {
    /// Records that the call starts now.
    pub(super) fn begins(&mut self) {
        if let Some(pass) = &mut self.pass {
            pass.begins();
        }
    }

    /// Records that the handler asked a question, so that the call may come back with the answer.
    pub(super) fn asks(&self) {
        if let Some(pass) = &self.pass {
            pass.asks();
        }
    }
}

/// Runs the last checks: rate limit, serial turn and plan. The plan comes last, when no other call of the group can change the
/// state.
async fn admit(
    engine: &Engine,
    planned: &PlanStatus<'_>,
    call: &Call<'_>,
    coming: RateInput<'_>,
    ctx: &Ctx,
) -> Result<Ticket, ToolError> {
    let pass = engine.rates().admit(call, coming)?;
    let turn = serial_turn(engine, call, ctx).await?;
    planned.still_holds(engine, call).await?;
    Ok(Ticket { pass, _turn: turn })
}

/// Waits for the turn of a call that may change data, if its tool is in a serial group.
async fn serial_turn(
    engine: &Engine,
    call: &Call<'_>,
    ctx: &Ctx,
) -> Result<Option<SerialTurn>, ToolError> {
    let Some(group) = call.entry.safeguards.serial.as_deref() else { return Ok(None) };
    if call.hints.is_read_only() {
        return Ok(None);
    }
    // Boxed, so that the futures of calls without a group stay small.
    let turn = match &call.exchange.position {
        Some(position) => Box::pin(position.turn(group, ctx.deadline())).await,
        None => {
            let position = engine.serial().arrive();
            Box::pin(position.turn(group, ctx.deadline())).await
        }
    };
    turn.map(Some)
}

/// Records a refusal and returns it. Boxed, so that the futures of calls that are not refused stay small.
fn refuse<'a>(
    ledger: Option<&'a ServerLedger>,
    call: &'a Call<'_>,
    operation: Option<&'a RecordedCall>,
    error: ToolError,
) -> BoxFuture<'a, Outcome> {
    Box::pin(async move {
        match (operation, ledger) {
            (Some(operation), _) => operation.note_refusal(&error).await,
            (None, Some(ledger)) => ledger.note_refusal(call, &error).await,
            (None, None) => {}
        }
        Outcome::Refused(error)
    })
}
