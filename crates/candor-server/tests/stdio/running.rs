//! Requests that run: side by side, up to a bound, taken back, failing.

use std::sync::Arc;

use candor_server::Server;
use candor_server::tool::{ToolSet, provider_fn};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::client::{Client, call, cancelled, code, modern, notification, request, said, text};
use crate::tools::{Gate, ask_name, server, tool};

#[tokio::test(start_paused = true)]
async fn progress_precedes_the_answer_in_both_eras() {
    let steps = tool("steps", |ctx| async move {
        for step in 1..=3 {
            ctx.progress(step, 3, "climbing").await;
        }
        Ok("At the top.")
    });
    let mut client = Client::initialized(server().tool(steps)).await;
    let params = json!({"name": "steps", "_meta": {"progressToken": "t"}});
    for asked in [request(1, "tools/call", &params), modern(2, "tools/call", &params)] {
        client.send(&asked).await;
        for step in 1..=3 {
            let told =
                json!({"progressToken": "t", "progress": step, "total": 3, "message": "climbing"});
            assert_eq!(client.next().await, notification("notifications/progress", &told));
        }
        let answer = client.next().await;
        assert_eq!((&answer["id"], text(&answer)), (&asked["id"], "At the top."));
    }
    assert_eq!(
        client.ask(&call(3, "steps")).await,
        said(3, "At the top."),
        "the call has no progress token"
    );
}

#[tokio::test(start_paused = true)]
async fn two_calls_run_concurrently() {
    let barrier = Arc::new(Barrier::new(2));
    let meet = tool("meet", move |_| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            Ok("Met.")
        }
    });
    let mut client = Client::initialized(server().tool(meet)).await;
    client.send(&call(1, "meet")).await;
    client.expect_silence().await;
    client.send(&call(2, "meet")).await;
    let mut ids = [client.next().await["id"].take(), client.next().await["id"].take()];
    ids.sort_by_key(Value::as_u64);
    assert_eq!(ids, [json!(1), json!(2)]);
}

fn assert_busy(answer: &Value) {
    assert_eq!(code(answer), 4290, "{answer}");
    assert_eq!(answer["error"]["data"]["code"], "busy", "{answer}");
}

#[tokio::test(start_paused = true)]
async fn requests_beyond_the_limit_are_refused_as_busy() {
    let gate = Gate::new();
    let mut client =
        Client::initialized(server().tool(gate.tool()).limits(|l| l.stdio_requests = 2)).await;
    client.send_together(&[call(1, "wait"), call(2, "wait")]).await;
    assert_busy(&client.ask(&call(3, "greet")).await);
    // The refused ID is free, but no slot is.
    assert_busy(&client.ask(&call(3, "greet")).await);
    gate.open();
    assert_eq!(text(&client.next().await), "Let go.");
    assert_eq!(client.ask(&call(3, "greet")).await, said(3, "Hello!"));
}

#[tokio::test(start_paused = true)]
async fn busy_connection_accepts_cancellations() {
    let gate = Gate::new();
    let mut client =
        Client::initialized(server().tool(gate.tool()).limits(|l| l.stdio_requests = 1)).await;
    client.send(&call(1, "wait")).await;
    gate.began().await;
    assert_busy(&client.ask(&call(2, "greet")).await);
    client.send(&cancelled(1)).await;
    gate.ended().await;
    client.expect_silence().await;
    assert_eq!(client.ask(&call(2, "greet")).await, said(2, "Hello!"));
}

#[tokio::test(start_paused = true)]
async fn busy_connection_accepts_answers_to_its_questions() {
    let mut client =
        Client::initialized(server().tool(ask_name()).limits(|l| l.stdio_requests = 1)).await;
    client.send(&call(1, "ask_name")).await;
    let question = client.next().await;
    assert_eq!(question["method"], "elicitation/create");
    assert_busy(&client.ask(&call(2, "greet")).await);
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer})).await;
    assert_eq!(client.next().await, said(1, "Hello, Ada!"));
    assert_eq!(client.ask(&call(2, "greet")).await, said(2, "Hello!"));
}

#[tokio::test(start_paused = true)]
async fn cancelled_call_ends_without_a_response() {
    let gate = Gate::new();
    let mut client = Client::initialized(server().tool(gate.tool())).await;
    client.send(&call(7, "wait")).await;
    gate.began().await;
    client.send(&cancelled(7)).await;
    gate.ended().await;
    gate.open();
    client.expect_silence().await;
    assert_eq!(client.ask(&call(7, "greet")).await, said(7, "Hello!"));
    assert!(client.end().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn id_of_a_cancelled_call_is_free_at_once() {
    let gate = Gate::new();
    let mut client = Client::initialized(server().tool(gate.tool())).await;
    client.send(&call(7, "wait")).await;
    gate.began().await;
    // The call ends without a response, so a client cannot wait for its end.
    client.send_together(&[cancelled(7), call(7, "greet")]).await;
    assert_eq!(client.next().await, said(7, "Hello!"));
    client.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn cancellation_of_an_unknown_request_is_ignored() {
    let mut client = Client::initialized(server()).await;
    for notice in [
        cancelled(99),
        cancelled("99"),
        notification("notifications/cancelled", &json!({})),
        notification("notifications/cancelled", &json!({"requestId": {}})),
        notification("notifications/nobody/knows", &json!({})),
    ] {
        client.send(&notice).await;
    }
    client.expect_silence().await;
    assert_eq!(client.ask(&call(99, "greet")).await, said(99, "Hello!"));
}

#[tokio::test(start_paused = true)]
async fn id_of_a_running_request_cannot_be_reused() {
    let gate = Gate::new();
    let mut client = Client::initialized(server().tool(gate.tool())).await;
    client.send(&call(1, "wait")).await;
    let answer = client.ask(&call(1, "greet")).await;
    assert_eq!(
        answer["error"],
        json!({"code": -32600, "message": "Invalid request: another request with this id is running"})
    );
    assert_eq!(
        client.ask(&call("1", "greet")).await,
        said("1", "Hello!"),
        "a string is not the number that it spells"
    );
    gate.open();
    assert_eq!(client.next().await, said(1, "Let go."));
    assert_eq!(client.ask(&call(1, "greet")).await, said(1, "Hello!"));
}

#[tokio::test(start_paused = true)]
async fn panicking_tool_fails_only_its_own_call() {
    let shaky = tool("shaky", |_| async {
        panic!("a secret of the house");
        #[allow(unreachable_code)]
        Ok("")
    });
    let mut client =
        Client::initialized(server().tool(shaky).limits(|l| l.stdio_requests = 1)).await;
    for id in 1..=2 {
        let answer = client.ask(&call(id, "shaky")).await;
        assert_eq!(answer["result"]["isError"], true);
        assert!(text(&answer).contains("failed unexpectedly"), "{answer}");
        assert!(!answer.to_string().contains("secret"), "{answer}");
    }
    assert_eq!(client.ask(&call(3, "greet")).await, said(3, "Hello!"));
}

#[tokio::test(start_paused = true)]
async fn request_to_a_panicking_tool_source_is_answered() {
    let provider = provider_fn::<ToolSet, _>(|_| panic!("a secret of the house"));
    let mut client = Client::initialized(Server::new("test", "1.0.0").tools_from(provider)).await;
    for asked in [request(1, "tools/list", &json!({})), call(1, "greet")] {
        let answer = client.ask(&asked).await;
        assert_eq!(code(&answer), -32603);
        assert!(!answer.to_string().contains("secret"), "{answer}");
    }
}
