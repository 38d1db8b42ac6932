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
async fn a_legacy_client_is_asked_while_its_call_waits() {
    let mut client = Client::initialized(server().tool(ask_name())).await;
    client.send(&call(1, "ask_name")).await;
    let question = client.next().await;
    assert_eq!(
        question,
        json!({"jsonrpc": "2.0", "id": question["id"], "method": "elicitation/create", "params": form()})
    );
    client.expect_silence().await;
    // An answer to a question that nobody asked changes nothing.
    client.send(&json!({"jsonrpc": "2.0", "id": "nobody", "result": {"action": "decline"}})).await;
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer})).await;
    assert_eq!(client.next().await, said(1, "Hello, Ada!"));
}

#[tokio::test(start_paused = true)]
async fn a_legacy_client_may_decline_refuse_or_answer_nonsense() {
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
async fn a_legacy_call_that_is_taken_back_takes_its_question_back() {
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
async fn a_question_that_stays_open_too_long_is_taken_back_and_the_call_says_so() {
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
async fn a_modern_client_gets_the_question_as_a_result_and_brings_the_answer() {
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
async fn a_modern_client_that_cannot_be_asked_hears_what_it_would_have_to_declare() {
    let mut client = Client::of(server().tool(ask_name()));
    let mut asked = modern_call(1, "ask_name");
    asked["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let answer = client.ask(&asked).await;
    assert_eq!(code(&answer), -32021);
    assert_eq!(answer["error"]["data"], json!({"requiredCapabilities": {"elicitation": {}}}));
}
