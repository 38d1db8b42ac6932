//! `tools/list`, from JSON that each set of tools caches.

use candor_protocol::json::Object;
use candor_protocol::names::method;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::PageParams;

use super::evaluate::resolves;
use super::{params, provider_failed};
use crate::answer::ListPage;
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::page::{self, PAGE_SIZE};
use crate::tool::ListingOptions;

pub(crate) async fn answer(
    engine: &Engine,
    asked: Object,
    exchange: &RequestContext,
) -> DispatchResult {
    let Some(source) = &engine.parts().tools else {
        return Err(ErrorObject::method_not_found(method::TOOLS_LIST));
    };
    let asked: PageParams = params(asked)?;
    let start = page::start(engine.cursors(), method::TOOLS_LIST, asked.cursor.as_deref())?;
    let tools = source.get(&exchange.principal).await.map_err(|e| provider_failed(&e, "tools"))?;
    let form = ListingOptions { resolution: resolves(exchange), ..engine.parts().form };
    let listed = tools.page(start, exchange.era(), form, &engine.parts().policy);
    let next = start + PAGE_SIZE;
    let page = ListPage {
        key: "tools",
        items: listed.items,
        next_cursor: page::next(engine.cursors(), method::TOOLS_LIST, next, listed.tools),
        meta: None,
    };
    Ok(engine.complete_cacheable(exchange, page, engine.parts().cache))
}
