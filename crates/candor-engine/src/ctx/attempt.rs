//! Runs a handler once: to its end, to its first unanswered questions, or into a panic.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use super::Ctx;
use super::round::Questions;
use crate::trace;

/// How a handler ended.
pub(crate) enum AttemptEnd<T> {
    /// With a value.
    Done(T),
    /// With questions for a modern client.
    Asks(Questions),
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
            let reason = trace::panic_reason(&*panic);
            trace::note(format_args!("the handler panicked: {reason}"));
            let RunSubject { method, name } = subject;
            let trace_id = trace::id();
            tracing::error!(method, name, reason, trace_id, "a handler panicked");
            AttemptEnd::Panicked
        }
        None => AttemptEnd::Asks(ctx.round().questions()),
    }
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
        () = ctx.deadline().passed() => {
            let RunSubject { method, name } = subject;
            tracing::warn!(method, name, trace_id = trace::id(), "a handler took too long");
            AttemptEnd::TookTooLong
        }
    }
}
