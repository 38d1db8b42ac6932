//! `subscriptions/listen`, of the modern era: a request that is answered when the stream ends.

use candor_protocol::json::Object;
use candor_protocol::names::{meta, method, notification};
use candor_protocol::rpc::{ErrorObject, write_notification};
use candor_protocol::types::{AcknowledgedParams, ListenParams, SubscriptionFilter};

use super::params;
use crate::answer::Empty;
use crate::changes::{Announced, Change, Heard};
use crate::dispatch::Answered;
use crate::engine::Engine;
use crate::exchange::Exchange;

/// The protocol bounds nothing here, so we do: a filter is compared with every change.
const MOST_RESOURCES: usize = 10_000;

pub(crate) async fn answer(engine: &Engine, asked: Object, exchange: &Exchange) -> Answered {
    let announced = Announced::in_capabilities(&engine.capabilities());
    let Announced { tools, prompts, resources: listed, watched } = announced;
    if !(tools || prompts || listed || watched) {
        return Err(ErrorObject::method_not_found(method::LISTEN));
    }
    let resources = engine.parts().resources.as_deref();

    let asked: ListenParams = params(asked)?;
    let asked = asked.notifications;
    if asked.resource_subscriptions.as_ref().is_some_and(|uris| uris.len() > MOST_RESOURCES) {
        return Err(ErrorObject::invalid_params(format!(
            "Invalid params: at most {MOST_RESOURCES} resources in one subscription"
        )));
    }
    let mut honoured = SubscriptionFilter::new();
    honoured.tools_list_changed = asked.tools_list_changed.filter(|wanted| *wanted && tools);
    honoured.prompts_list_changed = asked.prompts_list_changed.filter(|wanted| *wanted && prompts);
    honoured.resources_list_changed =
        asked.resources_list_changed.filter(|wanted| *wanted && listed);
    honoured.resource_subscriptions =
        asked.resource_subscriptions.filter(|_| watched).map(|uris| {
            uris.into_iter().filter(|uri| resources.is_some_and(|r| r.can_watch(uri))).collect()
        });

    // Listening begins before the acknowledgement is sent: no change in between is lost.
    let mut changes = engine.changes().listen();
    let tag = Object::new().with(meta::SUBSCRIPTION_ID, &exchange.id);
    let mut acknowledged = AcknowledgedParams::new(honoured.clone());
    acknowledged.meta = Some(tag.clone());
    exchange.outlet.send(write_notification(notification::ACKNOWLEDGED, &acknowledged)).await;

    let closing = exchange.closing.as_ref().unwrap_or_else(|| engine.closing());
    loop {
        let heard = tokio::select! {
            heard = changes.next() => heard,
            () = closing.cancelled() => None,
        };
        let told = match heard {
            None => return Ok(engine.complete(exchange, Empty { meta: Some(tag) })),
            Some(Heard::Change(change)) if wants(&honoured, &change) => vec![change],
            Some(Heard::Change(_)) => continue,
            Some(Heard::Missed) => everything(&honoured),
        };
        for change in told {
            let mut params = Object::new().with("_meta", &tag);
            if let Change::Resource(uri) = &change {
                params = params.with("uri", &**uri);
            }
            exchange.outlet.send(write_notification(change.method(), &params)).await;
        }
    }
}

fn wants(filter: &SubscriptionFilter, change: &Change) -> bool {
    match change {
        Change::Tools => filter.tools_list_changed == Some(true),
        Change::Prompts => filter.prompts_list_changed == Some(true),
        Change::Resources => filter.resources_list_changed == Some(true),
        Change::Resource(uri) => filter
            .resource_subscriptions
            .as_ref()
            .is_some_and(|uris| uris.iter().any(|u| **u == **uri)),
    }
}

/// Changes were missed, so everything that is subscribed to may have changed.
fn everything(filter: &SubscriptionFilter) -> Vec<Change> {
    let lists = [Change::Tools, Change::Prompts, Change::Resources]
        .into_iter()
        .filter(|c| wants(filter, c));
    let uris = filter.resource_subscriptions.iter().flatten();
    lists.chain(uris.map(|uri| Change::Resource(uri.as_str().into()))).collect()
}
