//! `resources/list`.

use candor_protocol::json::Object;
use candor_protocol::names::method::RESOURCES_LIST;
use candor_protocol::rpc::ErrorObject;

use super::provider_failed;
use crate::dispatch::Answered;
use crate::engine::Engine;
use crate::exchange::Exchange;

pub(crate) async fn answer(engine: &Engine, asked: Object, exchange: &Exchange) -> Answered {
    let Some(resources) = &engine.parts().resources else {
        return Err(ErrorObject::method_not_found(RESOURCES_LIST));
    };
    let listed =
        resources.list(&exchange.principal).await.map_err(|e| provider_failed(&e, "resources"))?;
    super::list(engine, exchange, RESOURCES_LIST, "resources", asked, &listed)
}
