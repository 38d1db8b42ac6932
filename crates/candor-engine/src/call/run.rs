//! Runs an admitted call: at once, or with a record that outlives its caller.

use std::sync::Arc;
use std::time::Duration;

use candor_ledger::{Grant, OutcomeKind};
use candor_protocol::names::method;
use futures_util::future::BoxFuture;

use super::admit::{CallRecord, Ticket};
use super::shape::ResultShaper;
use crate::ctx::Ctx;
use crate::ctx::attempt::{AttemptEnd, RunSubject, start, step, step_in_time};
use crate::ctx::round::{Answers, Questions};
use crate::error::{Refusal, ToolError};
use crate::outcome::{CallEnd, RecordedEnd};
use crate::parts::Parts;
use crate::peer::Peer;
use crate::record::keyed::{HandlerResult, RecordedWork};
use crate::record::parked::{ParkedCalls, ParkedHandler, ResumeSignal};
use crate::record::recorded::grant_note;
use crate::record::{AuditEnd, EvaluatedCall, ParkedNote, WatchedCall};
use crate::tool::{Output, Prepared};
use crate::trace;

/// A call that may start.
pub(super) struct CallStart<'c> {
    pub(super) parts: &'c Parts,
    pub(super) call: &'c EvaluatedCall<'c>,
    /// The name that the caller used.
    pub(super) name: &'c str,
    pub(super) prepared: Box<dyn Prepared>,
    pub(super) shaper: ResultShaper,
}

impl CallStart<'_> {
    /// Runs a call without a record: run, shape, add an audit row.
    pub(super) async fn at_once(
        self,
        ctx: &Ctx,
        mut ticket: Ticket,
        grant: Option<&Grant>,
    ) -> UnrecordedEnd {
        let Self { parts, call, name, prepared, shaper } = self;
        let ledger = parts.ledger.as_ref();
        ticket.begins();
        let watched = ledger.map(|ledger| ledger.watch(call));
        let subject = RunSubject { method: method::TOOLS_CALL, name };
        let ran = match start(subject, || prepared.run(ctx.clone())) {
            None => AttemptEnd::Panicked,
            Some(mut handler) => match step_in_time(ctx, subject, &mut handler).await {
                AttemptEnd::Parks(questions) => {
                    ctx.detach().await;
                    let note = watched.map(|watched| watched.park(grant.map(grant_note)));
                    let (ctx, name) = (ctx.clone(), name.to_owned());
                    let (handler, prepared) = (Some(handler), None);
                    let work = HandlerWork { ctx, name, handler, prepared, shaper, ticket };
                    let parked = (parts.parked.clone(), parts.parked.park(&questions));
                    let parked = stay_parked(parked, work, note, parts.limits.round);
                    tokio::spawn(trace::carried(parked));
                    return UnrecordedEnd::Asks(questions);
                }
                ran => ran,
            },
        };
        // Reserve capacity before the next await: other results may be as large.
        let ran = match reserve_result(&ran, call) {
            Some(refused) => Err(refused),
            None => Ok(ran),
        };
        ctx.end().await;
        let duration = watched.map(WatchedCall::ended);
        let (outcome, end) = match ran {
            Err((kind, refusal)) => (Some(kind), CallEnd::Refused(refusal)),
            Ok(AttemptEnd::Asks(questions)) => {
                ticket.asks();
                return UnrecordedEnd::Asks(questions);
            }
            Ok(ran) => {
                let ended = shaper.shape(ran);
                (ended.kind(), end(ended))
            }
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
        let Self { parts, name, prepared, shaper, .. } = self;
        let CallRecord { operation, resumes, approval } = record;
        let (name, prepared) = (name.to_owned(), Some(prepared));
        let work = HandlerWork { ctx: ctx.clone(), name, handler: None, prepared, shaper, ticket };
        let parking = (parts.parked.clone(), parts.limits.round);
        operation.run_recorded(&ctx, approval, resumes, Box::new(work), parking).await
    }
}

