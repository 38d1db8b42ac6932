//! What is written down of calls: who, what, how it ended; and no value that nobody allowed.

use std::time::Duration;

use candor_operator::RecordedEffect;
use candor_server::hints::Hints;
use candor_server::protocol::Revision;
use candor_server::protocol::types::ToolAnnotations;
use candor_server::store::{AuditRow, LedgerLimits, OutcomeKind, StateKind, UnknownReason};
use candor_server::testing::TestClient;
use candor_server::tool::{Idempotency, JsonTool, RateLimit, ToolError, code};
use candor_server::{Audit, Ctx, Elicit, Secret, Server};
use serde_json::{Value, json};

use crate::bench::{Work, comes_to, memory, rows, server};
use crate::common::soon;

fn reading(tool: JsonTool) -> JsonTool {
    let mut annotations = ToolAnnotations::new();
    annotations.read_only_hint = Some(true);
    annotations.open_world_hint = Some(false);
    tool.annotations(annotations)
}

fn events(rows: &[AuditRow]) -> Vec<&str> {
    rows.iter().map(|row| row.event.as_str()).collect()
}

fn shape(row: &AuditRow) -> Value {
    serde_json::from_str(row.circumstances.shape.as_deref().expect("a shape")).unwrap()
}

#[tokio::test]
async fn keyed_call_has_a_start_row_and_a_complete_row() {
    for revision in [Revision::V2026_07_28, Revision::LATEST_LEGACY] {
        let act = Work::new().tool("act").hints(Hints::ADDS);
        let client = server().tool(act).test().speaking(revision).keyed("k");
        client.call("act", json!({"name": "Ada", "deep": {"n": 1.5}, "list": [1, 2]})).await;
        let rows = rows(client.engine()).await;
        let [start, complete] = &rows[..] else { panic!("{:?}", events(&rows)) };
        assert_eq!(start.event, "start");
        let change = start.change.unwrap();
        assert_eq!((change.from, change.to), (StateKind::Absent, StateKind::Dispatched));
        let expected = json!({"name": "string(3)", "deep": {"n": "number"}, "list": "array(2)"});
        assert_eq!(shape(start), expected);
        assert!(start.circumstances.digest.is_some());
        let effect = RecordedEffect::of_row(start).unwrap();
        let hints = effect.summary();
        // As in `tools/annotations` of the same call. The record has the effect of the call without a key.
        assert!(!hints.contains("not "), "{hints}");
        let note = start.circumstances.note.as_deref().unwrap();
        assert!(note.starts_with("candor-testing "), "{note}");
        assert_eq!(complete.event, "complete");
        let change = complete.change.unwrap();
        assert_eq!((change.from, change.to), (StateKind::Dispatched, StateKind::Completed));
        assert_eq!(complete.outcome, Some(OutcomeKind::Success));
        assert!(complete.circumstances.duration.is_some());
        for row in [start, complete] {
            assert_eq!(row.key.as_ref().unwrap().as_str(), "k");
            let scope = &row.scope;
            assert_eq!((&*scope.principal, &*scope.tool), ("tester", "act"));
            assert_eq!((&*scope.server, &*scope.instance), ("invoices", ""));
        }
    }
}

#[tokio::test]
async fn replay_and_refusal_have_audit_rows() {
    let client = server()
        .tool(Work::new().tool("act"))
        .tool(reading(Work::new().tool("look")))
        .test()
        .keyed("k");
    client.call("act", json!({"n": 1})).await;
    client.call("act", json!({"n": 1})).await;
    // The row of a replay is written a moment later.
    client.engine().settle().await;
    client.call("act", json!({"n": 2})).await;
    let all = rows(client.engine()).await;
    assert_eq!(events(&all), ["start", "complete", "replayed", "refused"]);
    assert!(client.engine().recent_calls().is_empty());
    let row = &all[2];
    assert_eq!(row.key.as_ref().unwrap().as_str(), "k");
    assert!(row.change.is_none() && row.circumstances.note.is_some());
    let row = &all[3];
    assert_eq!(row.key.as_ref().unwrap().as_str(), "k");
    assert!(row.change.is_none() && row.circumstances.digest.is_some());
    assert_eq!(shape(row), json!({"n": "integer"}));
    client.call("look", json!({"n": 1})).await;
    client.call("look", json!({"n": 1})).await;
    client.engine().settle().await;
    client.call("look", json!({"n": 2})).await;
    let all = rows(client.engine()).await;
    assert_eq!(events(&all[4..]), ["start", "complete", "replayed", "refused"]);
}

