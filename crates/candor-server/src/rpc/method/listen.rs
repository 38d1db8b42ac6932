//! `subscriptions/listen`, of the modern era: a request that is answered when the stream ends.

use std::collections::HashSet;

use candor_engine::resource::{ResourceFailure, WatchGuard};
use candor_engine::{Change, Lists, Slot};
use candor_protocol::json::Object;
use candor_protocol::names::{meta, method, notification};
use candor_protocol::rpc::{ErrorObject, write_notification};
use candor_protocol::types::{AcknowledgedParams, ListenParams, SubscriptionFilter};

use super::resources::MOST_WATCHED;
use super::{DispatchResult, params};
use crate::capabilities::{announced_lists, capabilities};
use crate::rpc::context::RequestContext;
use crate::rpc::encode::answer::Empty;
use crate::rpc::encode::list::complete;
use crate::session::changed;

pub(crate) async fn listen(asked: Object, request: &RequestContext) -> DispatchResult {
    let server = &request.server;
    let announced = announced_lists(&capabilities(server, Some(request.principal())));
    let watched = server.resource_offers().is_some_and(|offers| offers.watching);
    if !announced.any() && !watched {
        return Err(ErrorObject::method_not_found(method::LISTEN));
    }
    let asked: ListenParams = params(asked)?;
    let asked = asked.notifications;
    if asked.resource_subscriptions.as_ref().is_some_and(|uris| uris.len() > MOST_WATCHED) {
        return Err(ErrorObject::invalid_params(format!(
            "Invalid params: at most {MOST_WATCHED} resources in one subscription"
        )));
    }
    let lists = Lists {
        tools: announced.tools && asked.tools_list_changed == Some(true),
        prompts: announced.prompts && asked.prompts_list_changed == Some(true),
        resources: announced.resources && asked.resources_list_changed == Some(true),
    };
    let mut honoured = SubscriptionFilter::new();
    honoured.tools_list_changed = lists.tools.then_some(true);
    honoured.prompts_list_changed = lists.prompts.then_some(true);
    honoured.resources_list_changed = lists.resources.then_some(true);

    // Listen before the acknowledgement is sent, so that no change in between is lost.
    let listener = server.changes().listen(lists);
    let mut held = Vec::new();
    if let Some(uris) = asked.resource_subscriptions.filter(|_| watched) {
        let mut accepted = Vec::new();
        let mut seen = HashSet::new();
        for uri in uris.into_iter().filter(|uri| seen.insert(uri.clone())) {
            // A resource that cannot be watched is missing from the acknowledgement: this is how the modern era refuses it.
            if let Some(watching) = watch(&uri, request).await {
                held.push(watching);
                listener.add(&uri);
                accepted.push(uri);
            }
        }
        honoured.resource_subscriptions = Some(accepted);
    }

    let tag = Object::new().with(meta::SUBSCRIPTION_ID, &request.id);
    let mut acknowledged = AcknowledgedParams::new(honoured);
    acknowledged.meta = Some(tag.clone());
    request.peer.outlet.send(write_notification(notification::ACKNOWLEDGED, &acknowledged)).await;

    let closing = request.closing.as_ref().unwrap_or_else(|| server.closing());
    loop {
        let heard = tokio::select! {
            heard = listener.next() => heard,
            () = closing.cancelled() => return Ok(complete(request, Empty { meta: Some(tag) })),
        };
        for change in heard {
            let mut params = Object::new().with("_meta", &tag);
            if let Change::Resource(uri) = &change {
                params = params.with("uri", &**uri);
            }
            request.peer.outlet.send(write_notification(changed(&change), &params)).await;
        }
    }
}

async fn watch(uri: &str, request: &RequestContext) -> Option<(WatchGuard, Slot)> {
    let slot = request.view.watch_slot().ok()?;
    match request.view.watch(uri).await {
        Ok(guard) => Some((guard, slot)),
        Err(failure) => {
            if let ResourceFailure::Failed(error) = failure {
                tracing::warn!(uri, %error, "a resource could not be watched");
            }
            None
        }
    }
}
