//! What may start, to its end: at once, or with a record that outlives its caller.

use candor_ledger::Grant;
use candor_protocol::names::method;
use futures_util::FutureExt as _;

use super::gate::{Admitted, admit, refuse};
use super::says::Says;
use super::shape::Shaping;
use crate::admission::plan::Planned;
use crate::admission::rate::Coming;
use crate::attempt::{Ran, Subject, attempt, attempt_in_time};
use crate::ctx::Ctx;
use crate::dispatch::Answered;
use crate::gate::approval::{Approval, Approved};
use crate::ledger::once::Ended;
use crate::ledger::operation::Operation;
use crate::ledger::{Call, Noted, Watched, words};
use crate::methods::asking;
use crate::round::{Binding, Resumes};
use crate::tool::{Entry, Prepared};

/// A call that the gate has let through.
pub(super) struct Start<'c> {
    pub(super) call: &'c Call<'c>,
    pub(super) says: &'c Says<'c>,
    pub(super) binding: &'c Binding<'c>,
    pub(super) prepared: Box<dyn Prepared>,
    pub(super) shaping: Shaping,
}

/// What a call has that is remembered.
pub(super) struct Kept<'p> {
    pub(super) operation: Box<Operation>,
    pub(super) resumes: Option<Resumes>,
    /// Whether a person must be asked.
    pub(super) asks: bool,
    pub(super) preview: Option<&'p Entry>,
}

impl Start<'_> {
    /// admit, run, shape, record: there is nothing to remember but that it was called.
    pub(super) async fn at_once(
        self,
        ctx: &Ctx,
        planned: &Planned<'_>,
        grant: Option<&Grant>,
        goes_on: bool,
    ) -> Answered {
        let Self { call, says, binding, .. } = self;
        let (engine, ledger) = (says.engine, says.engine.ledger());
        let coming = Coming { key: None, goes_on };
        let mut admitted = match admit(engine, planned, call, coming, ctx).await {
            Ok(admitted) => admitted,
            Err(error) => {
                return says.told(refuse(ledger, call, None, error).await, binding);
            }
        };
        admitted.begins();
        let watched = ledger.map(|ledger| ledger.watch(call));
        let subject = Subject { method: method::TOOLS_CALL, name: says.name };
        let ran = attempt_in_time(ctx, subject, |ctx| self.prepared.run(ctx)).await;
        ctx.end().await;
        let duration = watched.map(Watched::ended);
        let ended = match ran {
            Ran::Asks(questions) => {
                admitted.asks();
                return Ok(asking::ask(engine, call.exchange, binding, questions, None));
            }
            ran => self.shaping.shape(ran),
        };
        drop(admitted);
        if let Some(ledger) = ledger {
            let (event, outcome) = ("called", ended.kind());
            let permitted = grant.map(words::permitted);
            ledger.note_end(call, Noted { event, outcome, duration, permitted }).await;
        }
        says.ended(ended)
    }

    /// ask, admit, claim, run, shape, record.
    pub(super) async fn kept(self, ctx: Ctx, planned: Planned<'_>, kept: Kept<'_>) -> Answered {
        let Self { call, says, binding, prepared, shaping } = self;
        let Kept { operation, resumes, asks, preview } = kept;
        let engine = says.engine;
        let mut approved = Approved { binding: None, planned };
        if asks {
            let operation = &operation;
            let asking = Approval { engine, call, operation, preview, planned };
            approved = match asking.get(&ctx).await {
                Ok(approved) => approved,
                Err(told) => {
                    ctx.end().await;
                    return says.told(told, binding);
                }
            };
        }
        let Approved { binding: approval, planned } = approved;

        // Counted only now: who comes back while a person thinks about it has not called again.
        let goes_on = matches!(resumes, Some(Resumes::Round { .. }));
        let coming = Coming { key: Some(operation.key()), goes_on };
        let admitted = match admit(engine, &planned, call, coming, &ctx).await {
            Ok(admitted) => admitted,
            Err(error) => {
                let told = refuse(engine.ledger(), call, Some(&operation), error).await;
                ctx.end().await;
                return says.told(told, binding);
            }
        };

        // In a task of their own, so that a caller who hangs up stops nothing half way.
        let work = work(ctx.clone(), shaping, says.name.to_owned(), prepared, admitted).boxed();
        let told = operation.carry_out(&ctx, approval, resumes, work).await;
        says.told(told, binding)
    }
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
