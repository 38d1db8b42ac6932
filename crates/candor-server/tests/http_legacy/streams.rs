//! Event streams of calls: begun, left, resumed, taken back.

use std::sync::Arc;

use candor_server::protocol::types::LogLevel;
use candor_server::tool::JsonTool;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use crate::common::{Session, Site, endless, greet, server, soon, text, tool, two};

/// A tool that reports 1, waits until it is let on, reports 2 and ends. It tells when it has.
fn stepping() -> (JsonTool, Arc<Semaphore>, mpsc::UnboundedReceiver<()>) {
    let gate = Arc::new(Semaphore::new(0));
    let (ended, on_end) = mpsc::unbounded_channel();
    let opened = gate.clone();
    let tool = tool("step", move |_, ctx| {
        let (gate, ended) = (opened.clone(), ended.clone());
        async move {
            ctx.progress(1, 2, None).await;
            gate.acquire().await.unwrap().forget();
            ctx.progress(2, 2, None).await;
            ended.send(()).unwrap();
            Ok("stepped")
        }
    });
    (tool, gate, on_end)
}

fn progress(number: u64) -> Value {
    let params = json!({"progressToken": "t", "progress": number, "total": 2});
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
}

fn stepped() -> Value {
    let result = json!({"content": [{"type": "text", "text": "stepped"}]});
    json!({"jsonrpc": "2.0", "id": 1, "result": result})
}

#[tokio::test]
async fn call_with_notifications_streams_events_with_ids() {
    let (tool, gate, _on_end) = stepping();
    let site = Site::of(server().tool(tool));
    for (revision, primes) in [("2025-06-18", false), ("2025-11-25", true)] {
        let session = Session::open(&site, revision).await;
        gate.add_permits(1);
        let mut events = session.call("step").await.events();
        let mut ids = Vec::new();
        if primes {
            let priming = events.next().await.unwrap();
            assert_eq!(priming.message, None, "{revision}");
            assert_eq!(priming.retry.as_deref(), Some("500"));
            ids.extend(priming.id);
        }
        for message in [progress(1), progress(2), stepped()] {
            let event = events.next().await.unwrap();
            assert_eq!(event.message, Some(message), "{revision}");
            ids.extend(event.id);
        }
        events.must_be_over().await;
        assert_eq!(ids.len(), if primes { 4 } else { 3 }, "every event has an id");
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), if primes { 4 } else { 3 }, "and no two are equal");
    }
}

#[tokio::test]
async fn resumed_stream_replays_missed_events_and_the_result() {
    let (tool, gate, mut on_end) = stepping();
    let site = Site::of(server().tool(tool));
    let session = Session::open(&site, "2025-11-25").await;
    let mut events = session.call("step").await.events();
    let priming = events.next().await.unwrap().id.unwrap();
    let first = events.next().await.unwrap();
    assert_eq!(first.message, Some(progress(1)));
    drop(events);

    gate.add_permits(1);
    soon(on_end.recv()).await.expect("the call keeps running without its client");
    let first = first.id.unwrap();
    let missed = session.get(Some(&first)).await.events().rest().await;
    assert_eq!(missed, [progress(2), stepped()]);
    let whole = session.get(Some(&priming)).await.events().rest().await;
    assert_eq!(whole, [progress(1), progress(2), stepped()], "again, from any event");
}

#[tokio::test]
async fn stream_resumed_during_the_call_waits_for_the_rest() {
    let (tool, gate, _on_end) = stepping();
    let site = Site::of(server().tool(tool));
    let session = Session::open(&site, "2025-11-25").await;
    let mut events = session.call("step").await.events();
    events.next().await.unwrap();
    let first = events.next().await.unwrap().id.unwrap();
    let mut resumed = session.get(Some(&first)).await.events();
    events.must_be_over().await;
    gate.add_permits(1);
    assert_eq!(resumed.message().await, progress(2));
    assert_eq!(resumed.message().await, stepped());
    resumed.must_be_over().await;
}

#[tokio::test]
async fn stream_of_another_session_cannot_be_resumed() {
    let (tool, gate, _on_end) = stepping();
    let site = Site::of(server().tool(tool));
    let (mine, other) =
        (Session::open(&site, "2025-11-25").await, Session::open(&site, "2025-11-25").await);
    let mut events = mine.call("step").await.events();
    let id = events.next().await.unwrap().id.unwrap();
    other.get(Some(&id)).await.refusal(404, -32600).await;
    for invented in ["nonsense", "1.x", ".", "1.-1"] {
        other.get(Some(invented)).await.refusal(400, -32600).await;
    }
    gate.add_permits(1);
    let messages = events.rest().await;
    assert_eq!(
        messages,
        [progress(1), progress(2), stepped()],
        "the original stream is not disturbed"
    );
}

