//! Runs an admitted call: at once, or with a record that outlives its caller.

use candor_ledger::{Grant, OutcomeKind};
use candor_protocol::names::method;
use candor_protocol::rpc::ErrorObject;
use futures_util::FutureExt as _;

use super::admit::{CallRecord, Ticket};
use super::says::CallEncoder;
use super::shape::ResultShaper;
use crate::attempt::{AttemptEnd, RunSubject, attempt, attempt_in_time};
use crate::ctx::Ctx;
use crate::dispatch::DispatchResult;
use crate::exchange::RequestContext;
use crate::ledger::once::HandlerResult;
use crate::ledger::{Call, CallEnd, WatchedCall, words};
use crate::methods::asking;
use crate::round::RequestBinding;
use crate::tool::{Output, Prepared, ToolError};

/// A call that may start.
pub(super) struct CallStart<'c> {
    pub(super) call: &'c Call<'c>,
    pub(super) says: &'c CallEncoder<'c>,
    pub(super) binding: &'c RequestBinding<'c>,
    pub(super) prepared: Box<dyn Prepared>,
    pub(super) shaping: ResultShaper,
}

impl CallStart<'_> {
    /// Runs a call without a record: run, shape, add an audit row.
    pub(super) async fn at_once(
        self,
        ctx: &Ctx,
        mut admitted: Ticket,
        grant: Option<&Grant>,
    ) -> DispatchResult {
        let Self { call, says, binding, .. } = self;
        let (engine, ledger) = (says.engine, says.engine.ledger());
        admitted.begins();
        let watched = ledger.map(|ledger| ledger.watch(call));
        let subject = RunSubject { method: method::TOOLS_CALL, name: says.name };
        let ran = attempt_in_time(ctx, subject, |ctx| self.prepared.run(ctx)).await;
        // Reserve capacity before the next await: other results may be as large.
        let ran = within_capacity(ran, call.exchange);
        ctx.end().await;
        let duration = watched.map(WatchedCall::ended);
        let (outcome, ended) = match ran {
            Ok(AttemptEnd::Asks(questions)) => {
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
            // Boxed, because most calls skip it, and every call would carry its size.
            Box::pin(ledger.note_end(call, CallEnd { event, outcome, duration }, permitted)).await;
        }
        says.ended(ended?)
    }

    /// Runs a call with a record: claim, run, shape, record. A task of its own does this, so that a disconnect does not interrupt
    /// it.
    pub(super) async fn kept(self, ctx: Ctx, admitted: Ticket, kept: CallRecord) -> DispatchResult {
        let Self { says, binding, prepared, shaping, .. } = self;
        let CallRecord { operation, resumes, approval } = kept;
        let work = work(ctx.clone(), shaping, says.name.to_owned(), prepared, admitted).boxed();
        let says = says.approved(approval.is_some());
        let told = operation.run_recorded(&ctx, approval, resumes, work).await;
        says.told(told, binding)
    }
}

/// Returns what a handler returned, if there is capacity for it. If not, drops it, and returns how the call ended and the error for
/// the caller.
fn within_capacity(
    ran: AttemptEnd<Result<Output, ToolError>>,
    exchange: &RequestContext,
) -> Result<AttemptEnd<Result<Output, ToolError>>, (OutcomeKind, ErrorObject)> {
    if let (AttemptEnd::Done(Ok(output)), Some(capacity)) = (&ran, &exchange.response) {
        let weight = output.weight();
        if let Err(full) = capacity.reserve(weight) {
            let kind = if output.is_error() { OutcomeKind::Failure } else { OutcomeKind::Success };
            return Err((kind, full.unheld(weight)));
        }
    }
    Ok(ran)
}

/// Runs the handler of a call that has a record. If this future is dropped before its first poll, the call has not started.
async fn work(
    ctx: Ctx,
    shaping: ResultShaper,
    name: String,
    prepared: Box<dyn Prepared>,
    mut admitted: Ticket,
) -> HandlerResult {
    admitted.begins();
    let subject = RunSubject { method: method::TOOLS_CALL, name: &name };
    let ended = match attempt(&ctx, subject, |ctx| prepared.run(ctx)).await {
        // No deadline applies: a started call is not stopped half way.
        AttemptEnd::Panicked => HandlerResult::Panicked,
        ran => shaping.shape(ran),
    };
    drop(admitted);
    ended
}
