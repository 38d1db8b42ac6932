//! Changes of resources, while a page shows them.

use std::sync::Arc;

use axum::response::Response;
use candor_server::engine::{Change, Lists};
use candor_server::resource::WatchGuard;
use futures_util::{StreamExt as _, stream};
use serde_json::json;

use super::sse::{event, respond};
use super::{body, engine};
use crate::Inner;
use crate::problem::Problem;
use crate::request::ConsoleRequest;

/// Maximum number of watched resources: as many as a page opens.
const MOST: usize = 100;

/// Streams the changes of `?uri=…&uri=…`. The event `watching` has the resources that can be watched, `changed` the one that
/// changed. `list` reports a change of the list.
pub(crate) async fn events(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
) -> Result<Response, Problem> {
    let uris = asked.queries("uri");
    if uris.len() > MOST {
        return Err(Problem::bad_request(format!("At most {MOST} resources are watched at once")));
    }
    let server = engine(console)?;
    let offers = server.resource_offers().ok_or_else(Problem::no_such_path)?;
    if !offers.watching && !offers.changes {
        return Err(Problem::no_such_path());
    }
    let view = body::view(console, asked)?;
    // Listen before the first event is sent, so that no change in between is lost.
    let lists = Lists { resources: offers.changes, ..Lists::default() };
    let listener = server.changes().listen(lists);
    let mut watched: Vec<(String, WatchGuard, _)> = Vec::new();
    for uri in uris {
        if offers.watching
            && !watched.iter().any(|(known, ..)| *known == uri)
            && let Ok(slot) = view.watch_slot()
            && let Ok(guard) = view.watch(&uri).await
        {
            listener.add(&uri);
            watched.push((uri, guard, slot));
        }
    }
    let names: Vec<&str> = watched.iter().map(|(uri, ..)| uri.as_str()).collect();
    let first = event("watching", &json!({"uris": names}).to_string());
    let closing = server.closing().clone();
    let held = (listener, watched, closing);
    let changes = stream::unfold(held, |held| async move {
        let (listener, _, closing) = &held;
        let changes = tokio::select! {
            changes = listener.next() => changes,
            () = closing.cancelled() => return None,
        };
        let mut events = Vec::new();
        for change in changes {
            events.extend_from_slice(&match change {
                Change::Resource(uri) => event("changed", &json!({"uri": &*uri}).to_string()),
                _ => event("list", "{}"),
            });
        }
        Some((events.into(), held))
    });
    let all = stream::once(std::future::ready(first)).chain(changes);
    Ok(respond(all, console.limits.keep_alive))
}
