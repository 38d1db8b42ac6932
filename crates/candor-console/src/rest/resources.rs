//! Resources: the tree, metadata, content. The responses have the members of MCP's results.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use candor_server::engine::{Reply, RequestFailure, trace};
use candor_server::protocol::json::{Decode as _, Object, raw};
use candor_server::resource::ResourceFailure;
use candor_server::tool::{ToolError, code};
use candor_server::{CacheScope, NoPeer, PageError, Publisher, RunningServer, resource_page};
use http::StatusCode;

use super::{body, engine, json, refused, tag, tagged, write};
use crate::Inner;
use crate::problem::Problem;
use crate::request::ConsoleRequest;

/// Lists the resources at the root, or the children of `?uri=`.
pub(crate) async fn list(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
) -> Result<Response, Problem> {
    let (server, view) = (served(console)?, body::view(console, asked)?);
    let (uri, cursor) = (asked.query("uri"), asked.query("cursor"));
    let page = resource_page(server, &view, uri.as_deref(), cursor.as_deref()).await;
    let (listed, next) = page.map_err(|error| match error {
        PageError::Cursor => Problem::bad_request(
            "Invalid cursor: it was not made by this server for this list; list again from the beginning",
        ),
        PageError::Failed(failure) => problem(failure, uri.as_deref().unwrap_or_default()),
    })?;
    let publisher = Publisher::to(&view.caller().client);
    let mut members = cached(server).with("resources", &publisher.list(&listed));
    if let Some(cursor) = next {
        members = members.with("nextCursor", &cursor);
    }
    let text = Bytes::from(write(&members));
    Ok(tagged(&asked.parts.headers, &tag(&text), text))
}

pub(crate) async fn metadata(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
) -> Result<Response, Problem> {
    let (server, view) = (served(console)?, body::view(console, asked)?);
    let uri = named(asked)?;
    let found = view.metadata(&uri).await.map_err(|failure| problem(failure, &uri))?;
    let resource = Publisher::to(&view.caller().client).resource(found);
    let text = Bytes::from(write(&cached(server).with("resource", &resource)));
    Ok(tagged(&asked.parts.headers, &tag(&text), text))
}

pub(crate) async fn content(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
) -> Result<Response, Problem> {
    let (server, view) = (served(console)?, body::view(console, asked)?);
    let uri = named(asked)?;
    let reply = view.read(&uri, &Default::default(), Arc::new(NoPeer::default())).await;
    let mut result = match reply {
        Ok(Reply::Done(result)) => result,
        Ok(Reply::Questions(_)) => return Err(unanswerable()),
        Err(RequestFailure::Resource(failure)) => return Err(problem(failure, &uri)),
        Err(RequestFailure::Busy(full)) => {
            return Err(refused::problem(candor_server::Refusal::ResponseCapacity(full)));
        }
        Err(RequestFailure::Failed(error)) => return Err(failed(&error)),
        Err(_) => return Err(Problem::internal(&trace::id())),
    };
    let publisher = Publisher::to(&view.caller().client);
    result.contents.iter_mut().for_each(|content| publisher.contents(content));
    let whole = raw(&result);
    let whole = Object::decode((&*whole).into()).unwrap_or_default();
    let members = cached(server);
    let members = whole.iter().fold(members, |all, (name, value)| all.with(name, &value.to_raw()));
    Ok(json(write(&members)))
}

/// Returns the server. Without resources, nothing is served here.
fn served(console: &Inner) -> Result<&RunningServer, Problem> {
    let server = engine(console)?;
    server.resource_offers().map(|_| server).ok_or_else(Problem::no_such_path)
}

/// Returns how long and by whom the response may be cached, as MCP's results say it.
fn cached(server: &RunningServer) -> Object {
    let hint = server.cache_hint();
    let scope = match hint.scope {
        CacheScope::Public => "public",
        CacheScope::Private => "private",
    };
    Object::new().with("ttlMs", &hint.ttl_ms).with("cacheScope", scope)
}

fn named(asked: &ConsoleRequest) -> Result<String, Problem> {
    let uri = asked.query("uri");
    uri.ok_or_else(|| Problem::bad_request("Say which resource is meant: ?uri=…"))
}

/// Returns the problem for a request about a resource.
pub(super) fn problem(failure: ResourceFailure, uri: &str) -> Problem {
    match failure {
        ResourceFailure::NoUri(why) => {
            let words = format!("/uri is not a URI: {why}");
            Problem::new(StatusCode::BAD_REQUEST, "not_a_uri", words)
        }
        ResourceFailure::NotFound => {
            Problem::new(StatusCode::NOT_FOUND, "resource_not_found", "Resource not found")
                .member("uri", uri)
        }
        ResourceFailure::NotListable => Problem::new(
            StatusCode::BAD_REQUEST,
            "not_listable",
            "This resource has no children to list: its capabilities.list is not true",
        ),
        ResourceFailure::NotWatchable => Problem::new(
            StatusCode::BAD_REQUEST,
            "not_watchable",
            "This resource cannot be watched: its capabilities.subscribe is not true",
        ),
        ResourceFailure::Failed(error) => failed(&error),
        ResourceFailure::Broken => Problem::internal(&trace::id()),
    }
}

/// Returns the problem for a handler that failed. What it meant for the caller is sent; everything else is in the log.
fn failed(error: &ToolError) -> Problem {
    if error.unanswered().is_some() {
        return unanswerable();
    }
    // Logs the failure.
    let _ = error.report();
    match error.error_code() {
        code::INTERNAL => Problem::internal(&trace::id()),
        code => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, error.to_string())
            .member("trace_id", trace::id()),
    }
}

fn unanswerable() -> Problem {
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "elicitation_unsupported",
        "The handler asks for input, and REST cannot answer. Use an MCP client that supports elicitation",
    )
}