#[tokio::test]
async fn plain_responses_do_not_evict_a_finished_stream() {
    let (tool, gate, _on_end) = stepping();
    let site = Site::of(server().tool(tool).limits(|limits| limits.finished_streams = 1));
    let session = Session::open(&site, "2025-11-25").await;
    gate.add_permits(1);
    let mut events = session.call("step").await.events();
    let priming = events.next().await.unwrap().id.unwrap();
    assert_eq!(events.rest().await, [progress(1), progress(2), stepped()]);
    session.request("ping", &json!({})).await.result().await;
    let whole = session.get(Some(&priming)).await.events().rest().await;
    assert_eq!(whole, [progress(1), progress(2), stepped()]);
}

/// Otherwise finished calls would hold all their events for as long as a session may be idle.
#[tokio::test]
async fn finished_streams_are_evicted_beyond_the_byte_capacity() {
    let long = tool("step", |_, ctx| async move {
        ctx.progress(1, 2, None).await;
        Ok("a".repeat(4096))
    });
    let limits = |limits: &mut candor_server::Limits| limits.finished_bytes = 6 * 1024;
    let site = Site::of(server().tool(long).limits(limits));
    let (one, two) =
        (Session::open(&site, "2025-11-25").await, Session::open(&site, "2025-11-25").await);
    let mut primed = Vec::new();
    for session in [&one, &one, &two] {
        let mut events = session.call("step").await.events();
        primed.push(events.next().await.unwrap().id.unwrap());
        assert_eq!(events.rest().await.len(), 2, "a connected client gets every event");
    }
    one.get(Some(&primed[0])).await.refusal(404, -32600).await;
    assert_eq!(one.get(Some(&primed[1])).await.events().rest().await.len(), 2);
    two.get(Some(&primed[2])).await.refusal(404, -32600).await;
    one.delete().await.must_be_empty(204).await;
    let mut events = two.call("step").await.events();
    let id = events.next().await.unwrap().id.unwrap();
    events.rest().await;
    assert_eq!(two.get(Some(&id)).await.events().rest().await.len(), 2, "capacity is free again");
}

/// A session's finished streams are evicted for its next stream only if that makes it fit.
#[tokio::test]
async fn stream_blocked_by_another_session_evicts_nothing() {
    let long = tool("step", |args, ctx| async move {
        ctx.progress(1, 2, None).await;
        Ok("a".repeat(args["bytes"].as_u64().and_then(|n| n.try_into().ok()).unwrap()))
    });
    let limits = |limits: &mut candor_server::Limits| limits.finished_bytes = 12 * 1024;
    let site = Site::of(server().tool(long).limits(limits));
    let (one, two) =
        (Session::open(&site, "2025-11-25").await, Session::open(&site, "2025-11-25").await);
    let says = async |session: &Session<'_>, bytes: usize| {
        let params =
            json!({"name": "step", "arguments": {"bytes": bytes}, "_meta": {"progressToken": "t"}});
        let mut events = session.request("tools/call", &params).await.events();
        let id = events.next().await.unwrap().id.unwrap();
        assert_eq!(events.rest().await.len(), 2);
        id
    };
    says(&one, 8192).await;
    let small = [says(&two, 10).await, says(&two, 10).await];
    let large = says(&two, 4096).await;
    two.get(Some(&large)).await.refusal(404, -32600).await;
    for id in small {
        assert_eq!(two.get(Some(&id)).await.events().rest().await.len(), 2);
    }
}

#[tokio::test]
async fn resume_from_an_unreachable_event_number_is_harmless() {
    let site = Site::of(server().tool(greet()));
    let session = Session::open(&site, "2025-11-25").await;
    let events = session.get(Some(&format!("session.{}", u64::MAX))).await.events();
    site.engine.stop();
    events.must_be_over().await;
}

#[tokio::test]
async fn concurrent_calls_have_separate_streams() {
    let (tool, gate, _on_end) = stepping();
    let site = Site::of(server().tool(tool));
    let session = Session::open(&site, "2025-11-25").await;
    let call = async |id: &str| {
        let params = json!({"name": "step", "_meta": {"progressToken": id}});
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        session.send(&message).await.events()
    };
    let (one, two) = (call("one").await, call("two").await);
    gate.add_permits(2);
    for (id, events) in [("one", one), ("two", two)] {
        let messages = events.rest().await;
        assert_eq!(messages.len(), 3);
        assert_eq!(messages[0]["params"]["progressToken"], id);
        assert_eq!(messages[1]["params"]["progressToken"], id);
        assert_eq!(messages[2]["id"], id);
    }
}

#[tokio::test]
async fn id_of_a_running_request_cannot_be_reused() {
    let (tool, gate, _on_end) = stepping();
    let site = Site::of(server().tool(tool));
    let session = Session::open(&site, "2025-11-25").await;
    let events = session.call("step").await.events();
    let error = session.call("step").await.error(200, -32600).await;
    assert_eq!(error["message"], "Invalid request: another request with this id is running");
    gate.add_permits(1);
    assert_eq!(events.rest().await.pop(), Some(stepped()));
    session.request("ping", &json!({})).await.result().await;
}

