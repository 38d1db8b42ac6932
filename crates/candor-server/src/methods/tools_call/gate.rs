//! The gate: whether a call may start, whether a person must be asked first, and what it waits for.

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

/// A call before the gate.
pub(super) struct CallFacts<'c, 'p> {
    pub(super) call: &'c Call<'c>,
    /// Its record, if it has a key.
    pub(super) operation: Option<Box<RecordedCall>>,
    pub(super) resumes: Option<ResumePoint>,
    pub(super) preview: Option<&'p RegisteredTool>,
    /// Of the preview that the caller has looked at.
    pub(super) token: Option<&'c str>,
    /// The caller was told that the server asks for approval, and relies on it.
    pub(super) expects_approval: bool,
}

/// A call that the policy does not forbid. Somebody may still have to be asked about it.
pub(super) struct GateResult<'c, 'p> {
    call: &'c Call<'c>,
    /// The record that it has, or gets because a person is asked.
    operation: Option<Box<RecordedCall>>,
    resumes: Option<ResumePoint>,
    /// Whether a person must be asked.
    asks: bool,
    /// What a person has permitted already.
    grant: Option<Box<Grant>>,
    /// What the approval of this very call is bound to, which is used before a grant.
    given: Option<Binding>,
    preview: Option<&'p RegisteredTool>,
    planned: PlanStatus<'p>,
}

impl<'c, 'p> CallFacts<'c, 'p> {
    /// Policy, plan and permissions.
    pub(super) async fn judged(self, engine: &Engine) -> Result<GateResult<'c, 'p>, Outcome> {
        let Self { call, mut operation, resumes, preview, token, expects_approval } = self;
        let (ledger, policy, name) = (engine.ledger(), &engine.parts().policy, call.entry.name());
        let asks = match policy.judge(call.entry, call.hints) {
            Verdict::Allow => false,
            Verdict::Deny => {
                let error = words::not_allowed(name);
                return Err(refuse(ledger, call, operation.as_deref(), error).await);
            }
            // Whoever goes on with a call was asked when it began.
            Verdict::Ask => !matches!(resumes, Some(ResumePoint::Round { .. })),
        };
        // Nobody is asked about what the caller has not looked at.
        let planned = match engine.plans().check(call, preview, token) {
            Ok(planned) => planned,
            Err(error) => return Err(refuse(ledger, call, operation.as_deref(), error).await),
        };
        // Who goes on with a call that a person was asked about goes on with its record: what was approved once runs once.
        if operation.is_none() && (asks || resumes.is_some()) {
            // Nobody who could be asked means no.
            let Some(ledger) = ledger else {
                return Err(Outcome::Refused(words::nobody_to_ask(name)));
            };
            operation = Some(RecordedCall::keyless(ledger, call));
        }
        // The answer of the caller's own client counts before a grant: it may be a no.
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
            // A reviewer has the request that the caller relies on: the grant does not overtake it.
            grant = None;
        }
        // A later round needs no approval of its own: the first one was checked, and used it up.
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
                // A call under a grant is not asked about, and needs no record.
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
    /// What permits it, where nobody was asked because of that.
    pub(super) grant: Option<Box<Grant>>,
    /// What it has that is remembered.
    pub(super) kept: Option<CallRecord>,
}

/// The record of a call that may start, and what the start has to name.
pub(super) struct CallRecord {
    pub(super) operation: Box<RecordedCall>,
    pub(super) resumes: Option<ResumePoint>,
    /// What the start uses up; nothing where nobody was asked.
    pub(super) approval: Option<Binding>,
}

impl GateResult<'_, '_> {
    /// Whether it has a record.
    pub(super) fn is_kept(&self) -> bool {
        self.operation.is_some()
    }

    /// Person, rate, turn and world. `goes_on`: it brings the answer to a question of an earlier round.
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
            // Boxed, like all that only some calls come to: a request carries room for the most that it may wait in.
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
                // A reviewer may take long, and the call has not started.
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
        // Counted only now: who comes back while a person thinks about it has not called again.
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

/// A call that has been let in: counted if it starts, and alone in its group until this is dropped.
pub(super) struct Ticket {
    pass: Option<RatePermit>,
    _turn: Option<SerialTurn>,
}

impl Ticket {
    /// It is started now.
    pub(super) fn begins(&mut self) {
        if let Some(pass) = &mut self.pass {
            pass.begins();
        }
    }

    /// It has not run to its end, and comes back with answers.
    pub(super) fn asks(&self) {
        if let Some(pass) = &self.pass {
            pass.asks();
        }
    }
}

/// The last of the gate: rate, turn, and the world as the plan has seen it, which is looked at when nobody of the same group
/// can change it any more.
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

/// The turn of a call that may change something, if its tool is in a serial group.
async fn serial_turn(
    engine: &Engine,
    call: &Call<'_>,
    ctx: &Ctx,
) -> Result<Option<SerialTurn>, ToolError> {
    let Some(group) = call.entry.safeguards.serial.as_deref() else { return Ok(None) };
    if call.hints.is_read_only() {
        return Ok(None);
    }
    // Boxed: calls outside of groups carry no room for it.
    let turn = match &call.exchange.position {
        Some(position) => Box::pin(position.turn(group, ctx.deadline())).await,
        None => {
            let position = engine.serial().arrive();
            Box::pin(position.turn(group, ctx.deadline())).await
        }
    };
    turn.map(Some)
}

/// Notes that somebody wants what is not done. Boxed: calls that are not refused carry no room for it.
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
