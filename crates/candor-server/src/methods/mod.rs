//! One file per method. Each decodes its parameters, decides, acts and encodes. Transports call `initialize`, because it opens a
//! session. `dispatch` calls all other methods.

pub(crate) mod complete;
pub(crate) mod discover;
pub(crate) mod initialize;
pub(crate) mod listen;
pub(crate) mod ping;
pub(crate) mod prompts_get;
pub(crate) mod prompts_list;
pub(crate) mod resources_list;
pub(crate) mod resources_metadata;
pub(crate) mod resources_read;
pub(crate) mod resources_subscribe;
pub(crate) mod resources_templates_list;
pub(crate) mod set_level;
pub(crate) mod skills;
pub(crate) mod tools_annotations;
pub(crate) mod tools_call;
pub(crate) mod tools_list;
pub(crate) mod tools_resolve;

pub(crate) mod reading;

mod asking;
mod evaluate;

use bytes::Bytes;
use candor_protocol::Message;
use candor_protocol::json::{Malformed, Object};
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::PageParams;
use serde::Serialize;

use crate::answer::ListPage;
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::page::{self, PAGE_SIZE};
use crate::provider::ProviderError;
use crate::resource::Tree;
use crate::trace;

/// Decodes a method's parameters.
fn params<T: Message>(params: Object) -> Result<T, ErrorObject> {
    T::from_object(params)
        .map_err(|e: Malformed| ErrorObject::invalid_params(format!("Invalid params: {e}")))
}

/// Logs why a provider failed, and returns an error for the client that does not contain the reason.
pub(crate) fn provider_failed(error: &ProviderError, what: &str) -> ErrorObject {
    trace::note(format_args!("the source of {what} failed: {error}"));
    tracing::error!(%error, what, trace_id = trace::id(), "a provider failed");
    ErrorObject::internal(format!("The server could not get its {what}"))
}

/// Returns the server's resources. If it has none, the method does not exist.
fn resources<'a>(engine: &'a Engine, method: &str) -> Result<&'a Tree, ErrorObject> {
    let tree = &engine.parts().resources;
    if tree.is_empty() { Err(ErrorObject::method_not_found(method)) } else { Ok(tree) }
}

/// Encodes a list as JSON.
pub(crate) fn write<T: Serialize>(items: &[T]) -> Bytes {
    // 384 bytes is about the size of an item. A buffer that grows would copy its content again and again.
    let mut text = Vec::with_capacity(items.len() * 384);
    serde_json::to_writer(&mut text, items).expect("lists are plain data");
    text.into()
}

/// Returns the page of a list that the client requests.
fn list<T: Serialize>(
    engine: &Engine,
    exchange: &RequestContext,
    method: &'static str,
    key: &'static str,
    asked: Object,
    items: &[T],
) -> DispatchResult {
    let asked: PageParams = params(asked)?;
    let start = page::start(engine.cursors(), method, asked.cursor.as_deref())?.min(items.len());
    let end = (start + PAGE_SIZE).min(items.len());
    let page = ListPage {
        key,
        items: write(&items[start..end]),
        next_cursor: page::next(engine.cursors(), method, end, items.len()),
        meta: None,
    };
    Ok(engine.complete_cacheable(exchange, page, engine.parts().cache))
}
