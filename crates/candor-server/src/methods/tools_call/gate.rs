//! The gate: whether a call may start, whether it needs approval, and what it waits for.

use candor_hints::Verdict;
use candor_ledger::{Binding, Grant};

use crate::BoxFuture;
use crate::admission::plan::PlanStatus;
use crate::admission::rate::{RateInput, RatePermit};
use crate::admission::serial::SerialTurn;
use crate::ctx::Ctx;
use crate::engine::Engine;
use crate::gate::approval::{ApprovalFlow, ApprovedStart, granted};
use crate::ledger::operation::{Outcome, RecordedCall, Request};
use crate::ledger::{Call, ServerLedger, words};
use crate::round::ResumePoint;
use crate::tool::{RegisteredTool, ToolError};

/// A call before the gate, with the facts for the decision.
pub(super) struct CallFacts<'c, 'p> {
    pub(super) call: &'c Call<'c>,
    /// Its record, if it has a key.
    pub(super) operation: Option<Box<RecordedCall>>,
    pub(super) resumes: Option<ResumePoint>,
    pub(super) preview: Option<&'p RegisteredTool>,
    /// The plan token that the caller sent.
    pub(super) token: Option<&'c str>,
    /// The caller expects the server to ask for approval, and relies on it.
    pub(super) expects_approval: bool,
}

/// A call that the policy does not deny. It may still need approval.
pub(super) struct GateResult<'c, 'p> {
    call: &'c Call<'c>,
    /// Its record, if it has a key or needs approval.
    operation: Option<Box<RecordedCall>>,
    resumes: Option<ResumePoint>,
    /// Whether it needs approval.
    asks: bool,
    /// The grant that covers it.
    grant: Option<Box<Grant>>,
    /// The binding of an unused approval of this call. It is used before a grant.
    given: Option<Binding>,
    preview: Option<&'p RegisteredTool>,
    planned: PlanStatus<'p>,
}

impl<'c, 'p> CallFacts<'c, 'p> {
    /// Checks policy, plan and grants.
    pub(super) async fn judged(self, engine: &Engine) -> Result<GateResult<'c, 'p>, Outcome> {
        let Self { call, mut operation, resumes, preview, token, expects_approval } = self;
        let (ledger, policy, name) = (engine.ledger(), &engine.parts().policy, call.entry.name());
        let asks = match policy.judge(call.entry, call.hints) {
            Verdict::Allow => false,
            Verdict::Deny => {
                let error = words::not_allowed(name);
                return Err(refuse(ledger, call, operation.as_deref(), error).await);
            }
            // A later round needs no new approval: the policy was checked when the call started.
            Verdict::Ask => !matches!(resumes, Some(ResumePoint::Round { .. })),
        };
        // Check the plan first: no reviewer is asked about a call that the caller did not preview.
        let planned = match engine.plans().check(call, preview, token) {
            Ok(planned) => planned,
            Err(error) => return Err(refuse(ledger, call, operation.as_deref(), error).await),
        };
        // A call that resumes after an approval request uses the same record, so that one approval starts one run.
        if operation.is_none() && (asks || resumes.is_some()) {
            // Without a ledger there is no approval channel, and no channel means no.
            let Some(ledger) = ledger else {
                return Err(Outcome::Refused(words::nobody_to_ask(name)));
            };
            operation = Some(RecordedCall::keyless(ledger, call));
        }
        // The answer of the caller's own client counts before a grant: it may be a denial.
        let answers = matches!(resumes, Some(ResumePoint::Approval { .. }));
        let grant = match &operation {
            Some(kept) if asks && !answers => Box::pin(granted(policy, call, kept)).await,
            _ => Ok(None),
        };
        let mut grant = grant.map_err(Outcome::Refused)?.map(Box::new);
        let mut request = Request::None;
        if let (Some(found), Some(kept)) = (&grant, &operation) {
            let review = kept.request().await;
            let review = review.map_err(|error| Outcome::Refused(words::unavailable(&error)))?;
            request = match (review.precedes(found), review) {
                (true, Request::Denied { error, .. }) => {
                    return Err(refuse(ledger, call, Some(kept), error).await);
                }
                (_, review) => review,
            };
        }
        if expects_approval && matches!(request, Request::Open | Request::Approved(_)) {
            // A reviewer already has the request that the caller relies on, so the grant does not replace it.
            grant = None;
        }
        // A later round needs no approval of its own: the first round was checked, and used the approval.
        let resumed = matches!(resumes, Some(ResumePoint::Round { .. }));
        if expects_approval && !resumed && (!asks || grant.is_some()) {
            let error = words::decision_changed(name, grant.as_deref());
            return Err(refuse(ledger, call, operation.as_deref(), error).await);
        }
        let asks = asks && grant.is_none();
        let mut given = None;
        if let Some(grant) = &grant
            && let Some(kept) = operation.take()
        {
            operation = match request {
                Request::Approved(binding) => {
                    given = Some(binding);
                    Some(kept)
                }
                // The start closes an open request of this call, so that no reviewer decides on a call that has run.
                Request::Open => Some(kept.permitted(grant)),
                // A call under a grant needs no approval, and so no record.
                _ if kept.is_keyless() => None,
                _ => Some(kept.permitted(grant)),
            };
        }
        Ok(GateResult { call, operation, resumes, asks, grant, given, preview, planned })
    }
}

