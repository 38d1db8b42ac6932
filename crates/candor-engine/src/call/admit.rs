//! Admits a call: decides about it, and waits for what the decision needs: approval, rate limit, serial turn.

use std::time::Instant;

use candor_ledger::{Binding, Grant};
use futures_util::future::BoxFuture;

use super::approval::{ApprovalFlow, ApprovalSubject, MOST_REQUESTS, StateChange};
use super::expectation::Expectation;
use super::facts::{CallQuestion, GatheredFacts, gather};
use super::judge::{Judgment, Permission, RefusalReason};
use super::plan::{PreviewRun, stale};
use crate::capacity::rate::{RateInput, RatePermit};
use crate::capacity::serial::SerialTurn;
use crate::ctx::Ctx;
use crate::ctx::round::ResumePoint;
use crate::error::{ChangedDecision, Refusal};
use crate::outcome::RecordedEnd;
use crate::parts::Parts;
use crate::plans::StateDigest;
use crate::policy::CombinedRuling;
use crate::record::recorded::RecordedCall;
use crate::record::{EvaluatedCall, ServerLedger};
use crate::tool::RegisteredTool;

/// A call that runs now, or as soon as a reviewer approves it.
pub(super) struct PermittedCall<'c, 'p> {
    call: &'c EvaluatedCall<'c>,
    ruling: CombinedRuling,
    /// Its record, if it has a key or needs approval.
    operation: Option<Box<RecordedCall>>,
    resumes: Option<ResumePoint>,
    start: StartRule,
    /// The grant that covers it.
    grant: Option<Box<Grant>>,
    preview: Option<&'p RegisteredTool>,
    /// The state that the caller's own preview saw.
    planned: StateDigest,
}

/// What a start needs besides rate limit and serial turn.
#[derive(Clone, Copy)]
enum StartRule {
    Free,
    /// A reviewer's approval, asked for if there is none.
    Review,
    /// The approval that is bound to this. If the state has changed since, a reviewer is asked again.
    Approval(Binding),
    /// The approval that is bound to this, and no other.
    ExpectedApproval(Binding),
    /// The approval that is bound to this, or else the grant.
    ApprovalOrGrant(Binding),
}

/// Decides about a call. If another attempt of it runs, waits for that, and decides again.
///
/// # Errors
/// Returns what the caller gets if the call is not to run now.
pub(super) async fn decide<'c, 'p>(
    parts: &Parts,
    question: CallQuestion<'c, 'p>,
    expectation: Option<Expectation>,
) -> Result<PermittedCall<'c, 'p>, RecordedEnd> {
    let call = question.call;
    let mut until: Option<Instant> = None;
    loop {
        let mut gathered = gather(parts, question).await;
        match gathered.decide(call, parts, expectation) {
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
                if let Some(end) = Box::pin(gathered.answer(until, call.request)).await {
                    if let Some(operation) = &gathered.operation {
                        Box::pin(operation.note(&end)).await;
                    }
                    return Err(end);
                }
            }
            Judgment::Refuse(reason) => {
                let operation = gathered.operation.take();
                let refusal = gathered.into_refusal(reason, call, expectation);
                let ledger = parts.ledger.as_ref();
                return Err(refuse(ledger, call, operation.as_deref(), refusal).await);
            }
        }
    }
}

