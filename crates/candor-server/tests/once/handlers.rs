//! Handlers that fail: what is kept of it, and whether it may be started again.

use candor_server::Server;
use candor_server::protocol::Revision;
use candor_server::protocol::types::ToolAnnotations;
use candor_server::store::{
    Answer, Circumstances, Event, Outcome, OutcomeKind, Reason, Resolution, Rules, State, StateKind,
};
use candor_server::testing::{Called, TestClient};
use candor_server::tool::{Idempotency, JsonTool, ToolError, code};
use serde_json::{Value, json};

use crate::bench::{Work, bare, id, mark, memory, server, state};

/// A tool that panics: before its first await, or after it.
fn panicking(work: &Work, at_once: bool) -> JsonTool {
    let work = work.clone();
    JsonTool::open("act", move |_, _| {
        let number = work.start();
        assert!(!(at_once && number == 1), "a panic at once");
        async move {
            tokio::task::yield_now().await;
            assert!(number > 1, "a panic on the way");
            Ok::<_, ToolError>(json!({"number": number}))
        }
    })
}

/// With these hints: destructive, and idempotent by nature.
fn repeatable(tool: JsonTool) -> JsonTool {
    let mut annotations = ToolAnnotations::new();
    annotations.idempotent_hint = Some(true);
    annotations.destructive_hint = Some(true);
    tool.annotations(annotations)
}

/// A client of each era, of one server.
fn both(server: Server) -> [TestClient; 2] {
    let modern = server.test().keyed("k");
    let legacy = modern.speaking(Revision::LATEST_LEGACY);
    [modern, legacy]
}

async fn act(client: &TestClient) -> Called {
    client.call("act", json!({})).await
}

async fn resolve(client: &TestClient, resolution: Resolution) -> Answer {
    let event = Event::Resolve { by: "Olga".to_owned(), resolution };
    let store = client.engine().store().unwrap();
    store.apply(&id("tester", "act", "k"), event, Circumstances::default()).await.unwrap()
}

#[tokio::test]
async fn after_a_panic_nobody_knows_and_it_stays_so() {
    for at_once in [true, false] {
        let work = Work::new();
        let [modern, legacy] = both(server().tool(panicking(&work, at_once)));
        for client in [&modern, &legacy, &modern] {
            let told = act(client).await;
            assert_eq!(told.code(), Some(code::OUTCOME_UNKNOWN), "{:#}", told.raw());
            assert_eq!(told.raw()["_meta"]["dev.candor/error"]["retriable"], false);
            assert!(told.text().contains("not started again"), "{}", told.text());
            assert!(!told.text().contains("a panic"), "why is for the log: {}", told.text());
        }
        let found = modern.engine().store().unwrap().find(&id("tester", "act", "k")).await.unwrap();
        let State::Indeterminate { reason, .. } = found.unwrap().stored.state else {
            panic!("not unknown")
        };
        assert_eq!((reason, work.starts()), (Reason::Panicked, 1));
    }
}

