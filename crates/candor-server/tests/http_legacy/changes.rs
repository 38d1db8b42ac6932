//! What changes without having been asked for, on the session's own stream.

use std::sync::Arc;

use candor_server::prompt::PromptSet;
use candor_server::tool::{ToolSet, provider_fn};
use http::Method;
use http::header::ACCEPT;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::common::{Call, Events, Session, Site, memos, server, tool};

fn site() -> Site {
    let (tools, prompts) = (Arc::new(ToolSet::default()), Arc::new(PromptSet::default()));
    let server = server()
        .tools_from(provider_fn(move |_| Ok(tools.clone())))
        .prompts_from(provider_fn(move |_| Ok(prompts.clone())));
    Site::of(server.resources(memos()))
}

/// The session's own stream, after the priming event.
async fn listen(session: &Session<'_>) -> Events {
    let mut events = session.get(None).await.events();
    let priming = events.next().await.unwrap();
    assert_eq!(priming.message, None);
    assert!(priming.id.is_some());
    events
}

fn tools_changed() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}})
}

fn updated(uri: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}})
}

#[tokio::test]
async fn changes_arrive_on_the_session_stream() {
    let site = site();
    let session = Session::open(&site, "2025-11-25").await;
    let mut events = listen(&session).await;
    site.engine.changes().tools();
    let event = events.next().await.unwrap();
    assert_eq!(event.message, Some(tools_changed()));
    assert!(event.id.is_some());
}

#[tokio::test]
async fn changes_of_a_fixed_list_are_not_sent() {
    let site = site();
    let session = Session::open(&site, "2025-11-25").await;
    let mut events = listen(&session).await;
    site.engine.changes().resources();
    site.engine.changes().tools();
    assert_eq!(events.message().await, tools_changed(), "the list of resources is fixed");
}

#[tokio::test]
async fn stream_of_an_earlier_revision_has_no_priming_event() {
    let site = site();
    let session = Session::open(&site, "2025-06-18").await;
    let mut events = session.get(None).await.events();
    site.engine.changes().tools();
    assert_eq!(events.message().await, tools_changed());
}

#[tokio::test]
async fn changes_before_the_stream_is_opened_are_not_lost() {
    let site = site();
    let session = Session::open(&site, "2025-11-25").await;
    site.engine.changes().tools();
    site.engine.changes().prompts();
    let mut events = listen(&session).await;
    assert_eq!(events.message().await, tools_changed());
    assert_eq!(events.message().await["method"], "notifications/prompts/list_changed");
}

#[tokio::test]
async fn changes_during_a_broken_stream_are_delivered_later() {
    // In process, because over a connection the server may learn too late that the stream is broken.
    let site = site().in_process();
    let session = Session::open(&site, "2025-11-25").await;
    let mut events = listen(&session).await;
    site.engine.changes().tools();
    let last = events.next().await.unwrap().id.unwrap();
    drop(events);
    site.engine.changes().prompts();
    let mut again = listen(&session).await;
    assert_eq!(again.message().await["method"], "notifications/prompts/list_changed");
    let mut resumed = session.get(Some(&last)).await.events();
    assert_eq!(resumed.message().await["method"], "notifications/prompts/list_changed");
    again.must_be_over().await;
}

#[tokio::test]
async fn resource_updates_arrive_only_while_subscribed() {
    let site = site();
    let changes = site.engine.changes();
    let session = Session::open(&site, "2025-11-25").await;
    let mut events = listen(&session).await;
    let memo = json!({"uri": "memo:///today"});

    changes.resource("memo:///today");
    changes.tools();
    assert_eq!(events.message().await, tools_changed(), "there is no subscription yet");

    let subscribed = session.request("resources/subscribe", &memo).await;
    assert_eq!(subscribed.result().await, json!({}));
    changes.resource("memo:///tomorrow");
    changes.resource("memo:///today");
    assert_eq!(events.message().await, updated("memo:///today"));

    let unsubscribed = session.request("resources/unsubscribe", &memo).await;
    assert_eq!(unsubscribed.result().await, json!({}));
    changes.resource("memo:///today");
    changes.tools();
    assert_eq!(events.message().await, tools_changed(), "the subscription has ended");
}

#[tokio::test]
async fn subscription_belongs_to_its_session() {
    let site = site();
    let (one, other) =
        (Session::open(&site, "2025-11-25").await, Session::open(&site, "2025-11-25").await);
    one.request("resources/subscribe", &json!({"uri": "memo:///today"})).await.result().await;
    let (mut of_one, mut of_other) = (listen(&one).await, listen(&other).await);
    site.engine.changes().resource("memo:///today");
    site.engine.changes().tools();
    assert_eq!(of_one.message().await, updated("memo:///today"));
    assert_eq!(of_one.message().await, tools_changed());
    assert_eq!(of_other.message().await, tools_changed());
}

#[tokio::test]
async fn missing_resource_cannot_be_subscribed_to() {
    let site = site();
    let session = Session::open(&site, "2025-11-25").await;
    let params = json!({"uri": "memo:///tomorrow"});
    let error = session.request("resources/subscribe", &params).await.error(200, -32002).await;
    assert_eq!(error["data"], params);
}

#[tokio::test]
async fn stream_request_must_accept_events() {
    let site = site();
    let session = Session::open(&site, "2025-11-25").await;
    let get = session.within(Call::bare(Method::GET).header(ACCEPT, "application/json"));
    site.send(get).await.refusal(406, -32600).await;
}

#[tokio::test]
async fn second_stream_replaces_the_first() {
    let site = site();
    let session = Session::open(&site, "2025-11-25").await;
    let first = listen(&session).await;
    let mut second = listen(&session).await;
    first.must_be_over().await;
    site.engine.changes().tools();
    assert_eq!(second.message().await, tools_changed());
}

/// [`RunningServer::stop`](candor_server::RunningServer::stop): ends long-lived streams, does not touch requests that run.
#[tokio::test]
async fn stop_ends_the_session_stream_but_not_running_calls() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = gate.clone();
    let step = tool("step", move |_, ctx| {
        let gate = opened.clone();
        async move {
            ctx.progress(1, None, None).await;
            gate.acquire().await.unwrap().forget();
            Ok("done")
        }
    });
    let site = Site::of(server().tool(step));
    let session = Session::open(&site, "2025-11-25").await;
    let own = listen(&session).await;
    let mut call = session.call("step").await.events();
    call.next().await.unwrap();
    assert_eq!(call.message().await["method"], "notifications/progress");
    site.engine.stop();
    own.must_be_over().await;
    gate.add_permits(1);
    let rest = call.rest().await;
    assert_eq!(rest.len(), 1, "the answer");
    assert_eq!(rest[0]["result"]["content"][0]["text"], "done");
}