/// A call that may start.
pub(super) struct ClearedCall {
    pub(super) admitted: Ticket,
    /// The grant that replaces an approval, if one does.
    pub(super) grant: Option<Box<Grant>>,
    /// Its record, if it has one.
    pub(super) kept: Option<CallRecord>,
}

/// The record of a call that may start, and what its start event must name.
pub(super) struct CallRecord {
    pub(super) operation: Box<RecordedCall>,
    pub(super) resumes: Option<ResumePoint>,
    /// The approval that the start uses. `None` if it needs none.
    pub(super) approval: Option<Binding>,
}

impl GateResult<'_, '_> {
    /// Returns true if the call has a record.
    pub(super) fn is_kept(&self) -> bool {
        self.operation.is_some()
    }

    /// Waits for approval, rate limit and serial turn, and checks the plan. `goes_on` is true if the call brings the answer to a
    /// question of an earlier round.
    pub(super) async fn enter(
        mut self,
        engine: &Engine,
        ctx: &Ctx,
        goes_on: bool,
    ) -> Result<ClearedCall, Outcome> {
        match self.operation.take() {
            None => {
                let (call, coming) = (self.call, RateInput { key: None, goes_on });
                match admit(engine, &self.planned, call, coming, ctx).await {
                    Ok(admitted) => Ok(ClearedCall { admitted, grant: self.grant, kept: None }),
                    Err(error) => Err(refuse(engine.ledger(), call, None, error).await),
                }
            }
            // Boxed, because few calls get here: the future of every request is as large as its largest branch.
            Some(operation) => Box::pin(self.enter_kept(engine, ctx, operation)).await,
        }
    }

    async fn enter_kept(
        self,
        engine: &Engine,
        ctx: &Ctx,
        operation: Box<RecordedCall>,
    ) -> Result<ClearedCall, Outcome> {
        let Self { call, resumes, asks, grant, given, preview, planned, .. } = self;
        let review = ApprovalFlow { engine, call, operation: &operation, preview, planned };
        let approved = match given {
            Some(binding) => review.given(binding).await?,
            None if asks => {
                // A reviewer may take long, so later serial calls do not wait for this one.
                call.exchange.release_position();
                match review.get(ctx).await {
                    Ok(approved) => approved,
                    Err(told) => {
                        if let Outcome::Refused(error) = &told
                            && error.is_denial()
                        {
                            operation.note_refusal(error).await;
                        }
                        return Err(told);
                    }
                }
            }
            None => ApprovedStart { binding: None, planned },
        };
        let ApprovedStart { binding: approval, planned } = approved;
        // Counted only now: a caller that retries while a reviewer decides makes no new call.
        let goes_on = matches!(resumes, Some(ResumePoint::Round { .. }));
        let coming = RateInput { key: Some(operation.key()), goes_on };
        match admit(engine, &planned, call, coming, ctx).await {
            Ok(admitted) => {
                let operation = match (&grant, given.is_some() && approval.is_none()) {
                    (Some(grant), true) => operation.permitted(grant),
                    _ => operation,
                };
                Ok(ClearedCall {
                    admitted,
                    grant,
                    kept: Some(CallRecord { operation, resumes, approval }),
                })
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
