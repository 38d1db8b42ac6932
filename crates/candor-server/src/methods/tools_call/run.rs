//! What may start, to its end: at once, or with a record that outlives its caller.

use candor_ledger::{Grant, OutcomeKind};
use candor_protocol::names::method;
use candor_protocol::rpc::ErrorObject;
use futures_util::FutureExt as _;

use super::gate::{Admitted, Kept};
use super::says::Says;
use super::shape::Shaping;
use crate::attempt::{Ran, Subject, attempt, attempt_in_time};
use crate::ctx::Ctx;
use crate::dispatch::Answered;
use crate::exchange::Exchange;
use crate::ledger::once::Ended;
use crate::ledger::{Call, Noted, Watched, words};
use crate::methods::asking;
use crate::round::Binding;
use crate::tool::{Output, Prepared, ToolError};

/// A call that may start.
pub(super) struct Start<'c> {
    pub(super) call: &'c Call<'c>,
    pub(super) says: &'c Says<'c>,
    pub(super) binding: &'c Binding<'c>,
    pub(super) prepared: Box<dyn Prepared>,
    pub(super) shaping: Shaping,
}

impl Start<'_> {
    /// run, shape, record: there is nothing to remember but that it was called.
    pub(super) async fn at_once(
        self,
        ctx: &Ctx,
        mut admitted: Admitted,
        grant: Option<&Grant>,
    ) -> Answered {
        let Self { call, says, binding, .. } = self;
        let (engine, ledger) = (says.engine, says.engine.ledger());
        if let Some(Err(error)) = ledger.map(|ledger| ledger.check(call.hints)) {
            ctx.end().await;
            return Ok(says.refused(error));
        }
        admitted.begins();
        let watched = ledger.map(|ledger| ledger.watch(call));
        let subject = Subject { method: method::TOOLS_CALL, name: says.name };
        let ran = attempt_in_time(ctx, subject, |ctx| self.prepared.run(ctx)).await;
        // Before anything is waited for: others may be as large.
        let ran = within_capacity(ran, call.exchange);
        ctx.end().await;
        let duration = watched.map(Watched::ended);
        let (outcome, ended) = match ran {
            Ok(Ran::Asks(questions)) => {
                admitted.asks();
                let carried = says.carried;
                return Ok(asking::ask(engine, call.exchange, binding, questions, None, carried));
            }
            Ok(ran) => {
                let ended = self.shaping.shape(ran);
                (ended.kind(), Ok(ended))
            }
            Err((kind, error)) => (Some(kind), Err(error)),
        };
        drop(admitted);
        if let Some(ledger) = ledger {
            let event = "called";
            let permitted = grant.map(words::permitted);
            // Boxed, for most calls leave it aside, and all carry it.
            Box::pin(ledger.note_end(call, Noted { event, outcome, duration }, permitted)).await;
        }
        says.ended(ended?)
    }

    /// claim, run, shape, record; in a task of its own, so that a caller who hangs up stops nothing half way.
    pub(super) async fn kept(self, ctx: Ctx, admitted: Admitted, kept: Kept) -> Answered {
        let Self { says, binding, prepared, shaping, .. } = self;
        let Kept { operation, resumes, approval } = kept;
        let work = work(ctx.clone(), shaping, says.name.to_owned(), prepared, admitted).boxed();
        let says = says.approved(approval.is_some());
        let told = operation.carry_out(&ctx, approval, resumes, work).await;
        says.told(told, binding)
    }
}

/// What a handler returned. Where there is no capacity for it, it is dropped: how the call has ended, and the error that its caller
/// gets instead.
fn within_capacity(
    ran: Ran<Result<Output, ToolError>>,
    exchange: &Exchange,
) -> Result<Ran<Result<Output, ToolError>>, (OutcomeKind, ErrorObject)> {
    if let (Ran::Done(Ok(output)), Some(capacity)) = (&ran, &exchange.response) {
        let weight = output.weight();
        if let Err(full) = capacity.reserve(weight) {
            let kind = if output.is_error() { OutcomeKind::Failure } else { OutcomeKind::Success };
            return Err((kind, full.unheld(weight)));
        }
    }
    Ok(ran)
}

/// The handler of a call that has a record, to its end. Whoever drops this before it is polled has not started the call.
async fn work(
    ctx: Ctx,
    shaping: Shaping,
    name: String,
    prepared: Box<dyn Prepared>,
    mut admitted: Admitted,
) -> Ended {
    admitted.begins();
    let subject = Subject { method: method::TOOLS_CALL, name: &name };
    let ended = match attempt(&ctx, subject, |ctx| prepared.run(ctx)).await {
        // It has no deadline: what has begun is not given up half way.
        Ran::Panicked => Ended::Panicked,
        ran => shaping.shape(ran),
    };
    drop(admitted);
    ended
}
