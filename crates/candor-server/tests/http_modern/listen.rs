//! Streams that stay open, and what happens when a client hangs up.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candor_server::Server;
use candor_server::prompt::{self, Prompt};
use candor_server::tool::{ToolSet, provider_fn};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::NoSubscriber;
use tracing::{Event, Metadata, Subscriber};

use crate::common::{
    Call, Events, SERVER_INFO_KEY, Site, endless, greet, memos, modern, server, soon, tool, two,
};

const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Tools and one memo may change; the prompt and the list of memos cannot.
fn changing() -> Server {
    let tools = Arc::new(ToolSet::default());
    server()
        .tools_from(provider_fn(move |_| Ok(tools.clone())))
        .prompt(Prompt::new("hello", |_, _| async { Ok(prompt::user("Hello")) }))
        .resources(memos())
}

fn listen(wanted: &Value) -> Call {
    modern("subscriptions/listen", &json!({"notifications": wanted}))
}

fn told(method: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({SUBSCRIPTION_KEY: 1});
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// Expects the acknowledgement with what is honoured.
async fn acknowledged(events: &mut Events, honoured: &Value) {
    assert_eq!(
        events.message().await,
        told("notifications/subscriptions/acknowledged", &json!({"notifications": honoured}))
    );
}

#[tokio::test]
async fn subscription_is_acknowledged_and_ends_with_a_result() {
    let site = Site::of(changing());
    let wanted = json!({
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourcesListChanged": true,
        "resourceSubscriptions": ["memo:///today", "memo:///tomorrow"],
    });
    let mut events = site.send(listen(&wanted)).await.events();
    let honoured = json!({"toolsListChanged": true, "resourceSubscriptions": ["memo:///today"]});
    acknowledged(&mut events, &honoured).await;

    let changes = site.engine.changes();
    changes.prompts();
    changes.resources();
    changes.resource("memo:///tomorrow");
    changes.tools();
    changes.resource("memo:///today");
    assert_eq!(events.message().await, told("notifications/tools/list_changed", &json!({})));
    assert_eq!(
        events.message().await,
        told("notifications/resources/updated", &json!({"uri": "memo:///today"}))
    );

    site.engine.stop();
    let answer = events.message().await;
    let info = json!({"name": "bench", "version": "1.2.3"});
    let result =
        json!({"resultType": "complete", "_meta": {SUBSCRIPTION_KEY: 1, SERVER_INFO_KEY: info}});
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 1, "result": result}));
    events.must_be_over().await;
}

#[tokio::test]
async fn subscription_receives_only_the_requested_changes() {
    let site = Site::of(changing());
    let tools = json!({"toolsListChanged": true, "promptsListChanged": false});
    let memo = json!({"resourceSubscriptions": ["memo:///today"]});
    let mut of_tools = site.send(listen(&tools)).await.events();
    acknowledged(&mut of_tools, &json!({"toolsListChanged": true})).await;
    let mut of_memo = site.send(listen(&memo)).await.events();
    acknowledged(&mut of_memo, &memo).await;

    for _ in 0..2 {
        site.engine.changes().resource("memo:///today");
        site.engine.changes().tools();
        assert_eq!(of_tools.message().await["method"], "notifications/tools/list_changed");
        assert_eq!(of_memo.message().await["method"], "notifications/resources/updated");
    }
    site.engine.stop();
    for rest in [of_tools.rest().await, of_memo.rest().await] {
        assert_eq!(rest.len(), 1, "nothing but the result: {rest:?}");
        assert_eq!(rest[0]["result"]["resultType"], "complete");
    }
}

#[tokio::test]
async fn slow_listener_receives_each_change_once() {
    let site = Site::of(changing());
    let wanted = json!({"toolsListChanged": true, "resourceSubscriptions": ["memo:///today"]});
    let mut events = site.send(listen(&wanted)).await.events();
    acknowledged(&mut events, &wanted).await;
    for _ in 0..10_000 {
        site.engine.changes().tools();
        site.engine.changes().prompts();
        site.engine.changes().resource("memo:///today");
    }
    for method in ["notifications/tools/list_changed", "notifications/resources/updated"] {
        assert_eq!(events.message().await["method"], method);
    }
    site.engine.stop();
    assert_eq!(events.rest().await.len(), 1, "nothing but the result");
}

#[tokio::test]
async fn listen_is_not_found_if_nothing_can_change() {
    let site = Site::of(server().tool(greet()));
    let reply = site.send(listen(&json!({"toolsListChanged": true}))).await;
    reply.error(404, -32601).await;
}

#[tokio::test]
async fn dropped_stream_cancels_the_call() {
    let (forever, mut told) = endless("forever");
    let site = Site::of(server().tool(forever));
    let params = json!({"name": "forever", "_meta": {"progressToken": 1}});
    let mut events = site.send(modern("tools/call", &params)).await.events();
    assert_eq!(events.message().await["params"]["progress"], 1);
    assert_eq!(soon(told.recv()).await, Some("started"));
    drop(events);
    assert_eq!(two(&mut told).await, ["cancelled", "dropped"]);
}

/// Sends a request to a server, closes the connection as soon as the tool runs, and waits for what becomes of it.
async fn cut_off(address: SocketAddr, told: &mut UnboundedReceiver<&'static str>) {
    let mut connection = soon(TcpStream::connect(address)).await.unwrap();
    // Without a progress token nothing is sent, so not even the head of a response is on its way.
    let request = modern("tools/call", &json!({"name": "forever"})).to_wire();
    soon(connection.write_all(request.as_bytes())).await.unwrap();
    assert_eq!(soon(told.recv()).await, Some("started"));
    drop(connection);
    assert_eq!(two(told).await, ["cancelled", "dropped"]);
}

#[tokio::test]
async fn closed_connection_cancels_the_call_under_axum_serve() {
    let (forever, mut told) = endless("forever");
    let site = Site::of(server().tool(forever));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, site.router).await });
    cut_off(address, &mut told).await;
}

#[tokio::test]
async fn closed_connection_cancels_the_call_under_our_accept_loop() {
    let (forever, mut told) = endless("forever");
    let site = Site::of(server().tool(forever));
    cut_off(site.address().await, &mut told).await;
}

/// Log lines of a handler's guards belong to its request, also if it is dropped before it ends.
#[tokio::test]
async fn cancelled_handler_is_dropped_within_its_span() {
    let spans = Spans::default();
    let within = spans.0.clone();
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let forever = tool("forever", move |_, ctx| {
        let left = Left(within.clone(), tell.clone());
        async move {
            let _left = left;
            ctx.progress(1, None, None).await;
            std::future::pending::<()>().await;
            Ok("never said")
        }
    });
    let site = Site::of(server().tool(forever));
    // With a single subscriber, another thread that opens the span first would disable it for all threads.
    let _ = tracing::subscriber::set_global_default(NoSubscriber::default());
    let _guard = tracing::subscriber::set_default(spans);
    let params = json!({"name": "forever", "_meta": {"progressToken": 1}});
    let mut events = site.send(modern("tools/call", &params)).await.events();
    events.message().await;
    drop(events);
    assert_eq!(soon(told.recv()).await, Some(true));
}

/// Tells when it is dropped whether that is within a span.
struct Left(Arc<AtomicUsize>, UnboundedSender<bool>);

impl Drop for Left {
    fn drop(&mut self) {
        let _ = self.1.send(self.0.load(Ordering::Relaxed) > 0);
    }
}

/// How many spans of requests this thread is in.
#[derive(Default)]
struct Spans(Arc<AtomicUsize>);

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target() == "candor::request"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn exit(&self, _: &Id) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
