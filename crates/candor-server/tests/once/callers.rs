//! Callers who leave: what has begun goes on, and its result is there for whoever asks again.

use std::sync::Arc;
use std::time::Duration;

use candor_operator::find_operation;
use candor_server::protocol::Revision;
use candor_server::protocol::types::ToolAnnotations;
use candor_server::store::{Filter, LedgerLimits, Page, StateKind};
use candor_server::testing::TestClient;
use candor_server::tool::{Idempotency, JsonTool, ToolError, code};
use candor_server::{Ctx, RunningServer};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::bench::{KEY, Work, comes_to, mark, remembering, rows, server, state};
use crate::common::{Session, Site, modern, soon};
use crate::lines;
use crate::moody::Moody;

const A_MOMENT: Duration = Duration::from_millis(30);

fn reading(tool: JsonTool) -> JsonTool {
    let mut annotations = ToolAnnotations::new();
    annotations.read_only_hint = Some(true);
    tool.annotations(annotations)
}

/// Makes a call, and stops waiting once it has begun.
async fn leave(client: &TestClient, work: &Work) {
    let call = client.call("act", json!({}));
    tokio::select! {
        called = call => panic!("it has ended: {:#}", called.raw()),
        () = work.began() => {}
    }
}

#[tokio::test]
async fn keyed_call_keeps_running_after_its_caller_stops_waiting() {
    for legacy in [false, true] {
        let work = Work::new();
        let client = server().tool(work.waiting("act")).test().keyed("k");
        let client = if legacy { client.speaking(Revision::LATEST_LEGACY) } else { client };
        leave(&client, &work).await;
        assert_eq!(state(client.engine(), "act", "k").await, StateKind::Dispatched);
        work.let_go();
        comes_to(client.engine(), "act", "k", StateKind::Completed).await;
        let again = client.call("act", json!({})).await;
        assert!(again.is_replayed());
        let expected = json!({"number": 1, "cancelled": false});
        assert_eq!(again.structured(), Some(&expected), "the handler is not cancelled");
        assert_eq!((work.starts(), work.ends()), (1, 1));
    }
}

#[tokio::test]
async fn retry_during_the_call_waits_for_its_result() {
    let work = Work::new();
    let client = server().tool(work.waiting("act")).test().keyed("k");
    leave(&client, &work).await;
    let releasing = async {
        tokio::time::sleep(A_MOMENT).await;
        work.let_go();
    };
    let (again, ()) = tokio::join!(client.call("act", json!({})), releasing);
    assert!(again.is_replayed());
    assert_eq!(work.starts(), 1);
}

/// The result of a repetition over HTTP, once the first has ended.
async fn repeated(site: &Site, work: &Work) -> Value {
    work.let_go();
    let params = json!({"name": "act", "_meta": {KEY: "k"}});
    let result = site.send(modern("tools/call", &params)).await.result().await;
    assert_eq!(mark(&result)["replayed"], true, "{result:#}");
    assert_eq!(result["structuredContent"]["cancelled"], false);
    result
}

#[tokio::test]
async fn keyed_call_survives_a_closed_connection() {
    let work = Work::new();
    let site = Site::of(remembering().tool(work.waiting("act")));
    let address = site.address().await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "act", "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }}})
    .to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: act\r\nIdempotency-Key: \"k\"\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut connection = tokio::net::TcpStream::connect(address).await.unwrap();
    connection.write_all(head.as_bytes()).await.unwrap();
    connection.write_all(body.as_bytes()).await.unwrap();
    work.began().await;
    drop(connection);
    tokio::time::sleep(A_MOMENT).await;
    repeated(&site, &work).await;
    assert_eq!((work.starts(), work.ends()), (1, 1));
}

#[tokio::test]
async fn keyed_call_survives_a_dropped_event_stream() {
    let work = Work::new();
    let tool = {
        let work = work.clone();
        JsonTool::open("act", move |_, ctx: Ctx| {
            let work = work.clone();
            async move {
                let number = work.start();
                ctx.progress(0, None, None).await;
                work.wait().await;
                // Far more than any queue holds.
                for step in 1..2000 {
                    ctx.progress(step, None, None).await;
                }
                let cancelled = ctx.is_cancelled();
                Ok::<_, ToolError>(json!({"number": number, "cancelled": cancelled}))
            }
        })
    };
    let site = Site::of(remembering().tool(tool));
    let params = json!({"name": "act", "_meta": {KEY: "k", "progressToken": 1}});
    let mut events = site.send(modern("tools/call", &params)).await.events();
    assert_eq!(events.message().await["method"], "notifications/progress");
    drop(events);
    repeated(&site, &work).await;
    assert_eq!((work.starts(), work.ends()), (1, 1));
}

#[tokio::test]
async fn keyed_legacy_call_survives_cancellation_and_disconnect() {
    for taken_back in [true, false] {
        let work = Work::new();
        let site = Site::of(remembering().tool(work.waiting("act")));
        let session = Session::open(&site, "2025-11-25").await;
        let params = json!({"name": "act", "_meta": {KEY: "k"}});
        let mut call = Box::pin(session.request("tools/call", &params));
        tokio::select! {
            _ = &mut call => panic!("it has ended"),
            () = work.began() => {}
        }
        if taken_back {
            session.cancel().await;
        }
        drop(call);
        repeated(&site, &work).await;
        assert_eq!((work.starts(), work.ends()), (1, 1));
    }
}

