//! HTTP as clients of 2026-07-28 see it; and the door, which both eras come through.

mod common;

#[path = "http_modern/calls.rs"]
mod calls;
#[path = "http_modern/completing.rs"]
mod completing;
#[path = "http_modern/door.rs"]
mod door;
#[path = "http_modern/forms.rs"]
mod forms;
#[path = "http_modern/headers.rs"]
mod headers;
#[path = "http_modern/listen.rs"]
mod listen;
#[path = "http_modern/lists.rs"]
mod lists;
#[path = "http_modern/nulls.rs"]
mod nulls;
#[path = "http_modern/principals.rs"]
mod principals;
#[path = "http_modern/rounds.rs"]
mod rounds;

use candor_server::protocol::types::LogLevel;
use candor_server::tool::JsonTool;
use common::{Call, SERVER_INFO_KEY, Site, call, greet, modern, server, text, tool};
use serde_json::{Value, json};

#[tokio::test]
async fn call_without_notifications_is_answered_with_json() {
    let site = Site::of(server().tool(greet()));
    let reply = site.send(call("greet", &json!({"name": "Ada"}))).await;
    assert_eq!(reply.status, 200);
    let expected = json!({"jsonrpc": "2.0", "id": 1, "result": {
        "resultType": "complete",
        "content": [{"type": "text", "text": "Hello, Ada!"}],
        "_meta": {SERVER_INFO_KEY: {"name": "bench", "version": "1.2.3"}},
    }});
    assert_eq!(reply.json().await, expected);
}

/// A tool that reports these numbers and ends.
fn counting(numbers: Vec<u64>) -> JsonTool {
    tool("count", move |_, ctx| {
        let numbers = numbers.clone();
        async move {
            for number in numbers {
                ctx.progress(number, 10, "counting").await;
            }
            Ok("counted")
        }
    })
}

fn with_progress(token: &Value) -> Call {
    modern("tools/call", &json!({"name": "count", "_meta": {"progressToken": token}}))
}

#[tokio::test]
async fn growing_progress_is_streamed_before_the_result() {
    let site = Site::of(server().tool(counting(vec![0, 1, 5, 5, 3, 10])));
    let mut events = site.send(with_progress(&json!("token"))).await.events();
    for number in [0, 1, 5, 10] {
        let event = events.next().await.unwrap();
        assert_eq!(event.id, None, "modern streams cannot be resumed");
        let params = json!({"progressToken": "token", "progress": number, "total": 10, "message": "counting"});
        let expected =
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        assert_eq!(event.message, Some(expected));
    }
    let answer = events.message().await;
    assert_eq!(answer["id"], 1);
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(text(&answer["result"]), "counted");
    events.must_be_over().await;
}

#[tokio::test]
async fn numeric_progress_token_stays_a_number() {
    let site = Site::of(server().tool(counting(vec![1])));
    let mut events = site.send(with_progress(&json!(7))).await.events();
    assert_eq!(events.message().await["params"]["progressToken"], 7);
}

#[tokio::test]
async fn progress_beyond_the_queue_capacity_arrives_in_order() {
    let site = Site::of(server().tool(counting((0..300).collect())));
    let mut messages = site.send(with_progress(&json!(1))).await.events().rest().await;
    let answer = messages.pop().unwrap();
    assert_eq!(text(&answer["result"]), "counted");
    let numbers: Vec<_> =
        messages.iter().map(|m| m["params"]["progress"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..300).collect::<Vec<_>>());
}

#[tokio::test]
async fn progress_is_not_sent_without_a_token() {
    let site = Site::of(server().tool(counting(vec![1, 2, 3])));
    let result = site.send(call("count", &json!({}))).await.result().await;
    assert_eq!(text(&result), "counted");
}

#[tokio::test]
async fn logs_are_sent_only_from_the_requested_level() {
    let chatty = tool("chat", |_, ctx| async move {
        ctx.log(LogLevel::Info, "small talk").await;
        ctx.log(LogLevel::Error, "an outcry").await;
        Ok("done")
    });
    let site = Site::of(server().tool(chatty));
    let meta = json!({"io.modelcontextprotocol/logLevel": "warning"});
    let heard = modern("tools/call", &json!({"name": "chat", "_meta": meta}));
    let mut events = site.send(heard).await.events();
    let message = events.message().await;
    assert_eq!(message["method"], "notifications/message");
    assert_eq!(message["params"], json!({"level": "error", "data": "an outcry"}));
    assert_eq!(text(&events.message().await["result"]), "done");
    events.must_be_over().await;

    let unheard = site.send(call("chat", &json!({}))).await;
    assert_eq!(text(&unheard.result().await), "done");
}

#[tokio::test]
async fn quiet_stream_is_kept_alive_by_comments() {
    let silent = tool("muse", |_, ctx| async move {
        ctx.progress(1, None, None).await;
        std::future::pending::<()>().await;
        Ok("never")
    });
    let site = Site::of(
        server()
            .tool(silent)
            .limits(|limits| limits.keep_alive = std::time::Duration::from_millis(5)),
    );
    let params = json!({"name": "muse", "_meta": {"progressToken": 1}});
    let mut events = site.send(modern("tools/call", &params)).await.events();
    assert_eq!(events.message().await["params"]["progress"], 1);
    assert_eq!(events.block().await.as_deref(), Some(": keep-alive"));
}

#[tokio::test]
async fn notification_is_accepted_with_an_empty_response() {
    let site = Site::of(server().tool(greet()));
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/whatever"});
    site.send(Call::post(&notice)).await.must_be_empty(202).await;
}

#[tokio::test]
async fn legacy_session_headers_are_ignored() {
    let site = Site::of(server().tool(greet()));
    let request = call("greet", &json!({"name": "Ada"}))
        .header("mcp-session-id", "0123456789abcdef")
        .header("last-event-id", "1.0");
    assert_eq!(text(&site.send(request).await.result().await), "Hello, Ada!");
}
