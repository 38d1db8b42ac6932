//! Lists, and results in the client's era.

use bytes::Bytes;
use candor_protocol::Era;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::PageParams;
use serde::Serialize;

use super::answer::{Answer, Body, Encoder, Finality, ListPage};
use crate::rpc::context::RequestContext;
use crate::rpc::page::{self, PAGE_SIZE};
use crate::running_server::CacheHint;

/// Encodes a list as JSON.
pub(crate) fn write<T: Serialize>(items: &[T]) -> Bytes {
    // 384 bytes is about the size of an item. A buffer that grows would copy its content again and again.
    let mut text = Vec::with_capacity(items.len() * 384);
    serde_json::to_writer(&mut text, items).expect("lists are plain data");
    text.into()
}

/// Returns the page of a list that the client requests.
pub(crate) fn page<T: Serialize>(
    request: &RequestContext,
    method: &'static str,
    key: &'static str,
    asked: &PageParams,
    items: &[T],
) -> Result<Answer, ErrorObject> {
    let cursors = request.server.cursors();
    let start = page::start(cursors, method, asked.cursor.as_deref())?.min(items.len());
    let end = (start + PAGE_SIZE).min(items.len());
    let page = ListPage {
        key,
        items: write(&items[start..end]),
        next_cursor: page::next(cursors, method, end, items.len()),
        meta: None,
    };
    Ok(complete_cacheable(request, page, request.server.cache_hint()))
}

/// Writes a complete result in the client's era.
pub(crate) fn complete(request: &RequestContext, body: impl Body) -> Answer {
    encoder(request).result(body, Finality::Complete, None)
}

/// Writes a complete result that clients may cache.
pub(crate) fn complete_cacheable(
    request: &RequestContext,
    body: impl Body,
    hint: CacheHint,
) -> Answer {
    encoder(request).result(body, Finality::Complete, Some(hint))
}

/// Writes a result that asks the client for input. Modern clients only.
pub(crate) fn input_required(request: &RequestContext, body: impl Body) -> Answer {
    debug_assert_eq!(request.era(), Era::Modern);
    encoder(request).result(body, Finality::InputRequired, None)
}

fn encoder(request: &RequestContext) -> Encoder<'_> {
    Encoder {
        id: &request.id,
        era: request.era(),
        server_info: request.server.info_json(),
        response: request.response.as_ref(),
    }
}
