//! Calls a tool, or the tool that previews it. The response is one result or a stream of events.

use std::pin::Pin;
use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use candor_server::engine::{Progress, trace};
use candor_server::protocol::Message as _;
use candor_server::protocol::json::raw;
use candor_server::protocol::names::header;
use candor_server::protocol::types::{CallToolResult, ProgressParams};
use candor_server::tool::Arguments;
use candor_server::{BoxFuture, Call, CallEnd, NoPeer, Outcome, Peer, Refusal, ResultForm, View};
use futures_util::{Stream, stream};
use http::{HeaderValue, StatusCode};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::sse::{self, EVENTS, event};
use super::{body, json, refused};
use crate::Inner;
use crate::problem::Problem;
use crate::request::{ConsoleRequest, accepts};

pub(super) async fn call(
    console: &Inner,
    asked: &ConsoleRequest,
    view: View,
    name: &str,
) -> Result<Response, Problem> {
    let tool = view.tool(name).await.map_err(refused::problem)?;
    let arguments = body::arguments(console, asked)?;
    let (arguments, expected) = body::take_expectation(asked, &tool.definition, arguments);
    let expect = expected.map(|expected| body::expectation(&expected)).transpose()?;
    let (key, arguments) = (body::key(console, asked)?, body::decoded(&arguments)?);
    let call = Call { key, expect, ..Call::new(name, arguments) };
    drop(tool);
    make(console, asked, view, call).await
}

/// Runs the tool's preview, which shows what a call would do.
pub(super) async fn preview(
    console: &Inner,
    asked: &ConsoleRequest,
    view: View,
    name: &str,
) -> Result<Response, Problem> {
    let tool = view.tool(name).await.map_err(refused::problem)?;
    let none = || {
        let none = format!("{name} has no preview");
        Problem::new(StatusCode::NOT_FOUND, "no_preview", none)
    };
    let preview = tool.preview.ok_or_else(none)?.to_owned();
    view.tool(&preview).await.map_err(|_| none())?;
    // Without the key: it belongs to the call that may follow.
    let arguments: Arguments = body::decoded(&body::arguments(console, asked)?)?;
    drop(tool);
    make(console, asked, view, Call::new(preview, arguments)).await
}

async fn make(
    console: &Inner,
    asked: &ConsoleRequest,
    view: View,
    call: Call,
) -> Result<Response, Problem> {
    let native = super::engine(console)?.listing().native_output;
    if accepts(&asked.parts.headers, EVENTS) {
        return Ok(sse::respond(events(view, call, native), console.limits.keep_alive));
    }
    let cancel = CancellationToken::new();
    // A client that disconnects cancels the call, as far as possible.
    let guard = cancel.clone().drop_guard();
    let outcome = view.call(call, Arc::new(NoPeer::until(cancel))).await;
    guard.disarm();
    let (result, replayed) = settled(&view, native, outcome)?;
    let mut response = json(raw(&result).get().to_owned());
    if replayed {
        response.headers_mut().insert(header::REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Returns the result and whether it is a replay, or the problem. A tool that fails has a result.
fn settled(view: &View, native: bool, outcome: Outcome) -> Result<(CallToolResult, bool), Problem> {
    let client = view.caller().client.clone();
    let form = ResultForm::new(&client, native, &outcome);
    let (result, note) = match outcome.end {
        CallEnd::Done { refusal: Some(refusal), .. } if refused::is_problem(&refusal) => {
            return Err(refused::problem(refusal));
        }
        CallEnd::Done { result, note, .. } => (result, note),
        CallEnd::Replayed { members, note } => {
            let result = CallToolResult::from_object(members);
            (result.map_err(|_| refused::problem(Refusal::ResultUnreadable))?, Some(note))
        }
        CallEnd::Unanswerable(_) | CallEnd::Questions(_) => {
            return Err(Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "elicitation_unsupported",
                "The handler asks for input, and REST cannot answer. Use an MCP client that supports elicitation",
            ));
        }
        CallEnd::Refused(refusal) => return Err(refused::problem(refusal)),
    };
    let replayed = note.as_ref().is_some_and(candor_server::engine::RecordNote::is_replay);
    let mut result = form.shape(result, note.as_ref());
    result.is_error.get_or_insert(false);
    Ok((result, replayed))
}

/// Forwards the progress of a call.
struct ProgressPeer {
    events: mpsc::Sender<Bytes>,
    gone: CancellationToken,
}

impl Peer for ProgressPeer {
    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, progress: Progress) -> BoxFuture<'_, ()> {
        let mut params = ProgressParams::new("call", progress.done);
        params.total = progress.total;
        params.message = progress.message;
        params.meta = progress.meta;
        let event = event("progress", raw(&params).get());
        Box::pin(async move {
            let _ = self.events.send(event).await;
        })
    }

    fn gone(&self) -> &CancellationToken {
        &self.gone
    }
}

/// A running call, and its progress so far. Dropping it cancels the call, as far as possible.
struct RunningCall {
    end: Pin<Box<dyn Future<Output = Bytes> + Send>>,
    progress: mpsc::Receiver<Bytes>,
    guard: DropGuard,
}

/// Streams the progress, and then the result.
fn events(view: View, call: Call, native: bool) -> impl Stream<Item = Bytes> {
    let (events, progress) = mpsc::channel(64);
    let gone = CancellationToken::new();
    let guard = gone.clone().drop_guard();
    let end = async move {
        let peer = Arc::new(ProgressPeer { events, gone });
        let outcome = view.call(call, peer).await;
        match settled(&view, native, outcome) {
            Ok((result, _)) => event("result", raw(&result).get()),
            Err(problem) => event("problem", &problem.body().to_string()),
        }
    };
    // The response is polled when the request has ended, so its trace goes along.
    let end = Box::pin(trace::carried(end));
    stream::unfold(Some(RunningCall { end, progress, guard }), |running| async move {
        let mut running = running?;
        tokio::select! {
            biased;
            Some(event) = running.progress.recv() => Some((event, Some(running))),
            last = &mut running.end => {
                let RunningCall { mut progress, guard, .. } = running;
                guard.disarm();
                // The result comes last.
                let mut events = Vec::new();
                while let Ok(event) = progress.try_recv() {
                    events.extend_from_slice(&event);
                }
                events.extend_from_slice(&last);
                Some((events.into(), None))
            }
        }
    })
}
