//! JSON-RPC: from a decoded message to the encoded answer, in the client's era.
//!
//! - `dispatch`: which method does what; one file for each subject in `method`. Each decodes, asks the view, and encodes.
//! - `encode`: results, decisions, lists and errors, as functions of what the engine returned.
//! - `context`: what a request knows; `peer`: the way back to its client; `client`: how a client describes itself.
//! - `key`, `mirror`: what a request carries in headers and `_meta`. `page`: cursors.

pub(crate) mod client;
pub(crate) mod context;
mod dispatch;
pub(crate) mod encode;
pub(crate) mod key;
pub(crate) mod method;
pub(crate) mod mirror;
pub(crate) mod page;
mod peer;
pub(crate) mod running;
mod span;
pub(crate) mod written;

use std::pin::pin;

use candor_engine::trace;
use candor_engine::{Engine, Refusal, SerialPosition};
use candor_protocol::Message as _;
use candor_protocol::json::Object;
use candor_protocol::names::{method as name, notification};
use candor_protocol::rpc::{ErrorObject, Notification, Request};
use candor_protocol::types::CancelledParams;
use tracing::{Instrument as _, Span};

use crate::running_server::RunningServer;
use crate::session::CallTracker;
use context::{RequestContext, TransportContext};
use encode::answer::Answer;

/// Answers a request. Every transport calls this.
pub(crate) async fn handle(
    server: &RunningServer,
    request: Request,
    transport: TransportContext,
) -> Answer {
    let Request { id, method, params, meta } = request;
    match RequestContext::receive(server, id.clone(), meta, transport) {
        Err(error) => Answer::error(Some(&id), &error, false),
        Ok(request) => {
            let meta = request.view.caller().meta.clone();
            // Boxed, to keep the futures of the transports small.
            let guarded = Box::pin(Engine::guard(&meta, answer(method, params, &request)));
            guarded.await.unwrap_or_else(|_: Refusal| {
                let error = ErrorObject::internal(
                    "The request failed unexpectedly; the server's log says why",
                );
                Answer::error(Some(&id), &error, true)
            })
        }
    }
}

async fn answer(method: String, params: Object, request: &RequestContext) -> Answer {
    let span = span::of(request, &method, &params);
    let cancel = request.cancel();
    let answered = async {
        let dispatched = pin!(dispatch::dispatch(&method, params, request));
        let answer = tokio::select! {
            biased;
            answer = dispatched => answer,
            () = cancel.cancelled() => Answer::Silent,
        };
        // A cancelled handler may still return an answer, and the client does not want it.
        let answer = if cancel.is_cancelled() { Answer::Silent } else { answer };
        if let Answer::Error { code, .. } = &answer {
            Span::current().record("error.type", code);
            tracing::info!(code, "answered with an error");
        }
        answer
    };
    // The span is outermost, so that a request that is dropped early logs inside it. Pinned here, because each layer would move the
    // whole future.
    pin!(answered.instrument(span)).await
}

/// Handles a notification. Unknown ones are ignored, as the protocol requires.
pub(crate) fn notice(notice: Notification, calls: &CallTracker) {
    if notice.method == notification::CANCELLED {
        match CancelledParams::from_object(notice.params) {
            Ok(CancelledParams { request_id: Some(id), reason, .. }) => {
                tracing::debug!(%id, reason, "request cancelled");
                calls.cancel(&id);
            }
            _ => tracing::debug!("a cancellation that names no request"),
        }
    }
}

/// Returns the position of a request that has been read, if it may be a serial call.
pub(crate) fn position(server: &RunningServer, request: &Request) -> Option<SerialPosition> {
    keep_position(server, server.arrive(), request)
}

/// Keeps the position of a request that has been read, if it may be a serial call.
pub(crate) fn keep_position(
    server: &RunningServer,
    arrived: Option<SerialPosition>,
    request: &Request,
) -> Option<SerialPosition> {
    let arrived = arrived.filter(|_| request.method == name::TOOLS_CALL)?;
    let tool = request.params.read_str("name").ok().flatten();
    server.keep_position(Some(arrived), tool.as_deref().unwrap_or_default())
}

/// Adds the trace id to an internal error. Returns other errors unchanged.
fn named(error: ErrorObject) -> ErrorObject {
    encode::error::with_trace(error, trace::id)
}
