//! How often schemas are derived. A file of its own: the counter is the process's, and no other test may run beside it.

#[path = "../../../examples/schemas.rs"]
#[allow(dead_code)]
mod example;
#[path = "run/http.rs"]
mod http;
#[path = "run/messages.rs"]
mod messages;
#[path = "run/process.rs"]
mod process;

use std::future::pending;

use axum::Router;
use candor::prelude::*;
use candor::transport::http::{Http, endpoint, serve};
use candor::{Limits, json};
use messages::{initialize, modern, request, text};
use serde_json::Value;
use tokio::net::TcpListener;

/// How many schemas are derived by this.
fn derived<T>(register: impl FnOnce() -> T) -> u64 {
    let before = candor_schema::derivations();
    register();
    candor_schema::derivations() - before
}

#[tool(reads)]
fn add(a: u8, b: u8) -> u8 {
    a + b
}

#[tool(reads)]
fn join(a: String, b: String, c: String) -> String {
    a + &b + &c
}

#[tool(reads)]
fn all(a: Vec<bool>, b: Option<bool>) -> bool {
    a.into_iter().chain(b).all(|so| so)
}

#[tokio::test]
async fn schemas_are_derived_only_at_registration() {
    // One for the input and one for the output of each tool, on every registration.
    assert_eq!(derived(|| tools![add]), 2);
    assert_eq!(derived(|| tools![add, join, all]), 3 * 2);
    let example = derived(example::server);
    assert!(example >= 14 * 2 - 1, "14 tools, one with an input schema by hand: {example}");
    assert_eq!(derived(example::server), example);
    assert_eq!(derived(|| example::server().test()), example, "the build derives nothing more");

    // Lists and calls over a socket, in both eras.
    let unserved = candor_schema::derivations();
    let address = listening(example::server()).await;
    let before = candor_schema::derivations();
    assert_eq!(before - unserved, example, "serving derives nothing more");
    let session = http::open_session(&address, &initialize(1)).await;
    let calls = [
        json!({"name": "greet", "arguments": {"name": "Ada", "age": 36}}),
        json!({"name": "greet", "arguments": {"name": "Ada"}}),
    ];
    let mut lists = Vec::new();
    for _ in 0..3 {
        for is_modern in [true, false] {
            let ask = async |method: &str, params: &Value| {
                if is_modern {
                    return http::post(&address, &modern(2, method, params), &[]).await.json();
                }
                let asked = request(2, method, params);
                http::Events::post_in(&address, &session, &asked).await.answer(2).await
            };
            lists.push(ask("tools/list", &json!({})).await["result"]["tools"].take());
            assert_eq!(text(&ask("tools/call", &calls[0]).await), "Hello Ada, age 36");
            let refused = ask("tools/call", &calls[1]).await;
            assert!(text(&refused).contains("/age"), "its schema is checked: {refused}");
        }
    }
    assert_eq!(candor_schema::derivations(), before);
    assert_eq!(lists[0].as_array().map(Vec::len), Some(14));
    assert!(lists.iter().all(|list| *list == lists[0]), "the lists stay the same: {lists:?}");
}

/// Serves it as every server of ours is served; gives the address.
async fn listening(server: Server) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let app = Router::new().route("/mcp", endpoint(server.build().unwrap(), Http::default()));
    tokio::spawn(async move { serve(listener, app, &Limits::default(), pending()).await });
    address
}
