//! How servers end when they are told to.

#![cfg(unix)]

use candor::prelude::*;
use candor::run::{ServeArgs, Serving};
use serde_json::json;

use crate::example;
use crate::http::{Events, open_session, post};
use crate::messages::{call, initialize, modern, text};
use crate::process::{Program, output};

#[tokio::test]
async fn signal_completes_an_open_subscription_and_ends_the_server() {
    let mut everything = Program::start(example("everything").args(["--http", "127.0.0.1:0"]));
    let address = everything.listening().await;
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let mut events = Events::post(&address, &modern(7, "subscriptions/listen", &wanted)).await;
    let acknowledged = events.next().await.unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    post(&address, &call(8, "test_trigger_tool_change", &json!({})), &[]).await;
    let changed = events.next().await.unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed");

    everything.terminate();
    let result = events.next().await.unwrap();
    assert_eq!((&result["id"], &result["result"]["resultType"]), (&json!(7), &json!("complete")));
    assert_eq!(events.next().await, None, "the stream ends with its result");
    assert_eq!(everything.ended().await.status.code(), Some(0));
}

#[tokio::test]
async fn signal_ends_an_open_legacy_stream_at_once() {
    let mut everything = Program::start(example("everything").args(["--http", "127.0.0.1:0"]));
    let address = everything.listening().await;
    let session = open_session(&address, &initialize(1)).await;
    let mut events = Events::get(&address, &session).await;
    post(&address, &call(2, "test_trigger_tool_change", &json!({})), &[]).await;
    let changed = events.next().await.unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed");

    // Every legacy client keeps such a stream open, and it would stay open for ever.
    everything.terminate();
    let told = std::time::Instant::now();
    assert_eq!(events.next().await, None);
    assert_eq!(everything.ended().await.status.code(), Some(0));
    assert!(told.elapsed().as_secs() < 3, "it waited {:?}", told.elapsed());
}

#[tokio::test]
async fn signal_lets_a_running_call_finish() {
    let mut everything = Program::start(example("everything").args(["--http", "127.0.0.1:0"]));
    let address = everything.listening().await;
    let wait = json!({"name": "wait", "arguments": {"steps": 5}, "_meta": {"progressToken": 1}});
    let mut events = Events::post(&address, &modern(1, "tools/call", &wait)).await;
    assert_eq!(events.next().await.unwrap()["params"]["progress"], 1);
    everything.terminate();
    let answer = loop {
        let message = events.next().await.expect("an answer");
        if message["id"] == 1 {
            break message;
        }
    };
    assert_eq!(text(&answer), "Waited 5 steps.");
    assert_eq!(everything.ended().await.status.code(), Some(0));
}

/// A program may keep running after its server has ended. This test starts itself as that program and reads its stderr.
#[tokio::test]
async fn ended_server_prints_no_stopping_notice() {
    const SERVES: &str = "CANDOR_TEST_SERVES";
    if std::env::var_os(SERVES).is_some() {
        let mut args = ServeArgs::default();
        args.http = Some(([127, 0, 0, 1], 0).into());
        args.ledger = Some("none".to_owned());
        let serving = Serving::default().until(std::future::ready(()));
        Server::new("short", "1.0.0").serve_with(args, serving).await.unwrap();
        return tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    }
    let mut serves = tokio::process::Command::new(std::env::current_exe().unwrap());
    serves.args(["--exact", "--nocapture", "signals::ended_server_prints_no_stopping_notice"]);
    let ended = output(serves.env(SERVES, "1")).await;
    let said = ended.stderr.join("\n");
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(said.contains("listening on") && !said.contains("stopping"), "{said}");
}

#[tokio::test]
async fn signal_ends_a_stdio_server_whose_host_holds_the_pipes() {
    let mut hello = Program::start(example("hello").arg("--stdio"));
    hello.ask(&initialize(1)).await;
    hello.terminate();
    assert_eq!(hello.ended().await.status.code(), Some(0));
}

#[tokio::test]
async fn signal_ends_a_stdio_server_whose_host_does_not_read() {
    let mut everything =
        Program::start(example("everything").args(["--stdio", "--drain", "100ms"]));
    everything.ask(&initialize(1)).await;
    everything.turn_deaf();
    for id in 2..50 {
        everything.write(&modern(id, "tools/list", &json!({})).to_string()).await;
    }
    everything.terminate();
    assert_eq!(everything.ended().await.status.code(), Some(0));
}