/// A final refusal is stored. A temporary one is only in the recent calls.
#[tokio::test]
async fn temporary_refusal_without_a_key_has_no_stored_row() {
    let client = server()
        .tool(reading(Work::new().tool("look")))
        .tool(Work::new().tool("act").rate(RateLimit::per_day(1)))
        .deny("look")
        .test();
    assert_eq!(client.call("look", json!({})).await.code(), Some(code::DENIED));
    client.call("act", json!({})).await;
    assert_eq!(client.call("act", json!({})).await.code(), Some(code::RATE_LIMITED));
    let all = rows(client.engine()).await;
    assert_eq!(events(&all), ["refused", "called"]);
    assert_eq!(all[0].scope.tool, "look");
    let recent = client.engine().recent_calls();
    assert_eq!((&*recent[0].scope.tool, &*recent[0].event), ("act", "refused"));
    assert_eq!(recent.len(), 1);
}

/// A tool that does as it is told.
fn obeying() -> JsonTool {
    let schema = json!({"type": "object", "properties": {"id": {"type": "integer"}}});
    JsonTool::open("act", |args, _| async move {
        match args["do"].as_str() {
            Some("fail") => Err(ToolError::new("No")),
            Some("panic") => panic!("on purpose"),
            Some("lie") => Ok(json!({"id": "text"})),
            Some("wait") => std::future::pending().await,
            _ => Ok(json!({"id": 1})),
        }
    })
    .output_schema(&schema)
}

#[tokio::test]
async fn unkeyed_write_has_one_row_for_every_outcome() {
    for revision in [Revision::V2026_07_28, Revision::LATEST_LEGACY] {
        let server = server().tool(obeying());
        let client = server.limits(|l| l.deadline = Duration::from_millis(20)).test();
        let client = client.speaking(revision);
        for (told, outcome) in [
            ("work", OutcomeKind::Success),
            ("fail", OutcomeKind::Failure),
            ("panic", OutcomeKind::Failure),
            ("lie", OutcomeKind::Invalid),
            ("wait", OutcomeKind::Failure),
        ] {
            let before = rows(client.engine()).await.len();
            client.call("act", json!({"do": told})).await;
            let all = rows(client.engine()).await;
            assert_eq!(all.len(), before + 1, "{told}");
            let row = &all[before];
            assert_eq!((&*row.event, row.outcome), ("called", Some(outcome)), "{told}");
            assert!(row.key.is_none() && row.change.is_none());
            assert!(row.circumstances.duration.is_some() && row.circumstances.digest.is_some());
            assert_eq!(shape(row), json!({"do": format!("string({})", told.len())}));
        }
        assert!(client.engine().recent_calls().is_empty());
    }
}

