//! How a connection ends, and what a client that does not read can make the server hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::client::{Client, call, cancelled, modern, modern_call, request, said, text};
use crate::tools::{Gate, ask_name, server, tool};

#[tokio::test(start_paused = true)]
async fn running_call_is_answered_after_the_input_ends() {
    let gate = Gate::new();
    let mut client = Client::initialized(server().tool(gate.tool())).await;
    client.send(&call(1, "wait")).await;
    gate.began().await;
    let (rest, ()) = tokio::join!(client.end(), async {
        // The input has ended by now: the paused clock advances only when all tasks wait.
        tokio::time::sleep(Duration::from_secs(1)).await;
        gate.open();
    });
    assert_eq!(rest, [said(1, "Let go.")]);
}

#[tokio::test(start_paused = true)]
async fn call_that_never_ends_is_cancelled_after_the_drain_limit() {
    let gate = Gate::new();
    let drain = Duration::from_millis(70);
    let mut client =
        Client::initialized(server().tool(gate.tool()).limits(|l| l.drain = drain)).await;
    client.send(&call(1, "wait")).await;
    gate.began().await;
    let input_ended = Instant::now();
    let rest = client.end().await;
    let waited = input_ended.elapsed();
    assert!(rest.is_empty(), "{rest:?}");
    assert!(waited >= drain && waited < 2 * drain, "{waited:?}");
    gate.ended().await;
}

#[tokio::test(start_paused = true)]
async fn open_question_does_not_delay_the_end_of_the_server() {
    let mut client = Client::initialized(server().tool(ask_name())).await;
    client.send(&call(1, "ask_name")).await;
    let question = client.next().await;
    let rest = client.end().await;
    assert!(
        rest.iter().all(|m| m["params"]["requestId"] == question["id"]),
        "only the cancellation of the question is sent: {rest:?}"
    );
}

/// A tool that reports far more than any queue holds, and how often it has.
fn chatterbox() -> (candor_server::tool::JsonTool, Arc<AtomicUsize>) {
    let reported = Arc::new(AtomicUsize::new(0));
    let counter = reported.clone();
    let chatter = tool("chatter", move |ctx| {
        let counter = counter.clone();
        async move {
            for step in 0..10_000 {
                ctx.progress(step, 10_000, None).await;
                counter.fetch_add(1, Ordering::Relaxed);
            }
            Ok("Said it all.")
        }
    });
    (chatter, reported)
}

fn chatter(id: u64) -> serde_json::Value {
    modern(id, "tools/call", &json!({"name": "chatter", "_meta": {"progressToken": id}}))
}

#[tokio::test(start_paused = true)]
async fn client_that_does_not_read_blocks_the_tool() {
    let (chatterbox, reported) = chatterbox();
    let engine = server().tool(chatterbox).build().unwrap();
    let mut client = Client::connect_through(&engine, 1024);
    client.send(&chatter(1)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let held_at = reported.load(Ordering::Relaxed);
    assert!(held_at > 0 && held_at < 1000, "{held_at} reports are held");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(reported.load(Ordering::Relaxed), held_at, "the tool kept running");

    for step in 0..10_000 {
        assert_eq!(client.next().await["params"]["progress"], step);
    }
    assert_eq!(text(&client.next().await), "Said it all.");
    assert_eq!(reported.load(Ordering::Relaxed), 10_000);
}

#[tokio::test(start_paused = true)]
async fn blocked_tool_can_be_cancelled() {
    let (chatterbox, reported) = chatterbox();
    let engine = server().tool(chatterbox).build().unwrap();
    let mut client = Client::connect_through(&engine, 1024);
    client.send(&chatter(1)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    client.send(&cancelled(1)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let held_at = u64::try_from(reported.load(Ordering::Relaxed)).unwrap();
    client.send(&modern_call(2, "greet")).await;
    let mut told = 0;
    let answer = loop {
        let message = client.next().await;
        if message["method"] != "notifications/progress" {
            break message;
        }
        told += 1;
    };
    assert_eq!((&answer["id"], text(&answer)), (&json!(2), "Hello!"));
    assert!(told <= held_at + 1, "{told} reports of {held_at}");
}

#[tokio::test(start_paused = true)]
async fn unread_progress_does_not_delay_the_end_of_the_server() {
    let (chatterbox, _) = chatterbox();
    let engine = server().tool(chatterbox).build().unwrap();
    let mut client = Client::connect_through(&engine, 1024);
    client.send(&chatter(1)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    client.end_without_reading().await;
}

#[tokio::test(start_paused = true)]
async fn unread_responses_do_not_delay_the_end_of_the_server() {
    let mut client = Client::connect_through(&server().build().unwrap(), 1024);
    for id in 0..800 {
        client.send(&modern_call(id, "greet")).await;
    }
    client.end_without_reading().await;
}

#[tokio::test(start_paused = true)]
async fn context_that_outlives_its_call_does_not_delay_the_end() {
    let server = || {
        server().tool(tool("keep", |ctx| async move {
            tokio::spawn(async move {
                let _kept = ctx;
                std::future::pending::<()>().await;
            });
            Ok("Kept.")
        }))
    };
    let mut client = Client::of(server());
    assert_eq!(text(&client.ask(&modern_call(1, "keep")).await), "Kept.");
    assert!(client.end().await.is_empty(), "modern");
    let mut client = Client::initialized(server()).await;
    assert_eq!(client.ask(&call(1, "keep")).await, said(1, "Kept."));
    assert!(client.end().await.is_empty(), "legacy");
}

#[tokio::test(start_paused = true)]
async fn context_sends_nothing_after_its_call_has_ended() {
    let (speak, linger) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (may_speak, may_end) = (speak.clone(), linger.clone());
    let aside = tool("aside", move |ctx| {
        let (may_speak, may_end) = (may_speak.clone(), may_end.clone());
        async move {
            tokio::spawn(async move {
                may_speak.notified().await;
                ctx.progress(1, 1, "too late").await;
            });
            may_end.notified().await;
            Ok("Over.")
        }
    });
    let mut client = Client::initialized(server().tool(aside)).await;
    let asked = |id: u64| {
        request(id, "tools/call", &json!({"name": "aside", "_meta": {"progressToken": id}}))
    };

    client.send(&asked(1)).await;
    linger.notify_one();
    assert_eq!(client.next().await, said(1, "Over."));
    speak.notify_one();
    client.expect_silence().await;

    client.send(&asked(2)).await;
    client.expect_silence().await;
    client.send(&cancelled(2)).await;
    client.expect_silence().await;
    speak.notify_one();
    client.expect_silence().await;
}
