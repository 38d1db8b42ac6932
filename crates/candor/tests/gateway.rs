//! The example gateway between a host and another server, as three processes, in either era.

#![allow(missing_docs)]
#![cfg(all(feature = "client", feature = "run"))]

#[path = "run/example.rs"]
mod example;

use std::time::Duration;

use candor::client::{Client, ElicitReply, Program};
use candor::protocol::Era;
use serde_json::{Value, json};

fn program(name: &str) -> String {
    example::example(name).as_std().get_program().to_str().unwrap().to_owned()
}

/// The example server, and the same server behind the gateway.
async fn both(era: Era) -> [Client; 2] {
    let state = concat!(env!("CARGO_TARGET_TMPDIR"), "/state");
    let direct = Program::new(program("everything")).arg("--stdio").env("XDG_STATE_HOME", state);
    let forwarded = Program::new(program("gateway"))
        .args(["--stdio", "--"])
        .arg(program("everything"))
        .arg("--stdio")
        .env("XDG_STATE_HOME", state);
    let mut clients = Vec::new();
    for program in [direct, forwarded] {
        let client = Client::start(program).era(era).on_elicit(|asked| async move {
            let name = format!("heard: {}", asked.message);
            let answers = [("username", json!(name)), ("email", json!("ada@example.com"))];
            ElicitReply::Accept(
                answers.map(|(name, value)| (name.to_owned(), value)).into_iter().collect(),
            )
        });
        clients.push(soon(client.into_future()).await.unwrap());
    }
    clients.try_into().unwrap_or_else(|_| unreachable!("two clients"))
}

#[track_caller]
fn soon<T>(future: impl Future<Output = T>) -> impl Future<Output = T> {
    let caller = std::panic::Location::caller();
    async move {
        let answer = tokio::time::timeout(Duration::from_secs(20), future).await;
        answer.unwrap_or_else(|_| panic!("no answer in time: {caller}"))
    }
}

fn json_of(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

#[tokio::test]
async fn gateway_forwards_tools_results_and_questions() {
    for era in [Era::Legacy, Era::Modern] {
        let [direct, forwarded] = both(era).await;
        let listed = soon(direct.tools()).await.unwrap();
        let listed_again = soon(forwarded.tools()).await.unwrap();
        let definitions = |tools: &candor::client::Tools| {
            tools.iter().map(|tool| json_of(tool.definition())).collect::<Vec<_>>()
        };
        assert_eq!(definitions(&listed), definitions(&listed_again), "{era:?}");
        assert!(listed.iter().count() > 20);
        for (tool, arguments) in [
            ("test_simple_text", json!({})),
            ("test_image_content", json!({})),
            ("test_multiple_content_types", json!({})),
            ("test_error_handling", json!({})),
            ("test_elicitation", json!({"message": "Who?"})),
        ] {
            let expected = soon(direct.call(tool, arguments.clone()).into_future()).await.unwrap();
            let result = soon(forwarded.call(tool, arguments).into_future()).await.unwrap();
            assert_eq!(
                json_of(&result.raw().content),
                json_of(&expected.raw().content),
                "{era:?} {tool}"
            );
            assert_eq!(result.raw().is_error, expected.raw().is_error, "{era:?} {tool}");
        }
        let asked =
            soon(forwarded.call("test_elicitation", json!({"message": "Who?"})).into_future())
                .await
                .unwrap();
        assert!(asked.text().contains("heard: Who?"), "{era:?}: {}", asked.text());
        soon(forwarded.close()).await;
        soon(direct.close()).await;
    }
}
