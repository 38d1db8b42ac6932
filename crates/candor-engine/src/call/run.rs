//! Runs an admitted call: at once, or with a record that outlives its caller.

use candor_ledger::{Grant, OutcomeKind};
use candor_protocol::names::method;
use futures_util::FutureExt as _;

use super::admit::{CallRecord, Ticket};
use super::shape::ResultShaper;
use crate::ctx::Ctx;
use crate::ctx::attempt::{AttemptEnd, RunSubject, attempt, attempt_in_time};
use crate::ctx::round::Questions;
use crate::error::{Refusal, ToolError};
use crate::outcome::{CallEnd, RecordedEnd};
use crate::parts::Parts;
use crate::record::keyed::HandlerResult;
use crate::record::recorded::grant_note;
use crate::record::{AuditEnd, EvaluatedCall, WatchedCall};
use crate::tool::{Output, Prepared};

/// A call that may start.
pub(super) struct CallStart<'c> {
    pub(super) parts: &'c Parts,
    pub(super) call: &'c EvaluatedCall<'c>,
    /// The name that the caller used.
    pub(super) name: &'c str,
    pub(super) prepared: Box<dyn Prepared>,
    pub(super) shaper: ResultShaper,
}

/// The end of a call without a record.
pub(super) enum UnrecordedEnd {
    End(CallEnd),
    /// The handler asks. The answers start it again.
    Asks(Questions),
}

impl CallStart<'_> {
    /// Runs a call without a record: run, shape, add an audit row.
    pub(super) async fn at_once(
        self,
        ctx: &Ctx,
        mut ticket: Ticket,
        grant: Option<&Grant>,
    ) -> UnrecordedEnd {
        let Self { parts, call, name, .. } = self;
        let ledger = parts.ledger.as_ref();
        ticket.begins();
        let watched = ledger.map(|ledger| ledger.watch(call));
        let subject = RunSubject { method: method::TOOLS_CALL, name };
        let ran = attempt_in_time(ctx, subject, |ctx| self.prepared.run(ctx)).await;
        // Reserve capacity before the next await: other results may be as large.
        let ran = within_capacity(ran, call);
        ctx.end().await;
        let duration = watched.map(WatchedCall::ended);
        let (outcome, end) = match ran {
            Ok(AttemptEnd::Asks(questions)) => {
                ticket.asks();
                return UnrecordedEnd::Asks(questions);
            }
            Ok(ran) => {
                let ended = self.shaper.shape(ran);
                (ended.kind(), end(ended))
            }
            Err((kind, refusal)) => (Some(kind), CallEnd::Refused(refusal)),
        };
        drop(ticket);
        if let Some(ledger) = ledger {
            let event = "called";
            let permitted = grant.map(grant_note);
            // Boxed, because most calls skip it, and every call would carry its size.
            Box::pin(ledger.note_end(call, AuditEnd { event, outcome, duration }, permitted)).await;
        }
        UnrecordedEnd::End(end)
    }

    /// Runs a call with a record: claim, run, shape, record. A task of its own does this, so that a disconnect does not interrupt
    /// it.
    pub(super) async fn recorded(
        self,
        ctx: Ctx,
        ticket: Ticket,
        record: CallRecord,
    ) -> RecordedEnd {
        let Self { name, prepared, shaper, .. } = self;
        let CallRecord { operation, resumes, approval } = record;
        let work = work(ctx.clone(), shaper, name.to_owned(), prepared, ticket).boxed();
        operation.run_recorded(&ctx, approval, resumes, work).await
    }
}

/// Returns the end of a call that has no record and asks nothing.
fn end(ended: HandlerResult) -> CallEnd {
    match ended {
        HandlerResult::Result { result, refusal, .. } => {
            CallEnd::Done { result, note: None, refusal }
        }
        HandlerResult::Unanswerable(error) => CallEnd::Unanswerable(error),
        HandlerResult::Panicked | HandlerResult::Asks(_) => CallEnd::Refused(Refusal::Internal),
    }
}

/// Returns what a handler returned, if there is capacity for it. If not, drops it, and returns how the call ended and the reason for
/// the caller.
fn within_capacity(
    ran: AttemptEnd<Result<Output, ToolError>>,
    call: &EvaluatedCall<'_>,
) -> Result<AttemptEnd<Result<Output, ToolError>>, (OutcomeKind, Refusal)> {
    if let (AttemptEnd::Done(Ok(output)), Some(capacity)) = (&ran, &call.request.slots.response) {
        let bytes = output.weight();
        if let Err(scope) = capacity.reserve(bytes) {
            let kind = if output.is_error() { OutcomeKind::Failure } else { OutcomeKind::Success };
            return Err((kind, Refusal::ResponseDropped { bytes, scope }));
        }
    }
    Ok(ran)
}

/// Runs the handler of a call that has a record. If this future is dropped before its first poll, the call has not started.
async fn work(
    ctx: Ctx,
    shaper: ResultShaper,
    name: String,
    prepared: Box<dyn Prepared>,
    mut ticket: Ticket,
) -> HandlerResult {
    ticket.begins();
    let subject = RunSubject { method: method::TOOLS_CALL, name: &name };
    let ended = match attempt(&ctx, subject, |ctx| prepared.run(ctx)).await {
        // No deadline applies: a started call is not stopped half way.
        AttemptEnd::Panicked => HandlerResult::Panicked,
        ran => shaper.shape(ran),
    };
    drop(ticket);
    ended
}