#[tokio::test]
async fn an_operator_who_found_it_done_says_what_came_of_it() {
    let work = Work::new();
    let [modern, legacy] = both(server().tool(panicking(&work, false)));
    act(&modern).await;
    let result = json!({"content": [{"type": "text", "text": "invoice 4711"}], "structuredContent": {"id": 4711}});
    let outcome = Outcome::new(OutcomeKind::Success, result.to_string().into_bytes());
    assert_eq!(resolve(&modern, Resolution::Done(outcome)).await, Answer::Done);
    for client in [&modern, &legacy] {
        let told = act(client).await;
        assert!(told.is_replayed());
        assert_eq!(told.text(), "invoice 4711");
        assert_eq!(told.structured(), Some(&json!({"id": 4711})));
        assert_eq!(mark(told.raw())["resolvedBy"], "Olga");
    }
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn an_operator_who_found_it_not_done_allows_one_more_start() {
    let work = Work::new();
    let [modern, legacy] = both(server().tool(panicking(&work, true)));
    act(&modern).await;
    assert_eq!(resolve(&modern, Resolution::NotDone).await, Answer::Done);
    let (one, two) = tokio::join!(act(&modern), act(&legacy));
    assert_eq!(work.starts(), 2, "exactly one more");
    for told in [&one, &two, &act(&modern).await] {
        assert_eq!(told.structured(), Some(&json!({"number": 2})), "{:#}", told.raw());
        assert_eq!(mark(told.raw())["attempt"], 2);
    }
    let refused = resolve(&modern, Resolution::NotDone).await;
    assert!(matches!(refused, Answer::Refused(_)), "nothing is unknown any more");
    assert_eq!(work.starts(), 2);
}

#[tokio::test]
async fn an_operator_may_close_what_nobody_will_ever_know() {
    let work = Work::new();
    let [modern, legacy] = both(server().tool(panicking(&work, true)));
    act(&modern).await;
    assert_eq!(resolve(&modern, Resolution::Abandon).await, Answer::Done);
    for client in [&modern, &legacy] {
        let told = act(client).await;
        assert_eq!(told.code(), Some(code::ABANDONED));
        assert!(told.text().contains("Olga"), "{}", told.text());
    }
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn what_is_repeatable_by_nature_is_started_again_after_a_panic() {
    for at_once in [true, false] {
        let work = Work::new();
        let [modern, legacy] = both(server().tool(repeatable(panicking(&work, at_once))));
        let failed = act(&modern).await;
        assert!(failed.is_error());
        assert!(!failed.text().contains("not started again"), "it would be: {}", failed.text());
        let again = act(&legacy).await;
        assert_eq!(again.structured(), Some(&json!({"number": 2})), "{:#}", again.raw());
        assert!(act(&modern).await.is_replayed());
        assert_eq!(work.starts(), 2);
    }
}

/// A tool that fails the first time.
fn failing(work: &Work, error: impl Fn() -> ToolError + Send + Sync + 'static) -> JsonTool {
    let work = work.clone();
    JsonTool::open("act", move |_, _| {
        let number = work.start();
        let outcome = if number == 1 { Err(error()) } else { Ok(json!({"number": number})) };
        async move { outcome }
    })
}

#[tokio::test]
async fn a_failure_is_the_outcome_of_a_call_that_is_repeatable_by_its_key_only() {
    for declared in [Idempotency::Beside, Idempotency::Argument, Idempotency::Required] {
        let work = Work::new();
        let tool = failing(&work, || ToolError::new("No paper")).idempotency(declared);
        for client in both(server().tool(tool)) {
            let told = act(&client).await;
            assert!(told.is_error() && told.text() == "No paper", "{:#}", told.raw());
        }
        assert_eq!(work.starts(), 1, "{declared:?}");
    }
}

#[tokio::test]
async fn who_says_that_nothing_happened_is_believed() {
    let work = Work::new();
    let [modern, legacy] =
        both(server().tool(failing(&work, || ToolError::new("No paper").not_started())));
    let failed = act(&modern).await;
    let expected =
        json!({"key": "k", "replayed": false, "attempt": 1, "recorded": true, "released": true});
    assert_eq!(mark(failed.raw()), &expected);
    assert_eq!(state(modern.engine(), "act", "k").await, StateKind::Open);
    let other = modern.call("act", json!({"other": 1})).await;
    assert_eq!(other.code(), Some(code::KEY_REUSED), "the key still stands for its arguments");
    let again = act(&legacy).await;
    assert_eq!(again.structured(), Some(&json!({"number": 2})));
    assert_eq!(mark(again.raw())["attempt"], 2);
    assert!(act(&modern).await.is_replayed());
    assert_eq!(work.starts(), 2);
}

#[tokio::test]
async fn the_failure_of_a_call_that_is_repeatable_by_nature_is_not_kept() {
    let work = Work::new();
    let [modern, legacy] =
        both(server().tool(repeatable(failing(&work, || ToolError::new("No paper")))));
    let failed = act(&modern).await;
    assert_eq!((failed.text(), &mark(failed.raw())["released"]), ("No paper", &json!(true)));
    assert_eq!(act(&legacy).await.structured(), Some(&json!({"number": 2})));
    assert!(act(&modern).await.is_replayed(), "a success is kept all the same");
    assert_eq!(work.starts(), 2);
}

#[tokio::test]
async fn an_invalid_result_is_kept_and_never_released() {
    let schema =
        json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]});
    let invalid = |work: &Work| {
        let work = work.clone();
        JsonTool::open("act", move |_, _| {
            work.start();
            async move { Ok::<_, ToolError>(json!({"id": "a secret"})) }
        })
        .output_schema(&schema)
    };
    for by_nature in [false, true] {
        let work = Work::new();
        let tool = invalid(&work);
        let tool = if by_nature { repeatable(tool) } else { tool };
        let [modern, legacy] = both(server().tool(tool));
        let first = act(&modern).await;
        assert_eq!(first.code(), Some(code::RESULT_INVALID));
        assert_eq!(mark(first.raw()).get("released"), None);
        for client in [&modern, &legacy] {
            let again = act(client).await;
            assert!(again.is_replayed(), "{:#}", again.raw());
            assert_eq!(bare(again.raw()), bare(first.raw()));
            assert!(!again.raw().to_string().contains("a secret"));
        }
        assert_eq!(work.starts(), 1);
    }
}

#[tokio::test]
async fn a_result_that_is_too_large_to_keep_fails_nothing_and_repeats_nothing() {
    let work = Work::new();
    let large = {
        let work = work.clone();
        JsonTool::open("act", move |_, _| {
            work.start();
            async move { Ok::<_, ToolError>("x".repeat(5000)) }
        })
    };
    let rules = Rules { max_outcome: 4000, ..Rules::default() };
    let [modern, legacy] = both(server().ledger(memory(rules)).tool(large));
    let first = act(&modern).await;
    assert_eq!((first.is_error(), first.text().len()), (false, 5000));
    for client in [&modern, &legacy] {
        let told = act(client).await;
        assert_eq!(told.code(), Some(code::RESULT_OMITTED), "{:#}", told.raw());
        let bytes: Value = told.text().split(' ').find_map(|word| word.parse().ok()).unwrap();
        assert!(bytes.as_u64().unwrap() > 5000, "{}", told.text());
    }
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn what_has_expired_is_refused_and_not_repeated() {
    let work = Work::new();
    let rules = Rules { retention: std::time::Duration::from_millis(20), ..Rules::default() };
    let [modern, legacy] = both(server().ledger(memory(rules)).tool(work.tool("act")));
    act(&modern).await;
    tokio::time::sleep(std::time::Duration::from_millis(40)).await;
    for client in [&modern, &legacy] {
        assert_eq!(act(client).await.code(), Some(code::RESULT_EXPIRED));
    }
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_not_recorded_under_the_key() {
    let work = Work::new();
    let counted = work.clone();
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let tool = JsonTool::new("act", &schema, move |_, _| {
        let number = counted.start();
        async move { Ok::<_, ToolError>(json!({"number": number})) }
    });
    let [modern, _] = both(server().tool(tool));
    assert_eq!(modern.call("act", json!({"n": "x"})).await.code(), Some(code::INVALID_ARGUMENTS));
    assert_eq!(state(modern.engine(), "act", "k").await, StateKind::Absent);
    assert!(!modern.call("act", json!({"n": 1})).await.is_error(), "the same key with better ones");
    assert_eq!(work.starts(), 1);
}
