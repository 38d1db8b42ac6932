//! `skills/list` and `skills/get`. A server that declares the extension for `resources/directory/read` must also answer these. This
//! server has no skills: the list is empty, and no skill is found.

use candor_protocol::json::Object;
use candor_protocol::names::method::{SKILLS_GET, SKILLS_LIST};
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::ResourceUriParams;
use serde_json::json;

use super::params;
use crate::answer::ListPage;
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;

pub(crate) fn list(engine: &Engine, exchange: &RequestContext) -> DispatchResult {
    declared(engine, SKILLS_LIST)?;
    let items = super::write::<Object>(&[]);
    let page = ListPage { key: "skills", items, next_cursor: None, meta: None };
    Ok(engine.complete_cacheable(exchange, page, engine.parts().cache))
}

pub(crate) fn get(engine: &Engine, asked: Object) -> DispatchResult {
    declared(engine, SKILLS_GET)?;
    let asked: ResourceUriParams = params(asked)?;
    Err(ErrorObject::invalid_params("There is no such skill").with_data(&json!({"uri": asked.uri})))
}

fn declared(engine: &Engine, method: &str) -> Result<(), ErrorObject> {
    if engine.parts().resources.offers().children {
        Ok(())
    } else {
        Err(ErrorObject::method_not_found(method))
    }
}
