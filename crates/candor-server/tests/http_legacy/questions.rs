//! Questions in the legacy era: requests to the client, on the stream of the call that asks.

use std::time::Duration;

use candor_server::tool::{JsonTool, ToolError};
use candor_server::{Elicit, Sample};
use serde_json::{Value, json};

use crate::common::{Events, Session, Site, failure, server, text, tool};

fn form() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
}

fn greeter() -> JsonTool {
    tool("greet", |_, ctx| async move {
        let answer = ctx.elicit(Elicit::form("Your name?", &form())).await?;
        Ok(match answer.accepted() {
            Some(answer) => format!("Hello, {}!", answer["name"].as_str().unwrap()),
            None => format!("Hello, nobody ({})!", answer.action()),
        })
    })
}

/// Calls a tool, and gives its stream after the priming event.
async fn asked(session: &Session<'_>, name: &str) -> Events {
    let mut events = session.call(name).await.events();
    assert_eq!(events.next().await.unwrap().message, None);
    events
}

/// The result that ends a stream.
async fn result(mut events: Events) -> Value {
    let mut answer = events.message().await;
    assert_eq!(answer["id"], 1, "{answer}");
    events.must_be_over().await;
    answer["result"].take()
}

#[tokio::test]
async fn elicitation_is_sent_on_the_stream_of_the_call() {
    let site = Site::of(server().tool(greeter()));
    let session = Session::able(&site, &json!({"elicitation": {}})).await;
    for (answer, expected) in [
        (json!({"action": "accept", "content": {"name": "Ada"}}), "Hello, Ada!"),
        (json!({"action": "decline"}), "Hello, nobody (decline)!"),
        (json!({"action": "cancel"}), "Hello, nobody (cancel)!"),
    ] {
        let mut events = asked(&session, "greet").await;
        let question = events.message().await;
        assert_eq!(question["method"], "elicitation/create");
        let params = json!({"message": "Your name?", "requestedSchema": form()});
        assert_eq!(question["params"], params);
        session.answer(&question, &answer).await;
        assert_eq!(text(&result(events).await), expected);
    }
}

#[tokio::test]
async fn sampling_request_is_sent_on_the_stream_of_the_call() {
    let sampler = tool("muse", |_, ctx| async move {
        let said = ctx.sample(Sample::new("Say something", 10)).await?;
        let content = serde_json::to_value(&said.content).unwrap();
        Ok(format!("{} says {}", said.model, content["text"]))
    });
    let site = Site::of(server().tool(sampler));
    let session = Session::able(&site, &json!({"sampling": {}})).await;
    let mut events = asked(&session, "muse").await;
    let question = events.message().await;
    assert_eq!(question["method"], "sampling/createMessage");
    let turn = json!({"role": "user", "content": {"type": "text", "text": "Say something"}});
    assert_eq!(question["params"], json!({"messages": [turn], "maxTokens": 10}));
    let said =
        json!({"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"});
    session.answer(&question, &said).await;
    assert_eq!(text(&result(events).await), r#"m says "hi""#);
}

#[tokio::test]
async fn concurrent_questions_can_be_answered_in_any_order() {
    let both = tool("both", |_, ctx| async move {
        let ask = async |message: &str| {
            let answer = ctx.elicit(Elicit::form(message, &form())).await?;
            Ok::<_, ToolError>(answer.accepted().unwrap()["name"].as_str().unwrap().to_owned())
        };
        let (first, last) = tokio::join!(ask("First?"), ask("Last?"));
        Ok(format!("{} {}", first?, last?))
    });
    let site = Site::of(server().tool(both));
    let session = Session::able(&site, &json!({"elicitation": {}})).await;
    let mut events = asked(&session, "both").await;
    let (first, last) = (events.message().await, events.message().await);
    assert_ne!(first["id"], last["id"]);
    for (question, name) in [(last, "Lovelace"), (first, "Ada")] {
        session.answer(&question, &json!({"action": "accept", "content": {"name": name}})).await;
    }
    assert_eq!(text(&result(events).await), "Ada Lovelace");
}

#[tokio::test]
async fn error_response_to_a_question_fails_the_tool() {
    let site = Site::of(server().tool(greeter()));
    let session = Session::able(&site, &json!({"elicitation": {}})).await;
    let mut events = asked(&session, "greet").await;
    let question = events.message().await;
    let error = json!({"code": -1, "message": "the window was closed"});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "error": error});
    session.send(&answer).await.must_be_empty(202).await;
    let result = result(events).await;
    assert_eq!(failure(&result), "the client refused: the window was closed");
}