/// Holds a handler without a record between two requests, until it ends, or until no request brings its answers in time.
async fn stay_parked(
    (calls, mut parked): (ParkedCalls, ParkedHandler),
    mut work: HandlerWork,
    note: Option<ParkedNote>,
    patience: Duration,
) {
    while let Some(ResumeSignal { answers, peer, reply }) = parked.wait(patience).await {
        let gone = peer.gone().clone();
        work.resume(peer, answers).await;
        let ended = tokio::select! {
            biased;
            ended = work.step() => Some(ended),
            () = gone.cancelled() => None,
        };
        let Some(ended) = ended else { return work.ctx.stop() };
        work.ctx.detach().await;
        let kind = ended.kind();
        let end = match ended {
            HandlerResult::Result { result, refusal, .. } => {
                RecordedEnd::Done { result, note: None, refusal }
            }
            HandlerResult::Unanswerable(error) => RecordedEnd::Unanswerable(error),
            HandlerResult::Parks(questions) => {
                parked = calls.park(&questions);
                let resumes = None;
                let _ = reply.send(RecordedEnd::Asks { questions, resumes });
                continue;
            }
            // Such a question runs the handler again, and what it relayed would be asked again.
            HandlerResult::Asks(_) | HandlerResult::Panicked => {
                RecordedEnd::Refused(Refusal::lost())
            }
        };
        if let Some(note) = note {
            note.end(kind).await;
        }
        let _ = reply.send(end);
        return;
    }
    tracing::warn!(tool = work.name, "the answers to relayed questions did not come in time");
}

/// The end of a call without a record.
#[allow(clippy::large_enum_variant)] // Moved once per call. A box would be one more allocation.
pub(super) enum UnrecordedEnd {
    End(CallEnd),
    /// The handler asks. The answers start it again, or resume it where it is parked.
    Asks(Questions),
}

/// The handler of a call, with what its end needs. If it is dropped before its first step, the call has not started.
struct HandlerWork {
    ctx: Ctx,
    name: String,
    /// The call before it starts.
    prepared: Option<Box<dyn Prepared>>,
    /// The call once it has started.
    handler: Option<BoxFuture<'static, Result<Output, ToolError>>>,
    shaper: ResultShaper,
    ticket: Ticket,
}

impl RecordedWork for HandlerWork {
    fn step(&mut self) -> BoxFuture<'_, HandlerResult> {
        Box::pin(async move {
            let subject = RunSubject { method: method::TOOLS_CALL, name: &self.name };
            if let Some(prepared) = self.prepared.take() {
                self.ticket.begins();
                let ctx = self.ctx.clone();
                self.handler = start(subject, move || prepared.run(ctx));
            }
            let Some(handler) = &mut self.handler else { return HandlerResult::Panicked };
            // No deadline applies: a started call is not stopped half way.
            match step(&self.ctx, subject, handler).await {
                AttemptEnd::Panicked => HandlerResult::Panicked,
                ran => self.shaper.shape(ran),
            }
        })
    }

    fn resume(&mut self, peer: Arc<dyn Peer>, answers: Answers) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.ctx.resume(peer).await;
            self.ctx.round().deliver(answers);
        })
    }
}

/// Returns the end of a call that has no record and asks nothing.
fn end(ended: HandlerResult) -> CallEnd {
    match ended {
        HandlerResult::Result { result, refusal, .. } => {
            CallEnd::Done { result, note: None, refusal }
        }
        HandlerResult::Unanswerable(error) => CallEnd::Unanswerable(error),
        HandlerResult::Panicked | HandlerResult::Asks(_) | HandlerResult::Parks(_) => {
            CallEnd::Refused(Refusal::Internal)
        }
    }
}

/// Reserves capacity for what a handler returned. If there is none, returns how the call ended and the reason for the caller.
fn reserve_result(
    ran: &AttemptEnd<Result<Output, ToolError>>,
    call: &EvaluatedCall<'_>,
) -> Option<(OutcomeKind, Refusal)> {
    let AttemptEnd::Done(Ok(output)) = ran else { return None };
    let bytes = output.weight();
    let scope = call.request.slots.response.as_ref()?.reserve(bytes).err()?;
    let kind = if output.is_error() { OutcomeKind::Failure } else { OutcomeKind::Success };
    Some((kind, Refusal::ResponseDropped { bytes, scope }))
}
