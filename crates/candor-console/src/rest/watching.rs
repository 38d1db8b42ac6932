//! Changes of resources, while a page shows them.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use candor_server::CallEvent;
use candor_server::protocol::json::Object;
use candor_server::protocol::names::{method, notification};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::sse::{event, respond};
use super::{body, failed, write};
use crate::Inner;
use crate::problem::Problem;
use crate::serve::ConsoleRequest;

/// Maximum number of watched resources: as many as a page opens.
const MOST: usize = 100;

/// Streams the changes of `?uri=…&uri=…`. The event `watching` has the resources that can be watched, `changed` the one that
/// changed. `list` reports a change of the list.
pub(crate) fn events(console: &Arc<Inner>, asked: &ConsoleRequest) -> Result<Response, Problem> {
    let uris = asked.queries("uri");
    if uris.len() > MOST {
        return Err(Problem::bad_request(format!("At most {MOST} resources are watched at once")));
    }
    let wanted = json!({"resourceSubscriptions": uris, "resourcesListChanged": true});
    let params = Object::new().with("notifications", &wanted);
    let said = body::visit(console, asked)?.send(method::LISTEN, params);
    let said = stream::unfold(Some(said), |said| async move {
        let mut said = said?;
        loop {
            match said.next().await? {
                CallEvent::Notice { method, params } => {
                    if let Some(text) = told(&method, &params) {
                        return Some((text, Some(said)));
                    }
                }
                CallEvent::Answer(Ok(_)) => return None,
                CallEvent::Answer(Err(error)) => {
                    return Some((event("problem", &failed(&error).body().to_string()), None));
                }
            }
        }
    });
    Ok(respond(said, console.limits.keep_alive))
}

fn told(method: &str, params: &Object) -> Option<Bytes> {
    let said: Value = serde_json::from_str(&write(params)).ok()?;
    match method {
        notification::ACKNOWLEDGED => {
            let watched = said["notifications"]["resourceSubscriptions"].clone();
            Some(event("watching", &json!({"uris": watched}).to_string()))
        }
        notification::RESOURCE_UPDATED => {
            Some(event("changed", &json!({"uri": said["uri"]}).to_string()))
        }
        notification::RESOURCES_CHANGED => Some(event("list", "{}")),
        _ => None,
    }
}
