//! Questions to the person behind the client, in the way of each era.

use serde_json::{Value, json};

use crate::client::{Client, call, cancelled, code, modern, modern_call, said, text};
use crate::tools::{ask_name, server};

fn form() -> Value {
    json!({
        "message": "Who are you?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    })
}

#[tokio::test(start_paused = true)]
async fn legacy_client_is_asked_during_its_call() {
    let mut client = Client::initialized(server().tool(ask_name())).await;
    client.send(&call(1, "ask_name")).await;
    let question = client.next().await;
    assert_eq!(
        question,
        json!({"jsonrpc": "2.0", "id": question["id"], "method": "elicitation/create", "params": form()})
    );
    client.expect_silence().await;
    // An answer to an unknown question is ignored.
    client.send(&json!({"jsonrpc": "2.0", "id": "nobody", "result": {"action": "decline"}})).await;
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer})).await;
    assert_eq!(client.next().await, said(1, "Hello, Ada!"));
}

#[tokio::test(start_paused = true)]
async fn legacy_client_can_decline_refuse_or_answer_wrongly() {
    let mut client = Client::initialized(server().tool(ask_name())).await;
    for (id, outcome, expected) in [
        (1, json!({"result": {"action": "decline"}}), "Hello, stranger!"),
        (2, json!({"error": {"code": -1, "message": "no time"}}), "the client refused: no time"),
        (
            3,
            json!({"result": {"action": "accept", "content": {"name": 3}}}),
            "the client's answer cannot be used: ",
        ),
    ] {
        client.send(&call(id, "ask_name")).await;
        let mut answer = outcome;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = client.next().await["id"].take();
        client.send(&answer).await;
        let answer = client.next().await;
        assert_eq!(answer["id"], id);
        assert!(text(&answer).starts_with(expected), "{answer}");
        let failed = answer["result"]["isError"] == true;
        assert_eq!(failed, id > 1, "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn cancelled_legacy_call_cancels_its_question() {
    let mut client = Client::initialized(server().tool(ask_name())).await;
    client.send(&call(1, "ask_name")).await;
    let question = client.next().await;
    client.send(&cancelled(1)).await;
    let notice = client.next().await;
    assert_eq!(notice["method"], "notifications/cancelled");
    assert_eq!(notice["params"]["requestId"], question["id"]);
    client.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn unanswered_question_is_cancelled_and_fails_the_call() {
    let patience = std::time::Duration::from_secs(2);
    let server = server().tool(ask_name()).limits(|l| l.question = patience);
    let mut client = Client::initialized(server).await;
    client.send(&call(1, "ask_name")).await;
    let question = client.next().await;
    let notice = client.next().await;
    assert_eq!(notice["method"], "notifications/cancelled");
    assert_eq!(notice["params"]["requestId"], question["id"]);
    let answer = client.next().await;
    assert_eq!(text(&answer), "the client did not answer in time");
    assert_eq!(answer["result"]["isError"], true);
}

#[tokio::test(start_paused = true)]
async fn modern_question_is_a_result_answered_by_a_retry() {
    let mut client = Client::of(server().tool(ask_name()));
    let first = client.ask(&modern_call(1, "ask_name")).await;
    let result = &first["result"];
    assert_eq!(result["resultType"], "input_required");
    assert_eq!(
        result["inputRequests"],
        json!({"who": {"method": "elicitation/create", "params": form()}})
    );
    let retry = |id: u64, state: Value| {
        let responses = json!({"who": {"action": "accept", "content": {"name": "Ada"}}});
        let params =
            json!({"name": "ask_name", "inputResponses": responses, "requestState": state});
        modern(id, "tools/call", &params)
    };

    let second = client.ask(&retry(2, result["requestState"].clone())).await;
    assert_eq!(second["result"]["resultType"], "complete");
    assert_eq!(text(&second), "Hello, Ada!");

    let tampered = format!("{}x", result["requestState"].as_str().unwrap());
    let refused = client.ask(&retry(3, json!(tampered))).await;
    assert_eq!(
        refused["error"],
        json!({
            "code": -32602,
            "message": "Invalid requestState: not made by this server for this request, or expired",
        })
    );
}

#[tokio::test(start_paused = true)]
async fn missing_client_capability_is_named_in_the_error() {
    let mut client = Client::of(server().tool(ask_name()));
    let mut asked = modern_call(1, "ask_name");
    asked["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let answer = client.ask(&asked).await;
    assert_eq!(code(&answer), -32021);
    assert_eq!(answer["error"]["data"], json!({"requiredCapabilities": {"elicitation": {}}}));
}
