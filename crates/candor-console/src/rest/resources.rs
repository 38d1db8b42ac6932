//! Resources: the tree, metadata, content. The responses are those of MCP.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use candor_server::protocol::json::{Decode as _, Object};
use candor_server::protocol::names::method;
use candor_server::protocol::rpc::ErrorObject;

use super::{body, failed, json, plain, tag, tagged, write};
use crate::Inner;
use crate::problem::Problem;
use crate::serve::ConsoleRequest;

/// Lists the resources at the root, or the children of `?uri=`.
pub(crate) async fn list(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
) -> Result<Response, Problem> {
    let mut params = Object::new();
    for name in ["uri", "cursor"] {
        if let Some(value) = asked.query(name) {
            params = params.with(name, &value);
        }
    }
    let text = ask(console, asked, method::RESOURCES_LIST, params).await?;
    Ok(tagged(&asked.parts.headers, &tag(&text), text))
}

pub(crate) async fn metadata(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
) -> Result<Response, Problem> {
    let text = ask(console, asked, method::RESOURCES_METADATA, named(asked)?).await?;
    Ok(tagged(&asked.parts.headers, &tag(&text), text))
}

pub(crate) async fn content(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
) -> Result<Response, Problem> {
    Ok(json(ask(console, asked, method::RESOURCES_READ, named(asked)?).await?))
}

fn named(asked: &ConsoleRequest) -> Result<Object, Problem> {
    let uri = asked.query("uri");
    let uri = uri.ok_or_else(|| Problem::bad_request("Say which resource is meant: ?uri=…"))?;
    Ok(Object::new().with("uri", &uri))
}

async fn ask(
    console: &Inner,
    asked: &ConsoleRequest,
    method: &str,
    params: Object,
) -> Result<Bytes, Problem> {
    let answer = body::visit(console, asked)?.ask(method, params).await;
    let mut result = Object::decode((&*answer.map_err(|error| failed(&error))?).into())
        .map_err(|error| failed(&ErrorObject::internal(error.to_string())))?;
    plain(&mut result);
    Ok(write(&result).into())
}
