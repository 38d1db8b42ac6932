//! `tools/list`, from text that each set of tools keeps.

use bytes::Bytes;
use candor_protocol::json::Object;
use candor_protocol::names::method;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::PageParams;

use super::{params, provider_failed};
use crate::answer::ListPage;
use crate::dispatch::Answered;
use crate::engine::Engine;
use crate::exchange::Exchange;
use crate::page::{self, PAGE_SIZE};

pub(crate) async fn answer(engine: &Engine, asked: Object, exchange: &Exchange) -> Answered {
    let Some(source) = &engine.parts().tools else {
        return Err(ErrorObject::method_not_found(method::TOOLS_LIST));
    };
    let asked: PageParams = params(asked)?;
    let start = page::start(engine.cursors(), method::TOOLS_LIST, asked.cursor.as_deref())?;
    let tools = source.get(&exchange.principal).await.map_err(|e| provider_failed(&e, "tools"))?;
    let page = ListPage {
        key: "tools",
        // A list that has shrunk since the cursor was made has no such page any more.
        items: tools.page(start, exchange.era()).unwrap_or(Bytes::from_static(b"[]")),
        next_cursor: page::next(
            engine.cursors(),
            method::TOOLS_LIST,
            start + PAGE_SIZE,
            tools.len(),
        ),
        meta: None,
    };
    Ok(engine.complete_cacheable(exchange, page, engine.parts().cache))
}