/// Returns a call that may start; `None` as its permission: if a reviewer approves it.
fn permitted<'c, 'p>(
    question: CallQuestion<'c, 'p>,
    gathered: GatheredFacts,
    permission: Option<Permission>,
    expectation: Option<Expectation>,
) -> PermittedCall<'c, 'p> {
    let CallQuestion { call, preview, resumes, .. } = question;
    let has_request = gathered.has_request();
    let GatheredFacts { mut operation, approval, grant, plan, ruling, .. } = gathered;
    let strict = matches!(expectation, Some(Expectation::Decision(_)));
    let start = match (permission, approval) {
        (Some(Permission::Approval), Some(binding)) if strict => {
            StartRule::ExpectedApproval(binding)
        }
        (Some(Permission::Approval), Some(binding)) => StartRule::Approval(binding),
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
    let planned = plan.unwrap_or_default();
    PermittedCall { call, ruling, operation, resumes, start, grant, preview, planned }
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
        parts: &Parts,
        ctx: &Ctx,
        continues: bool,
    ) -> Result<ClearedCall, RecordedEnd> {
        match self.operation.take() {
            None => {
                let (call, input) = (self.call, RateInput { key: None, goes_on: continues });
                let admitted = match admit(parts, call, input, ctx).await {
                    Ok(ticket) => self.check_plan(parts).await.map(|()| ticket),
                    Err(refusal) => Err(refusal),
                };
                match admitted {
                    Ok(ticket) => Ok(ClearedCall { ticket, grant: self.grant, record: None }),
                    Err(refusal) => Err(refuse(parts.ledger.as_ref(), call, None, refusal).await),
                }
            }
            // Boxed, because few calls get here: the future of every request is as large as its largest branch.
            Some(operation) => Box::pin(self.admit_recorded(parts, ctx, operation)).await,
        }
    }

    /// Runs the preview again just before the start. Fails if the state has changed since the caller saw it.
    async fn check_plan(&self, parts: &Parts) -> Result<(), Refusal> {
        let (Some(planned), Some(preview)) = (self.planned, self.preview) else { return Ok(()) };
        // Boxed, because most calls have no plan, and every call would carry its size.
        let now = Box::pin(PreviewRun::at(&parts.plans, self.call, preview)).await;
        match now {
            PreviewRun { state, .. } if state == Some(planned) => Ok(()),
            PreviewRun { error: Some(error), .. } => Err(Refusal::PreviewFailed(error)),
            PreviewRun { .. } => Err(stale(preview, self.call)),
        }
    }

    async fn admit_recorded(
        self,
        parts: &Parts,
        ctx: &Ctx,
        operation: Box<RecordedCall>,
    ) -> Result<ClearedCall, RecordedEnd> {
        let Self { call, ruling, resumes, start, grant, preview, planned, .. } = self;
        let (approval, ticket) = {
            let review = ApprovalFlow {
                parts,
                call,
                ruling: &ruling,
                operation: &operation,
                preview,
                planned,
            };
            // Counted after the review: a caller that retries while a reviewer decides makes no new call.
            let continues = matches!(resumes, Some(ResumePoint::Round { .. }));
            let input = RateInput { key: Some(operation.key()), goes_on: continues };
            let admitted = approved_start(&review, start, input, ctx).await;
            match admitted {
                Ok(admitted) => admitted,
                Err(RecordedEnd::Refused(refusal)) if is_noted(&refusal) => {
                    let ledger = parts.ledger.as_ref();
                    return Err(refuse(ledger, call, Some(&operation), refusal).await);
                }
                Err(end) => return Err(end),
            }
        };
        let by_grant = matches!(start, StartRule::ApprovalOrGrant(_)) && approval.is_none();
        let operation = match &grant {
            Some(grant) if by_grant => operation.permitted(grant),
            _ => operation,
        };
        let record = Some(CallRecord { operation, resumes, approval });
        Ok(ClearedCall { ticket, grant, record })
    }
}

/// Returns true if a refusal leaves an audit row. A request that waits for a reviewer has left one already.
fn is_noted(refusal: &Refusal) -> bool {
    refusal.is_denial()
        || matches!(
            refusal,
            Refusal::RateLimited { .. }
                | Refusal::SerialTimeout { .. }
                | Refusal::PlanStale { .. }
                | Refusal::PreviewFailed(_)
                | Refusal::DecisionChanged { .. }
        )
}

