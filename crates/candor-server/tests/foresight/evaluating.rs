//! Evaluators: functions that say what a call does, and how they may fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candor_hints::Hints;
use candor_server::Server;
use candor_server::tool::JsonTool;
use serde_json::json;

use crate::common::{Call, Session, Site, modern, server, text};
use crate::lines::{self, Client};
use crate::{OURS, clients, errors, four, is, results};

const ASK: &str = "tools/annotations";

/// A tool whose evaluator counts, and does what the argument `mood` says.
fn moody() -> (Server, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (asked, ran) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (asking, running) = (asked.clone(), ran.clone());
    let tool = JsonTool::open("moody", move |_, _| {
        running.fetch_add(1, Ordering::SeqCst);
        async { Ok("done") }
    })
    .effects_by(Hints::ADDS, move |args| {
        asking.fetch_add(1, Ordering::SeqCst);
        match args["mood"].as_str() {
            Some("calm") => Hints::READS,
            Some("rash") => Hints::DELETES,
            Some("broken") => panic!("the password is swordfish"),
            _ => Hints::ADDS,
        }
    });
    (server().tool(tool), asked, ran)
}

#[tokio::test]
async fn evaluator_returns_hints_for_the_arguments() {
    for client in clients(|| moody().0) {
        assert_eq!(client.hints("moody", json!({"mood": "calm"})).await, Hints::READS);
        assert_eq!(client.hints("moody", ()).await, Hints::ADDS);
        // For missing arguments, a function has only its bound.
        let partial = client.hints_of_partial("moody", json!({"mood": "calm"})).await;
        assert_eq!(partial, Hints::ADDS);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn slow_evaluator_times_out_as_the_worst_case() {
    let tool =
        JsonTool::open("endless", |_, _| async { Ok("done") }).effects_by(Hints::ADDS, |_| {
            std::thread::sleep(std::time::Duration::from_secs(4));
            Hints::READS
        });
    let site = Site::of(server().tool(tool));
    let params = json!({"name": "endless", "arguments": {}});
    let asked = tokio::time::Instant::now();
    site.send(modern(ASK, &params)).await.error(200, -32603).await;
    assert!(asked.elapsed().as_secs() < 3, "the server waited for the evaluator");
    let called = site.send(modern("tools/call", &params)).await.result().await;
    assert_eq!(text(&called), "done");
    assert_eq!(called["_meta"][OURS]["annotations"], is(Hints::WORST));
}

#[tokio::test]
async fn faulty_evaluator_returns_an_internal_error_without_details() {
    let (server, _, ran) = moody();
    let site = Site::of(server);
    for mood in ["broken", "rash"] {
        let params = json!({"name": "moody", "arguments": {"mood": mood}});
        for error in errors(&site, ASK, &params, -32603).await {
            let expected = "Internal error: the effects of this call could not be evaluated";
            let trace = &error["data"]["dev.candor/error"]["traceId"];
            assert!(trace.as_str().is_some_and(|id| id.len() == 32), "{error}");
            let said = json!({"dev.candor/error": {"code": "internal", "traceId": trace}});
            assert_eq!(error, json!({"code": -32603, "message": expected, "data": said}));
        }
    }
    let params = json!({"name": "moody", "arguments": {"mood": "calm"}});
    for result in results(&site, ASK, &params).await {
        assert_eq!(result["annotations"], is(Hints::READS));
    }
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn call_with_a_faulty_evaluator_runs_as_the_worst_case() {
    for client in clients(|| moody().0) {
        for mood in ["broken", "rash"] {
            let called = client.call("moody", json!({"mood": mood})).await;
            assert_eq!(called.text(), "done");
            assert_eq!(called.foreseen(), Some(Hints::WORST));
        }
    }
}

#[tokio::test]
async fn evaluation_does_not_run_the_handler() {
    let (server, asked, ran) = moody();
    let site = Site::of(server);
    let params = json!({"name": "moody", "arguments": {"mood": "calm"}});
    for _ in 0..10 {
        results(&site, ASK, &params).await;
    }
    assert_eq!((asked.load(Ordering::SeqCst), ran.load(Ordering::SeqCst)), (20, 0));
    results(&site, "tools/call", &params).await;
    assert_eq!((asked.load(Ordering::SeqCst), ran.load(Ordering::SeqCst)), (22, 2));
}

#[tokio::test]
async fn notification_is_not_evaluated_over_http() {
    let (server, asked, _) = moody();
    let site = Site::of(server);
    let params = json!({"name": "moody", "arguments": {}});
    let notice = json!({"jsonrpc": "2.0", "method": ASK, "params": params});
    site.send(modern(ASK, &params).body(&notice)).await.must_be_empty(202).await;
    site.send(Call::post(&notice)).await.must_be_empty(202).await;
    let session = Session::open(&site, "2025-11-25").await;
    session.send(&notice).await.must_be_empty(202).await;
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn notification_is_not_evaluated_over_stdio() {
    let (server, asked, _) = moody();
    let mut client = Client::initialized(server).await;
    client.send(&lines::notification(ASK, &json!({"name": "moody", "arguments": {}}))).await;
    client.expect_silence().await;
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn call_returns_its_annotations_without_prior_evaluation() {
    let params = json!({"name": "moody", "arguments": {"mood": "calm"}});
    for result in results(&Site::of(moody().0), "tools/call", &params).await {
        assert_eq!(text(&result), "done");
        assert_eq!(
            result["_meta"][OURS],
            json!({"annotations": four(true, false, true, true), "effect": "reads"})
        );
    }
}

#[tokio::test]
async fn annotations_are_in_the_result_and_not_in_notifications() {
    let tool = JsonTool::open("talks", |_, ctx| async move {
        ctx.progress(1, 2, "half").await;
        ctx.progress(2, 2, "done").await;
        Ok("done")
    })
    .effects_by(Hints::ADDS, |_| Hints::READS);
    let site = Site::of(server().tool(tool));
    let params = json!({"name": "talks", "arguments": {}, "_meta": {"progressToken": "t"}});
    let session = Session::open(&site, "2025-11-25").await;
    for reply in [
        site.send(modern("tools/call", &params)).await,
        session.request("tools/call", &params).await,
    ] {
        let mut said = reply.events().rest().await;
        let answer = said.pop().unwrap();
        assert_eq!(answer["result"]["_meta"][OURS]["annotations"], is(Hints::READS));
        assert_eq!(said.len(), 2, "{said:?}");
        for notice in said {
            assert_eq!(notice["method"], "notifications/progress");
            let text = notice.to_string();
            assert!(!text.contains("Hint") && !text.contains("annotations"), "{text}");
        }
    }
}
