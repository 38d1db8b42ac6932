//! Runs a handler once: to its end, to its first unanswered questions, or into a panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::Ctx;
use super::round::Questions;
use crate::trace;

/// How a handler ended.
pub(crate) enum AttemptEnd<T> {
    /// With a value.
    Done(T),
    /// With questions for a modern client.
    Asks(Questions),
    /// With questions whose answers the handler awaits where it is.
    Parks(Questions),
    /// With a panic, which is in the log.
    Panicked,
    /// Not in time. The handler was stopped, which is in the log.
    TookTooLong,
}

/// What is run: the method, and the name of the tool or prompt.
#[derive(Clone, Copy)]
pub(crate) struct RunSubject<'a> {
    pub(crate) method: &'static str,
    pub(crate) name: &'a str,
}

/// Runs a handler without a time limit.
pub(crate) async fn attempt<T, F>(
    ctx: &Ctx,
    subject: RunSubject<'_>,
    handler: impl FnOnce(Ctx) -> F,
) -> AttemptEnd<T>
where
    F: Future<Output = T>,
{
    // A handler may panic before its first await, so the call is inside the `async` block.
    let started = AssertUnwindSafe(async { handler(ctx.clone()).await }).catch_unwind();
    match ctx.round().run(started).await {
        Some(Ok(value)) => AttemptEnd::Done(value),
        Some(Err(panic)) => {
            report_panic(subject, &*panic);
            AttemptEnd::Panicked
        }
        None => AttemptEnd::Asks(ctx.round().questions()),
    }
}

/// Starts the handler of a call. Returns `None` if it panicked, which is in the log.
pub(crate) fn start<T>(
    subject: RunSubject<'_>,
    handler: impl FnOnce() -> BoxFuture<'static, T>,
) -> Option<BoxFuture<'static, T>> {
    catch_unwind(AssertUnwindSafe(handler))
        .inspect_err(|panic| report_panic(subject, &**panic))
        .ok()
}

/// Runs the handler of a call until it ends or asks. It can go on later, if it parks.
pub(crate) async fn step<T>(
    ctx: &Ctx,
    subject: RunSubject<'_>,
    handler: &mut BoxFuture<'static, T>,
) -> AttemptEnd<T> {
    match ctx.round().run(AssertUnwindSafe(handler).catch_unwind()).await {
        Some(Ok(value)) => AttemptEnd::Done(value),
        Some(Err(panic)) => {
            report_panic(subject, &*panic);
            AttemptEnd::Panicked
        }
        None if ctx.round().is_relaying() => AttemptEnd::Parks(ctx.round().questions()),
        None => AttemptEnd::Asks(ctx.round().questions()),
    }
}

fn report_panic(subject: RunSubject<'_>, panic: &(dyn Any + Send)) {
    let reason = trace::panic_reason(panic);
    trace::note(format_args!("the handler panicked: {reason}"));
    let RunSubject { method, name } = subject;
    let trace_id = trace::id();
    tracing::error!(method, name, reason, trace_id, "a handler panicked");
}

/// Runs the handler of a call, as [`step`] does, within the deadline of its context.
pub(crate) async fn step_in_time<T>(
    ctx: &Ctx,
    subject: RunSubject<'_>,
    handler: &mut BoxFuture<'static, T>,
) -> AttemptEnd<T> {
    tokio::select! {
        biased;
        ran = step(ctx, subject, handler) => ran,
        () = ctx.deadline().passed() => took_too_long(subject),
    }
}

fn took_too_long<T>(subject: RunSubject<'_>) -> AttemptEnd<T> {
    let RunSubject { method, name } = subject;
    tracing::warn!(method, name, trace_id = trace::id(), "a handler took too long");
    AttemptEnd::TookTooLong
}

/// Runs a handler within the deadline of its context.
pub(crate) async fn attempt_in_time<T, F>(
    ctx: &Ctx,
    subject: RunSubject<'_>,
    handler: impl FnOnce(Ctx) -> F,
) -> AttemptEnd<T>
where
    F: Future<Output = T>,
{
    tokio::select! {
        biased;
        ran = attempt(ctx, subject, handler) => ran,
        () = ctx.deadline().passed() => took_too_long(subject),
    }
}
