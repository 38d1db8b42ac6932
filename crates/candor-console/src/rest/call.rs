//! Calls a tool, or the tool that previews it, as MCP does. The response is one result or a stream of events.

use axum::response::Response;
use bytes::Bytes;
use candor_server::protocol::json::{Decode as _, Object, RawValue, raw};
use candor_server::protocol::names::{extension, header, meta, method, notification};
use candor_server::protocol::rpc::ErrorObject;
use candor_server::{CallEvent, Catalogue, ToolView, Visit};
use futures_util::{Stream, StreamExt as _, stream};
use http::{HeaderValue, StatusCode};
use serde_json::Value;

use super::sse::{self, EVENTS, event};
use super::{body, failed, json, plain, refused, write};
use crate::Inner;
use crate::problem::Problem;
use crate::serve::{ConsoleRequest, accepts};

pub(super) async fn call(
    console: &Inner,
    asked: &ConsoleRequest,
    tool: &ToolView<'_>,
) -> Result<Response, Problem> {
    let arguments = body::arguments(console, asked)?;
    let (arguments, expected) = body::take_expectation(asked, &tool.definition, arguments);
    let mut visit =
        body::visit(console, asked)?.key(body::key(asked)?).arrived(asked.arrived.clone());
    if let Some(expected) = expected {
        visit = visit.meta(extension::APPROVAL, &Object::new().with("expect", &expected));
    }
    make(console, asked, visit, tool, &arguments).await
}

/// Runs the tool's preview, which shows what a call would do.
pub(super) async fn preview(
    console: &Inner,
    asked: &ConsoleRequest,
    catalogue: &Catalogue,
    tool: &ToolView<'_>,
) -> Result<Response, Problem> {
    let preview = tool.preview.and_then(|name| catalogue.find(name)).ok_or_else(|| {
        let none = format!("{} has no preview", tool.definition.name);
        Problem::new(StatusCode::NOT_FOUND, "no_preview", none)
    })?;
    // Without the key: it belongs to the call that may follow.
    let arguments = body::arguments(console, asked)?;
    make(console, asked, body::visit(console, asked)?, &preview, &arguments).await
}

async fn make(
    console: &Inner,
    asked: &ConsoleRequest,
    visit: Visit,
    tool: &ToolView<'_>,
    arguments: &RawValue,
) -> Result<Response, Problem> {
    let params = Object::new().with("name", &tool.definition.name).with("arguments", arguments);
    if accepts(&asked.parts.headers, EVENTS) {
        let said = visit.meta(meta::PROGRESS_TOKEN, "call").send(method::TOOLS_CALL, params);
        return Ok(sse::respond(events(said), console.limits.keep_alive));
    }
    let (result, replayed) = settled(visit.ask(method::TOOLS_CALL, params).await)?;
    let mut response = json(write(&result));
    if replayed {
        response.headers_mut().insert(header::REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Returns the result and whether it is a replay, or the problem. A tool that fails has a result.
fn settled(answer: Result<Box<RawValue>, ErrorObject>) -> Result<(Object, bool), Problem> {
    let mut result = Object::decode((&*answer.map_err(|error| failed(&error))?).into())
        .map_err(|error| failed(&ErrorObject::internal(error.to_string())))?;
    if let Some(problem) = refused::problem(&result) {
        return Err(problem);
    }
    plain(&mut result);
    if result.get("isError").is_none() {
        result.set("isError", raw(&false));
    }
    let replayed = result
        .get("_meta")
        .and_then(|meta| serde_json::from_str::<Value>(meta.text()).ok())
        .is_some_and(|meta| meta[extension::IDEMPOTENCY]["replayed"] == true);
    Ok((result, replayed))
}

/// Streams the progress, and then the result. A client that disconnects cancels the call, as far as possible.
fn events(said: impl Stream<Item = CallEvent> + Unpin) -> impl Stream<Item = Bytes> {
    stream::unfold(Some(said), |said| async move {
        let mut said = said?;
        loop {
            match said.next().await? {
                CallEvent::Notice { method, params } if method == notification::PROGRESS => {
                    return Some((event("progress", &write(&params)), Some(said)));
                }
                CallEvent::Notice { .. } => {}
                CallEvent::Answer(answer) => return Some((last(answer), None)),
            }
        }
    })
}

fn last(answer: Result<Box<RawValue>, ErrorObject>) -> Bytes {
    match settled(answer) {
        Ok((result, _)) => event("result", &write(&result)),
        Err(problem) => event("problem", &problem.body().to_string()),
    }
}