/// Waits until a call with a record may start. Returns what the approval is bound to that the start uses, if it uses one.
async fn approved_start(
    review: &ApprovalFlow<'_>,
    start: StartRule,
    input: RateInput<'_>,
    ctx: &Ctx,
) -> Result<(Option<Binding>, Ticket), RecordedEnd> {
    let mut start = start;
    let mut subject: Option<ApprovalSubject> = None;
    for _ in 0..MOST_REQUESTS {
        let mut approval = match start {
            StartRule::Free => None,
            StartRule::Approval(binding)
            | StartRule::ExpectedApproval(binding)
            | StartRule::ApprovalOrGrant(binding) => Some(binding),
            StartRule::Review => {
                // A reviewer may take long, so later serial calls do not wait for this one.
                review.call.request.release_position();
                Some(review.obtain(ctx, subject.take()).await?)
            }
        };
        let ticket =
            admit(review.parts, review.call, input, ctx).await.map_err(RecordedEnd::Refused)?;
        // State comes last, when no other call of the group can change it.
        match (review.check_state(approval).await, start) {
            (Ok(()), _) => {}
            (Err(StateChange::Plan(refusal)), _) => return Err(RecordedEnd::Refused(refusal)),
            (Err(StateChange::Review(_)), StartRule::ApprovalOrGrant(_)) => approval = None,
            (Err(StateChange::Review(_)), StartRule::ExpectedApproval(_)) => {
                let tool = review.call.entry.name().to_owned();
                let change = ChangedDecision::State;
                return Err(RecordedEnd::Refused(Refusal::DecisionChanged { tool, change }));
            }
            (Err(StateChange::Review(now)), _) => {
                // Another state is another request. The rate limit does not count this attempt.
                drop(ticket);
                (start, subject) = (StartRule::Review, Some(now));
                continue;
            }
        }
        return Ok((approval, ticket));
    }
    Err(RecordedEnd::Refused(review.operation.approval_required(None)))
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

/// Waits for rate limit and serial turn.
async fn admit(
    parts: &Parts,
    call: &EvaluatedCall<'_>,
    input: RateInput<'_>,
    ctx: &Ctx,
) -> Result<Ticket, Refusal> {
    let pass = match call.entry.safeguards.rate {
        None => None,
        Some(rate) => {
            let (principal, tool) = (&call.request.caller.principal, call.entry.name());
            let passed = parts.rates.admit(rate, principal, tool, input);
            let tool = tool.to_owned();
            Some(passed.map_err(|wait| Refusal::RateLimited { tool, rate, wait })?)
        }
    };
    Ok(Ticket { pass, _turn: serial_turn(parts, call, ctx).await? })
}

/// Waits for the turn of a call that may change data, if its tool is in a serial group.
async fn serial_turn(
    parts: &Parts,
    call: &EvaluatedCall<'_>,
    ctx: &Ctx,
) -> Result<Option<SerialTurn>, Refusal> {
    let Some(group) = call.entry.safeguards.serial.as_deref() else { return Ok(None) };
    if call.hints.is_read_only() {
        return Ok(None);
    }
    // Boxed, so that the futures of calls without a group stay small.
    let turn = match &call.request.slots.position {
        Some(position) => Box::pin(position.turn(group, ctx.deadline().passed())).await,
        None => {
            let position = parts.serial.arrive();
            Box::pin(position.turn(group, ctx.deadline().passed())).await
        }
    };
    turn.map(Some).map_err(|_| Refusal::SerialTimeout { group: group.to_owned() })
}

/// Records a refusal and returns it. Boxed, so that the futures of calls that are not refused stay small.
fn refuse<'a>(
    ledger: Option<&'a ServerLedger>,
    call: &'a EvaluatedCall<'_>,
    operation: Option<&'a RecordedCall>,
    refusal: Refusal,
) -> BoxFuture<'a, RecordedEnd> {
    Box::pin(async move {
        match (operation, ledger) {
            (Some(operation), _) => operation.note_refusal(&refusal).await,
            (None, Some(ledger)) => ledger.note_refusal(call, &refusal).await,
            (None, None) => {}
        }
        RecordedEnd::Refused(refusal)
    })
}