#[tokio::test]
async fn unkeyed_write_of_a_disconnected_caller_has_a_left_row() {
    let work = Work::new();
    let client = server().tool(work.waiting("act")).tool(reading(work.waiting("look"))).test();
    for tool in ["look", "act"] {
        tokio::select! {
            _ = client.call(tool, json!({"n": 1})) => panic!("it has ended"),
            () = work.began() => {}
        }
    }
    let all = soon(async {
        loop {
            let all = rows(client.engine()).await;
            if !all.is_empty() {
                break all;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    assert_eq!(events(&all), ["left"]);
    assert_eq!((&*all[0].scope.tool, all[0].outcome), ("act", None));
    assert_eq!(shape(&all[0]), json!({"n": "integer"}));
    assert!(all[0].circumstances.duration.is_some());
    assert_eq!(client.engine().recent_calls()[0].event, "left");
    assert_eq!(work.ends(), 0);
}

#[tokio::test]
async fn unkeyed_reads_stay_in_memory_up_to_a_bound() {
    let client = server().tool(reading(Work::new().tool("look"))).test();
    for number in 0..1100_usize {
        client.call("look", json!({"text": "x".repeat(number)})).await;
    }
    assert!(rows(client.engine()).await.is_empty());
    let recent = client.engine().recent_calls();
    assert_eq!(recent.len(), 1000);
    assert_eq!(shape(&recent[0]), json!({"text": "string(1099)"}), "the latest first");
    assert_eq!(shape(&recent[999]), json!({"text": "string(100)"}));
    assert!(recent.is_sorted_by(|a, b| a.seq > b.seq));
    let row = &recent[0];
    assert_eq!((&*row.event, row.outcome), ("called", Some(OutcomeKind::Success)));
    assert!(row.circumstances.note.is_some() && row.circumstances.duration.is_some());
}

#[tokio::test]
async fn audit_all_stores_rows_of_reads_too() {
    let server = server().tool(reading(Work::new().tool("look"))).audit(Audit::All);
    let client = server.test();
    client.call("look", json!({})).await;
    client.keyed("k").call("look", json!({})).await;
    client.keyed("k").call("look", json!({})).await;
    client.engine().settle().await;
    let all = rows(client.engine()).await;
    assert_eq!(events(&all), ["called", "start", "complete", "replayed"]);
    assert!(client.engine().recent_calls().is_empty());
}

const SECRET: &str = "xyzzy-plugh";

#[tokio::test]
async fn audit_rows_contain_only_recorded_values() {
    let work = Work::new();
    let form = json!({"type": "object", "properties": {"word": {"type": "string"}}});
    let counted = work.clone();
    let tell = JsonTool::open("tell", move |args, ctx: Ctx| {
        let (form, number) = (form.clone(), counted.start());
        async move {
            if args["ask"] == true {
                let answer = ctx.elicit(Elicit::form(format!("{SECRET}?"), &form)).await?;
                assert_eq!(answer.accepted().unwrap()["word"], SECRET);
            }
            match args["fail"] == true {
                // The error text for the caller is stored; the text for the log is not.
                true => Err(ToolError::new("That is wrong").log(SECRET)),
                false => Ok(json!({"said": SECRET, "number": number})),
            }
        }
    })
    .idempotency(Idempotency::Argument)
    .recorded(["amount"]);
    let modern = server().tool(reading(Work::new().tool("look"))).tool(tell).test();
    let modern = modern.on_elicit(|_| json!({"word": SECRET}));
    for client in [modern.by("a"), modern.by("b").speaking(Revision::LATEST_LEGACY)] {
        let arguments = |more: Value| {
            let mut all = json!({"secret": SECRET, "list": [SECRET], "deep": {"er": {"x": SECRET}}, "amount": 4711});
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            all
        };
        for (key, more) in [
            (None, json!({})),
            (None, json!({"fail": true})),
            (None, json!({"ask": true})),
            (Some("a"), json!({})),
            (Some("a"), json!({})),
            (Some("a"), json!({"other": SECRET})),
            (Some("b"), json!({"fail": true})),
            (Some("c"), json!({"ask": true})),
        ] {
            match key {
                None => client.call("tell", arguments(more)).await,
                Some(key) => client.keyed(key).call("tell", arguments(more)).await,
            };
        }
        client.call("look", arguments(json!({}))).await;
        client.keyed("k").call("look", arguments(json!({}))).await;
    }
    let all = rows(modern.engine()).await;
    assert!(all.len() > 20, "{}", all.len());
    for row in &all {
        let text = format!("{row:?}");
        assert!(!text.contains(SECRET), "{text}");
        if row.scope.tool == "tell" && row.circumstances.shape.is_some() {
            assert_eq!(shape(row)["amount"], json!({"=": 4711}), "the recorded value is present");
        }
    }
    let recent = modern.engine().recent_calls();
    assert!(!recent.is_empty() && !format!("{recent:?}").contains(SECRET));
    let looked: Vec<_> = recent.iter().filter(|row| row.scope.tool == "look").collect();
    assert!(
        !looked.is_empty() && !format!("{looked:?}").contains("4711"),
        "recorded for one tool, not for another"
    );
}

#[tokio::test]
async fn digests_match_for_equal_calls_under_one_secret() {
    let secret = Secret::random();
    let on = |secret: &Secret| -> TestClient {
        let tool = Work::new().tool("act").idempotency(Idempotency::Argument);
        let server: Server = server().ledger(memory(LedgerLimits::default())).tool(tool);
        server.secret(secret.clone()).test()
    };
    let digests = async |client: &TestClient| -> Vec<[u8; 32]> {
        client.call("act", json!({"a": 1, "b": 2})).await;
        client.call("act", json!({"b": 2.0, "a": 1, "idempotency_key": "x"})).await;
        let legacy = client.speaking(Revision::LATEST_LEGACY).by("bob").keyed("y");
        legacy.call("act", json!({"a": 1, "b": 2})).await;
        client.call("act", json!({"a": 1, "b": 3})).await;
        let all = rows(client.engine()).await;
        all.iter().filter_map(|row| row.circumstances.digest).collect()
    };
    let (one, two) = (digests(&on(&secret)).await, digests(&on(&secret)).await);
    assert_eq!(one, two, "servers that share a secret make equal digests");
    assert_eq!(one.len(), 4);
    assert_eq!((one[0], one[1]), (one[1], one[2]));
    assert_ne!(one[0], one[3]);
    let other = digests(&on(&Secret::random())).await;
    assert!(one.iter().all(|digest| !other.contains(digest)));
}

#[tokio::test]
async fn digest_excludes_the_key_even_as_a_declared_argument() {
    let schema =
        json!({"type": "object", "properties": {"n": {}, "idempotency_key": {"type": "string"}}});
    let tool = JsonTool::new("act", &schema, |_, _| async { Ok::<_, ToolError>("done") });
    let client = server().tool(tool.idempotency(Idempotency::Argument)).test();
    client.call("act", json!({"n": 1, "idempotency_key": "a"})).await;
    client.keyed("b").call("act", json!({"n": 1})).await;
    client.call("act", json!({"n": 1})).await;
    let all = rows(client.engine()).await;
    let digests: Vec<_> = all.iter().filter_map(|row| row.circumstances.digest).collect();
    assert_eq!(digests, [digests[0]; 3]);
}

#[tokio::test]
async fn last_row_of_a_call_has_its_outcome() {
    let work = Work::new();
    let client = server().tool(obeying()).tool(work.waiting("wait")).test();
    client.keyed("a").call("act", json!({"do": "panic"})).await;
    client.keyed("b").call("act", json!({"do": "lie"})).await;
    client.keyed("c").call("act", json!({"do": "fail"})).await;
    let ends = async |key: &str| {
        let all = rows(client.engine()).await;
        let row = all.into_iter().rfind(|row| row.key.as_ref().is_some_and(|k| k.as_str() == key));
        let row = row.unwrap();
        (row.event, row.outcome, row.reason.map(UnknownReason::as_str))
    };
    assert_eq!(ends("a").await, ("unknown".to_owned(), None, Some("panicked")));
    assert_eq!(ends("b").await, ("complete".to_owned(), Some(OutcomeKind::Invalid), None));
    assert_eq!(ends("c").await, ("complete".to_owned(), Some(OutcomeKind::Failure), None));
    let waiting = client.keyed("d");
    tokio::select! {
        _ = waiting.call("wait", json!({})) => panic!("it has ended"),
        () = work.began() => {}
    }
    work.let_go();
    comes_to(client.engine(), "wait", "d", StateKind::Completed).await;
    assert_eq!(ends("d").await.1, Some(OutcomeKind::Success), "also if no caller waits");
    let again = client.keyed("a").call("act", json!({"do": "panic"})).await;
    assert_eq!(again.code(), Some(code::OUTCOME_UNKNOWN));
    assert_eq!(ends("a").await.0, "refused");
}
