//! How much of the room for calls with a key one caller may have. They go on when their callers leave, so nothing else bounds them.

use candor_server::store::StateKind;
use candor_server::tool::code;
use serde_json::{Value, json};

use crate::bench::{KEY, Work, id, remembering};
use crate::common::{Call, Session, Site, modern, soon};
use crate::lines;

fn params(tool: &str, key: &str) -> Value {
    json!({"name": tool, "arguments": {}, "_meta": {KEY: key}})
}

fn keyed(tool: &str, key: &str) -> Call {
    modern("tools/call", &params(tool, key))
}

/// Makes a call, and hangs up once it has begun.
async fn leave<T>(call: impl Future<Output = T>, work: &Work) {
    tokio::select! {
        _ = call => panic!("it has ended"),
        () = work.began() => {}
    }
}

/// What the refusal of a call says, that it is safe to repeat it, and whether it is this caller's share.
#[track_caller]
fn must_be_busy(result: &Value, share: bool) {
    assert_eq!(result["isError"], true, "{result:#}");
    let details = &result["_meta"]["dev.candor/error"];
    assert_eq!((&details["code"], &details["raisedBy"]), (&json!(code::BUSY), &json!("server")));
    assert_eq!((&details["retriable"], &details["retryAfterMs"]), (&json!(true), &json!(1000)));
    let words = result["content"][0]["text"].as_str().unwrap();
    assert!(words.contains("Nothing was run."), "{words}");
    assert_eq!(words.contains("your limit of concurrent"), share, "{words}");
    let scope = if share { json!("caller") } else { Value::Null };
    assert_eq!(details["scope"], scope, "{details}");
}

async fn stands(site: &Site, principal: &str, key: &str) -> StateKind {
    let found = site.engine.store().unwrap().find(&id(principal, "act", key)).await.unwrap();
    found.and_then(|entry| entry.seen).map_or(StateKind::Absent, |record| record.state.kind())
}

#[tokio::test]
async fn caller_gets_at_most_half_of_the_keyed_slots() {
    let work = Work::new();
    let server = remembering().tool(work.waiting("act")).tool(work.tool("other"));
    let site = Site::guarded(server.limits(|limits| limits.keyed_calls = 3));
    // Two of three slots, in either era.
    leave(site.send(keyed("act", "a").by("alice")), &work).await;
    let session = Session::by(&site, "alice").await;
    leave(session.request("tools/call", &params("act", "b")), &work).await;
    must_be_busy(&site.send(keyed("act", "c").by("alice")).await.result().await, true);
    let other = Session::by(&site, "alice").await;
    let again = other.request("tools/call", &params("act", "c")).await.result().await;
    must_be_busy(&again, true);
    assert_eq!(stands(&site, "alice", "c").await, StateKind::Absent);
    // Calls without a key have capacity, and other callers have the rest.
    let plain = modern("tools/call", &json!({"name": "other", "arguments": {}})).by("alice");
    assert_eq!(site.send(plain).await.result().await["structuredContent"]["number"], 3);
    work.began().await;
    leave(site.send(keyed("act", "a").by("bob")), &work).await;
    must_be_busy(&site.send(keyed("act", "b").by("bob")).await.result().await, false);
    assert_eq!(work.starts(), 4);
    // When one of the disconnected calls ends, the refused call runs under the same key.
    for _ in 0..3 {
        work.let_go();
    }
    soon(async {
        while site.send(keyed("other", "c").by("alice")).await.result().await["isError"] == true {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(work.starts(), 5);
}

/// Anonymous callers cannot be distinguished, so they have no shares.
#[tokio::test]
async fn anonymous_caller_may_take_all_keyed_slots() {
    let work = Work::new();
    let server = remembering().tool(work.waiting("act"));
    let site = Site::of(server.limits(|limits| limits.keyed_calls = 2));
    for key in ["a", "b"] {
        leave(site.send(keyed("act", key)), &work).await;
    }
    must_be_busy(&site.send(keyed("act", "c")).await.result().await, false);
}

#[tokio::test]
async fn stdio_caller_may_take_all_keyed_slots() {
    let work = Work::new();
    let server = remembering().tool(work.waiting("act"));
    let mut client = lines::Client::of(server.limits(|limits| limits.keyed_calls = 2));
    for key in ["a", "b"] {
        client.send(&lines::modern(key, "tools/call", &params("act", key))).await;
        work.began().await;
    }
    let busy = client.ask(&lines::modern("c", "tools/call", &params("act", "c"))).await;
    must_be_busy(&busy["result"], false);
    for _ in 0..2 {
        work.let_go();
        let answer = client.next().await;
        assert_eq!(answer["result"]["structuredContent"]["cancelled"], false, "{answer:#}");
    }
    assert_eq!(work.starts(), 2);
}