#[tokio::test]
async fn answer_that_violates_the_form_fails_the_tool() {
    let site = Site::of(server().tool(greeter()));
    let session = Session::able(&site, &json!({"elicitation": {}})).await;
    let mut events = asked(&session, "greet").await;
    let question = events.message().await;
    session.answer(&question, &json!({"action": "accept", "content": {"name": 7}})).await;
    assert_eq!(
        failure(&result(events).await),
        r#"the client's answer cannot be used: /name: expected a string, received the number 7"#
    );
}

#[tokio::test]
async fn client_without_the_capability_is_not_asked() {
    let site = Site::of(server().tool(greeter()));
    let session = Session::able(&site, &json!({"sampling": {}})).await;
    let result = session.call("greet").await.result().await;
    assert_eq!(
        failure(&result),
        r#"the client does not support this: it would have to declare {"elicitation":{}}"#
    );
}

#[tokio::test]
async fn answer_from_another_session_is_ignored() {
    let site = Site::of(server().tool(greeter()));
    let session = Session::able(&site, &json!({"elicitation": {}})).await;
    let other = Session::able(&site, &json!({"elicitation": {}})).await;
    let mut events = asked(&session, "greet").await;
    let question = events.message().await;
    let accept = |name: &str| json!({"action": "accept", "content": {"name": name}});
    other.answer(&question, &accept("Eve")).await;
    session.answer(&question, &accept("Ada")).await;
    session.answer(&question, &accept("Bob")).await;
    assert_eq!(text(&result(events).await), "Hello, Ada!");
}

#[tokio::test]
async fn unanswered_question_is_cancelled_after_its_timeout() {
    let site =
        Site::of(server().tool(greeter()).limits(|l| l.question = Duration::from_millis(20)));
    let session = Session::able(&site, &json!({"elicitation": {}})).await;
    let mut events = asked(&session, "greet").await;
    let question = events.message().await;
    let notice = events.message().await;
    assert_eq!(notice["method"], "notifications/cancelled");
    assert_eq!(notice["params"]["requestId"], question["id"]);
    assert_eq!(failure(&result(events).await), "the client did not answer in time");
}

/// Cancellation: the receiver of a cancellation does "not send a response for the cancelled request".
#[tokio::test]
async fn cancelled_call_cancels_its_question() {
    let site = Site::of(server().tool(greeter()));
    let session = Session::able(&site, &json!({"elicitation": {}})).await;
    let mut events = asked(&session, "greet").await;
    let question = events.message().await;
    session.cancel().await;
    let rest = events.rest().await;
    let taken_back: Vec<_> = rest.iter().filter_map(|m| m["params"].get("requestId")).collect();
    assert_eq!(taken_back, [&question["id"]]);
    assert_eq!(rest.len(), 1, "no answer: {rest:?}");
}

/// A batch has no stream that a question could go out on.
#[tokio::test]
async fn call_in_a_batch_cannot_ask_a_question() {
    let sampler = tool("muse", |_, ctx| async move {
        ctx.sample(Sample::new("Say something", 10)).await?;
        Ok("said")
    });
    let site = Site::of(server().tool(sampler));
    let session = Session::start(&site, "2025-03-26", &json!({"sampling": {}}), None).await;
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "muse"}});
    let answers = session.send(&json!([call])).await.json().await;
    assert_eq!(answers.as_array().unwrap().len(), 1, "{answers}");
    assert_ne!(failure(&answers[0]["result"]), "");
}