/// A call over stdio, with the key `k`.
fn line(id: u32, legacy: bool) -> Value {
    let params = json!({"name": "act", "_meta": {KEY: "k"}});
    match legacy {
        true => lines::request(id, "tools/call", &params),
        false => lines::modern(id, "tools/call", &params),
    }
}

#[tokio::test]
async fn keyed_call_survives_cancellation_over_stdio() {
    for legacy in [false, true] {
        let work = Work::new();
        let mut client = lines::Client::of(remembering().tool(work.waiting("act")));
        if legacy {
            client.initialize("2025-11-25").await;
        }
        client.send(&line(1, legacy)).await;
        work.began().await;
        client.send(&lines::cancelled(1)).await;
        client.expect_silence().await;
        work.let_go();
        let again = client.ask(&line(2, legacy)).await;
        assert_eq!(mark(&again["result"])["replayed"], true, "{again:#}");
        assert_eq!(again["result"]["structuredContent"], json!({"number": 1, "cancelled": false}));
        assert_eq!((work.starts(), work.ends()), (1, 1));
    }
}

#[tokio::test]
async fn keyed_call_survives_the_end_of_stdio_input() {
    let work = Work::new();
    let engine: RunningServer =
        remembering().tool(work.waiting("act")).limits(|l| l.drain = A_MOMENT).build().unwrap();
    let mut client = lines::Client::connect(&engine);
    client.send(&line(1, false)).await;
    work.began().await;
    client.end().await;
    work.let_go();
    comes_to(&engine, "act", "k", StateKind::Completed).await;
    assert_eq!((work.starts(), work.ends()), (1, 1));
}

#[tokio::test]
async fn call_dropped_before_its_start_leaves_no_record() {
    let (work, moody) = (Work::new(), Moody::new(LedgerLimits::default()));
    let client = server().ledger(moody.clone()).tool(work.tool("act")).test().keyed("k");
    moody.dawdle("recall", 3 * A_MOMENT);
    let call = client.call("act", json!({}));
    assert!(tokio::time::timeout(A_MOMENT, call).await.is_err());
    moody.heal();
    tokio::time::sleep(4 * A_MOMENT).await;
    assert_eq!((work.starts(), moody.asked("start")), (0, 0));
    assert_eq!(state(client.engine(), "act", "k").await, StateKind::Absent);
    assert!(rows(client.engine()).await.is_empty());
    // The key is not bound to arguments yet.
    let other = client.call("act", json!({"other": 1})).await;
    assert!(!other.is_error());
}

#[tokio::test]
async fn dropped_joiner_does_not_start_a_released_call() {
    let (work, moody) = (Work::new(), Moody::new(LedgerLimits::default()));
    let tool = {
        let work = work.clone();
        JsonTool::open("act", move |_, _| {
            let work = work.clone();
            async move {
                work.start();
                work.wait().await;
                Err::<(), _>(ToolError::new("No paper").not_started())
            }
        })
    };
    let client = server().ledger(moody.clone()).tool(tool).test().keyed("k");
    // It reads the ledger before the first call starts, and tries to start after it.
    moody.dawdle("recall", 2 * A_MOMENT);
    let late = client.call("act", json!({}));
    let mut late = Box::pin(late);
    assert!(tokio::time::timeout(A_MOMENT / 3, &mut late).await.is_err());
    moody.heal();
    let leaving = async {
        work.began().await;
        assert!(tokio::time::timeout(4 * A_MOMENT, late).await.is_err(), "it waits");
        assert!(moody.asked("watch") > 0, "it waits for the first call");
        work.let_go();
        work.let_go();
    };
    let (first, ()) = tokio::join!(client.call("act", json!({})), leaving);
    assert_eq!(mark(first.raw())["released"], true);
    tokio::time::sleep(2 * A_MOMENT).await;
    assert_eq!(work.starts(), 1, "no caller waits for it");
}

#[tokio::test]
async fn reading_call_stops_with_its_caller_and_can_restart() {
    for legacy in [false, true] {
        let work = Work::new();
        let client = server().tool(reading(work.waiting("act"))).test().keyed("k");
        let client = if legacy { client.speaking(Revision::LATEST_LEGACY) } else { client };
        leave(&client, &work).await;
        comes_to(client.engine(), "act", "k", StateKind::Open).await;
        work.let_go();
        let again = client.call("act", json!({})).await;
        assert!(!again.is_replayed(), "{:#}", again.raw());
        assert_eq!(mark(again.raw())["attempt"], 2);
        assert_eq!((work.starts(), work.ends()), (2, 1));
        assert!(client.call("act", json!({})).await.is_replayed());
    }
}

