//! `resources/templates/list`.

use candor_protocol::json::Object;
use candor_protocol::names::method::RESOURCES_TEMPLATES_LIST;
use candor_protocol::rpc::ErrorObject;

use super::provider_failed;
use crate::dispatch::Answered;
use crate::engine::Engine;
use crate::exchange::Exchange;

pub(crate) async fn answer(engine: &Engine, asked: Object, exchange: &Exchange) -> Answered {
    let Some(resources) = &engine.parts().resources else {
        return Err(ErrorObject::method_not_found(RESOURCES_TEMPLATES_LIST));
    };
    let listed = resources
        .templates(&exchange.principal)
        .await
        .map_err(|e| provider_failed(&e, "resource templates"))?;
    super::list(engine, exchange, RESOURCES_TEMPLATES_LIST, "resourceTemplates", asked, &listed)
}