#[tokio::test]
async fn cancelled_call_ends_without_a_response() {
    let (forever, mut told) = endless("forever");
    let site = Site::of(server().tool(forever).tool(greet()));
    let session = Session::open(&site, "2025-11-25").await;
    let events = session.call("forever").await.events();
    assert_eq!(soon(told.recv()).await, Some("started"));
    session.cancel().await;
    assert_eq!(two(&mut told).await, ["cancelled", "dropped"]);
    let messages = events.rest().await;
    assert_eq!(messages.len(), 1, "progress, but no answer: {messages:?}");

    let params = json!({"name": "greet", "arguments": {"name": "Ada"}});
    let next = session.request("tools/call", &params).await.result().await;
    assert_eq!(text(&next), "Hello, Ada!", "the id is free again");
}

#[tokio::test]
async fn call_cancelled_before_any_notification_has_no_events() {
    let (forever, mut told) = endless("forever");
    let site = Site::of(server().tool(forever));
    let session = Session::open(&site, "2025-11-25").await;
    let quiet = json!({"name": "forever"});
    let (reply, ()) = tokio::join!(session.request("tools/call", &quiet), async {
        assert_eq!(soon(told.recv()).await, Some("started"));
        session.cancel().await;
    });
    reply.events().must_be_over().await;
    assert_eq!(two(&mut told).await, ["cancelled", "dropped"]);
}

/// Cancellation: the receiver of a cancellation does "not send a response for the cancelled request".
#[tokio::test]
async fn result_after_cancellation_is_not_sent() {
    let polite = tool("polite", |_, ctx| async move {
        ctx.progress(1, 2, None).await;
        ctx.cancelled().await;
        Ok("stopped half way")
    });
    let site = Site::of(server().tool(polite));
    let session = Session::open(&site, "2025-11-25").await;
    let mut events = session.call("polite").await.events();
    events.next().await.unwrap();
    assert_eq!(events.message().await, progress(1));
    session.cancel().await;
    events.must_be_over().await;
}

#[tokio::test]
async fn session_receives_logs_at_or_above_its_level() {
    let chatty = tool("chat", |_, ctx| async move {
        for level in [LogLevel::Debug, LogLevel::Warning, LogLevel::Error] {
            ctx.log(level, &json!({"said": level})).await;
        }
        Ok("done")
    });
    let site = Site::of(server().tool(chatty));
    let session = Session::open(&site, "2025-06-18").await;
    let heard = async || {
        let mut messages = session.call("chat").await.events().rest().await;
        assert_eq!(text(&messages.pop().unwrap()["result"]), "done");
        let levels = messages.into_iter().map(|m| {
            assert_eq!(m["method"], "notifications/message");
            assert_eq!(m["params"]["data"]["said"], m["params"]["level"]);
            m["params"]["level"].as_str().unwrap().to_owned()
        });
        levels.collect::<Vec<_>>()
    };
    assert_eq!(heard().await, ["debug", "warning", "error"]);
    let set =
        async |level: &str| session.request("logging/setLevel", &json!({"level": level})).await;
    assert_eq!(set("warning").await.result().await, json!({}));
    assert_eq!(heard().await, ["warning", "error"]);
    set("loud").await.error(200, -32602).await;
    assert_eq!(heard().await, ["warning", "error"], "as before");
    set("emergency").await.result().await;
    assert_eq!(text(&session.call("chat").await.result().await), "done", "no events, so JSON");
}

#[tokio::test]
async fn tool_can_hang_up_and_its_client_resumes_for_the_result() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = gate.clone();
    let slow = tool("slow", move |_, ctx| {
        let gate = opened.clone();
        async move {
            ctx.hang_up().await;
            gate.acquire().await.unwrap().forget();
            Ok("stepped")
        }
    });
    let site = Site::of(server().tool(slow));
    let session = Session::open(&site, "2025-11-25").await;
    let mut events = session.call("slow").await.events();
    let priming = events.next().await.unwrap();
    assert_eq!(priming.message, None);
    events.must_be_over().await;
    let resumed = session.get(priming.id.as_deref()).await.events();
    gate.add_permits(1);
    assert_eq!(resumed.rest().await, [stepped()]);
}

#[tokio::test]
async fn hang_up_is_ignored_if_the_stream_cannot_be_resumed() {
    let brief = tool("brief", |_, ctx| async move {
        ctx.hang_up().await;
        Ok("stepped")
    });
    let site = Site::of(server().tool(brief).limits(|limits| limits.finished_bytes = 0));
    let session = Session::open(&site, "2025-11-25").await;
    let mut events = session.call("brief").await.events();
    assert_eq!(events.next().await.unwrap().message, None);
    assert_eq!(events.rest().await, [stepped()]);
}