#[tokio::test]
async fn joiner_restarts_a_reading_call_when_its_caller_leaves() {
    let work = Work::new();
    let client = Arc::new(server().tool(reading(work.waiting("act"))).test().keyed("k"));
    let call = || {
        let client = client.clone();
        tokio::spawn(async move { client.call("act", json!({})).await })
    };
    let first = call();
    work.began().await;
    let joined = call();
    tokio::time::sleep(A_MOMENT).await;
    assert_eq!(work.starts(), 1, "it waits for the first");
    first.abort();
    work.began().await;
    work.let_go();
    let joined = soon(joined).await.unwrap();
    assert_eq!(joined.structured(), Some(&json!({"number": 2, "cancelled": false})));
    assert_eq!(work.ends(), 1);
}

#[tokio::test]
async fn deadline_returns_in_progress_and_the_call_keeps_running() {
    for reads in [false, true] {
        let work = Work::new();
        let tool = work.waiting("act");
        let tool = if reads { reading(tool) } else { tool };
        let server = server().tool(tool.idempotency(Idempotency::Argument));
        let modern = server.limits(|l| l.deadline = A_MOMENT).test();
        for client in [modern.keyed("a"), modern.keyed("b").speaking(Revision::LATEST_LEGACY)] {
            let told = client.call("act", json!({})).await;
            assert_eq!(told.code(), Some(code::IN_PROGRESS), "{:#}", told.raw());
            assert!(told.raw()["_meta"]["dev.candor/error"]["retryAfterMs"].is_u64());
            work.let_go();
            let again = client.call("act", json!({})).await;
            assert!(again.is_replayed(), "{:#}", again.raw());
            assert_eq!(again.structured().unwrap()["cancelled"], false);
        }
        assert_eq!((work.starts(), work.ends()), (2, 2));
    }
}

#[tokio::test]
async fn reading_call_keeps_running_past_its_deadline_over_http() {
    let work = Work::new();
    let server = remembering().tool(reading(work.waiting("act")));
    let site = Site::of(server.limits(|l| l.deadline = A_MOMENT));
    let params = json!({"name": "act", "_meta": {KEY: "k"}});
    let told = site.send(modern("tools/call", &params)).await.result().await;
    assert_eq!(told["_meta"]["dev.candor/error"]["code"], code::IN_PROGRESS);
    repeated(&site, &work).await;
    assert_eq!((work.starts(), work.ends()), (1, 1));
}

#[tokio::test]
async fn no_notification_follows_the_result() {
    for down in [false, true] {
        let moody = Moody::new(LedgerLimits::default());
        let chatty = JsonTool::open("act", |_, ctx: Ctx| async move {
            tokio::spawn(async move {
                for step in 1..u64::MAX {
                    ctx.progress(step, None, None).await;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            });
            Ok::<_, ToolError>("done")
        });
        let mut client = lines::Client::of(server().ledger(moody.clone()).tool(chatty));
        if down {
            moody.refuse(&["complete"]);
        }
        let params = json!({"name": "act", "_meta": {KEY: "k", "progressToken": 1}});
        client.send(&lines::modern(1, "tools/call", &params)).await;
        let answer = loop {
            let said = client.next().await;
            if said["id"] == 1 {
                break said;
            }
        };
        assert_eq!(mark(&answer["result"])["recorded"], !down);
        client.expect_silence().await;
    }
}

/// Work in another task is not dropped with the call, and would keep running in vain.
#[tokio::test]
async fn disconnect_cancels_spawned_work_of_a_reading_call() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let work = Work::new();
    let begun = work.clone();
    let tool = JsonTool::open("act", move |_, ctx: Ctx| {
        let tell = tell.clone();
        begun.start();
        tokio::spawn(async move {
            ctx.cancelled().await;
            let _ = tell.send("stopped");
        });
        async {
            std::future::pending::<()>().await;
            Ok::<_, ToolError>("never")
        }
    });
    let site = Site::of(server().tool(reading(tool)));
    let params = json!({"name": "act", "_meta": {KEY: "k"}});
    tokio::select! {
        _ = site.send(modern("tools/call", &params)) => panic!("it has ended"),
        () = work.began() => {}
    }
    assert_eq!(soon(told.recv()).await, Some("stopped"));
}

/// Callers choose their keys, and can learn the ID of another call.
#[tokio::test]
async fn key_equal_to_the_id_of_another_call_is_a_separate_call() {
    let work = Work::new();
    let client = server().tool(work.tool("act")).test();
    let engine = client.engine();
    let named = async |key: &str| {
        TestClient::of(engine).keyed(key).call("act", json!({})).await;
        let store = engine.store().unwrap();
        let filter = Filter { key: Some(key.to_owned()), ..Filter::default() };
        store.records(filter, Page::default()).await.unwrap().items.remove(0).id
    };
    let id = named("first").await;
    let digits = id.digest().to_string();
    let store = engine.store().unwrap();
    for shown in [&digits[..8], &digits[..12], &digits[..]] {
        let other = named(shown).await;
        assert_ne!(other, id);
        assert_eq!(find_operation(&**store, shown).await.unwrap().id, id, "{shown}");
        let by_id = find_operation(&**store, &other.digest().to_string()).await.unwrap();
        assert_eq!(by_id.id, other);
    }
    assert_eq!(find_operation(&**store, "first").await.unwrap().id, id);
}
