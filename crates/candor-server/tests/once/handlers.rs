//! Handlers that fail: what is kept of it, and whether it may be started again.

use std::time::Duration;

use candor_server::protocol::types::ToolAnnotations;
use candor_server::store::{
    AuditContext, Event, EventReply, LedgerLimits, OutcomeKind, RecordState, Resolution, StateKind,
    StoredResult, UnknownReason,
};
use candor_server::tool::{Idempotency, JsonTool, RateLimit, ToolError, code};
use serde_json::{Value, json};

use crate::bench::{Timed, Work, bare, id, mark, memory, remembering, server};
use crate::common::Site;
use crate::wire::{Caller, stands};

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
fn idempotent(tool: JsonTool) -> JsonTool {
    let mut annotations = ToolAnnotations::new();
    annotations.idempotent_hint = Some(true);
    annotations.destructive_hint = Some(true);
    tool.annotations(annotations)
}

async fn resolve(site: &Site, resolution: Resolution) -> EventReply {
    let event = Event::Resolve { by: "Olga".to_owned(), resolution };
    let store = site.engine.store().unwrap();
    store.apply(&id("anonymous", "act", "k"), event, AuditContext::default()).await.unwrap()
}

#[tokio::test]
async fn panic_leaves_the_outcome_unknown() {
    for at_once in [true, false] {
        let work = Work::new();
        let site = Site::of(remembering().tool(panicking(&work, at_once)));
        let [modern, legacy] = Caller::both(&site).await;
        for client in [&modern, &legacy, &modern] {
            let told = client.act().await;
            assert_eq!(told.code(), Some(code::OUTCOME_UNKNOWN), "{:#}", told.raw());
            assert_eq!(told.raw()["_meta"]["dev.candor/error"]["retriable"], false);
            assert!(told.text().contains("The call may have run."), "{}", told.text());
            assert!(
                !told.text().contains("a panic"),
                "the reason is only in the log: {}",
                told.text()
            );
        }
        let found = site.engine.store().unwrap().find(&id("anonymous", "act", "k")).await.unwrap();
        let RecordState::Indeterminate { reason, .. } = found.unwrap().stored.state else {
            panic!("not unknown")
        };
        assert_eq!((reason, work.starts()), (UnknownReason::Panicked, 1));
    }
}

#[tokio::test]
async fn result_recorded_by_an_operator_is_replayed() {
    let work = Work::new();
    let site = Site::of(remembering().tool(panicking(&work, false)));
    let [modern, legacy] = Caller::both(&site).await;
    modern.act().await;
    let result = json!({"content": [{"type": "text", "text": "invoice 4711"}], "structuredContent": {"id": 4711}});
    let outcome = StoredResult::new(OutcomeKind::Success, result.to_string().into_bytes());
    assert_eq!(resolve(&site, Resolution::Done(outcome)).await, EventReply::Done);
    for client in [&modern, &legacy] {
        let told = client.act().await;
        assert!(told.is_replayed());
        assert_eq!(told.text(), "invoice 4711");
        assert_eq!(told.structured(), Some(&json!({"id": 4711})));
        assert_eq!(mark(told.raw())["resolvedBy"], "Olga");
    }
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn outcome_resolved_as_not_run_allows_one_more_start() {
    let work = Work::new();
    let site = Site::of(remembering().tool(panicking(&work, true)));
    let [modern, legacy] = Caller::both(&site).await;
    modern.act().await;
    assert_eq!(resolve(&site, Resolution::NotDone).await, EventReply::Done);
    let (one, two) = tokio::join!(modern.act(), legacy.act());
    assert_eq!(work.starts(), 2, "exactly one more");
    for told in [&one, &two, &modern.act().await] {
        assert_eq!(told.structured(), Some(&json!({"number": 2})), "{:#}", told.raw());
        assert_eq!(mark(told.raw())["attempt"], 2);
    }
    let refused = resolve(&site, Resolution::NotDone).await;
    assert!(matches!(refused, EventReply::Refused(_)), "the outcome is known");
    assert_eq!(work.starts(), 2);
}

#[tokio::test]
async fn abandoned_operation_is_refused() {
    let work = Work::new();
    let site = Site::of(remembering().tool(panicking(&work, true)));
    let [modern, legacy] = Caller::both(&site).await;
    modern.act().await;
    assert_eq!(resolve(&site, Resolution::Abandon).await, EventReply::Done);
    for client in [&modern, &legacy] {
        let told = client.act().await;
        assert_eq!(told.code(), Some(code::ABANDONED));
        assert!(told.text().contains("Olga"), "{}", told.text());
    }
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn idempotent_call_restarts_after_a_panic() {
    for at_once in [true, false] {
        let work = Work::new();
        let site = Site::of(remembering().tool(idempotent(panicking(&work, at_once))));
        let [modern, legacy] = Caller::both(&site).await;
        let failed = modern.act().await;
        assert!(failed.is_error());
        assert!(!failed.text().contains("not started again"), "it can be: {}", failed.text());
        let again = legacy.act().await;
        assert_eq!(again.structured(), Some(&json!({"number": 2})), "{:#}", again.raw());
        assert!(modern.act().await.is_replayed());
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
async fn failure_of_a_call_that_is_not_idempotent_is_replayed() {
    for declared in [Idempotency::Beside, Idempotency::Argument, Idempotency::Required] {
        let work = Work::new();
        let tool = failing(&work, || ToolError::new("No paper")).idempotency(declared);
        let site = Site::of(remembering().tool(tool));
        let [modern, legacy] = Caller::both(&site).await;
        let first = modern.act().await;
        assert!(first.is_error() && first.text() == "No paper", "{:#}", first.raw());
        let expected = json!({"key": "k", "replayed": false, "attempt": 1, "recorded": true});
        assert_eq!(mark(first.raw()), &expected);
        for client in [&modern, &legacy] {
            let again = client.act().await;
            assert!(again.is_replayed(), "{:#}", again.raw());
            assert_eq!(bare(again.raw()), bare(first.raw()));
        }
        assert_eq!(work.starts(), 1, "{declared:?}");
    }
}

#[tokio::test]
async fn not_started_error_lets_the_key_start_again() {
    let work = Work::new();
    let site =
        Site::of(remembering().tool(failing(&work, || ToolError::new("No paper").not_started())));
    let [modern, legacy] = Caller::both(&site).await;
    let failed = modern.act().await;
    let expected =
        json!({"key": "k", "replayed": false, "attempt": 1, "recorded": true, "released": true});
    assert_eq!(mark(failed.raw()), &expected);
    assert_eq!(stands(&site, "k").await, StateKind::Open);
    let other = modern.call(json!({"other": 1})).await;
    assert_eq!(other.code(), Some(code::KEY_REUSED), "the key is still bound to its arguments");
    let again = legacy.act().await;
    assert_eq!(again.structured(), Some(&json!({"number": 2})));
    assert_eq!(mark(again.raw())["attempt"], 2);
    assert!(modern.act().await.is_replayed());
    assert_eq!(work.starts(), 2);
}

#[tokio::test]
async fn failure_of_an_idempotent_call_is_not_stored() {
    let work = Work::new();
    let site =
        Site::of(remembering().tool(idempotent(failing(&work, || ToolError::new("No paper")))));
    let [modern, legacy] = Caller::both(&site).await;
    let failed = modern.act().await;
    assert_eq!((failed.text(), &mark(failed.raw())["released"]), ("No paper", &json!(true)));
    assert_eq!(legacy.act().await.structured(), Some(&json!({"number": 2})));
    assert!(modern.act().await.is_replayed(), "a success is stored");
    assert_eq!(work.starts(), 2);
}

#[tokio::test]
async fn invalid_result_is_stored_and_never_released() {
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
    for is_idempotent in [false, true] {
        let work = Work::new();
        let tool = invalid(&work);
        let tool = if is_idempotent { idempotent(tool) } else { tool };
        let site = Site::of(remembering().tool(tool));
        let [modern, legacy] = Caller::both(&site).await;
        let first = modern.act().await;
        assert_eq!(first.code(), Some(code::RESULT_INVALID));
        assert_eq!(mark(first.raw()).get("released"), None);
        for client in [&modern, &legacy] {
            let again = client.act().await;
            assert!(again.is_replayed(), "{:#}", again.raw());
            assert_eq!(bare(again.raw()), bare(first.raw()));
            assert!(!again.raw().to_string().contains("a secret"));
        }
        assert_eq!(work.starts(), 1);
    }
}

#[tokio::test]
async fn result_too_large_to_store_is_returned_only_once() {
    let work = Work::new();
    let large = {
        let work = work.clone();
        JsonTool::open("act", move |_, _| {
            work.start();
            async move { Ok::<_, ToolError>("x".repeat(5000)) }
        })
    };
    let rules = LedgerLimits { max_outcome: 4000, ..LedgerLimits::default() };
    let site = Site::of(server().ledger(memory(rules)).tool(large));
    let [modern, legacy] = Caller::both(&site).await;
    let first = modern.act().await;
    assert_eq!((first.is_error(), first.text().len()), (false, 5000));
    for client in [&modern, &legacy] {
        let told = client.act().await;
        assert_eq!(told.code(), Some(code::RESULT_TOO_LARGE), "{:#}", told.raw());
        let bytes: Value = told.text().split(' ').find_map(|word| word.parse().ok()).unwrap();
        assert!(bytes.as_u64().unwrap() > 5000, "{}", told.text());
    }
    assert_eq!(work.starts(), 1);
}

/// A result is replayed for 24 hours. For another 30 days, its key cannot start a new call.
#[tokio::test]
async fn expired_result_is_refused_until_its_key_is_purged() {
    const A_MOMENT: Duration = Duration::from_millis(1);
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let (work, ledger) = (Work::new(), Timed::new(LedgerLimits::default()));
    let site = Site::of(server().ledger(ledger.store.clone()).tool(work.tool("act")));
    let callers = Caller::both(&site).await;
    callers[0].act().await;
    ledger.later(DAY);
    for caller in &callers {
        let told = caller.act().await;
        assert!(told.is_replayed(), "until the last millisecond: {:#}", told.raw());
    }
    ledger.later(A_MOMENT);
    for passed in [Duration::ZERO, 30 * DAY - A_MOMENT] {
        ledger.later(passed);
        for caller in &callers {
            let told = caller.act().await;
            assert_eq!(told.code(), Some(code::RESULT_EXPIRED), "{:#}", told.raw());
            assert!(told.structured().is_none());
        }
    }
    assert_eq!(work.starts(), 1);
    ledger.later(A_MOMENT);
    for (caller, replayed) in callers.iter().zip([false, true]) {
        let told = caller.act().await;
        assert_eq!(told.structured(), Some(&json!({"number": 2, "key": "k"})), "{:#}", told.raw());
        assert_eq!(told.is_replayed(), replayed);
    }
}

#[tokio::test]
async fn call_refused_before_its_start_is_not_recorded() {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    for era in 0..2 {
        let work = Work::new();
        let counted = work.clone();
        let tool = JsonTool::new("act", &schema, move |_, _| {
            let number = counted.start();
            async move { Ok::<_, ToolError>(json!({"number": number})) }
        });
        let site = Site::of(remembering().tool(tool.rate(RateLimit::per_day(1))));
        let caller = Caller::both(&site).await.into_iter().nth(era).unwrap();
        for arguments in [json!({"n": "x"}), json!({})] {
            let refused = caller.call(arguments).await;
            assert_eq!(refused.code(), Some(code::INVALID_ARGUMENTS), "{:#}", refused.raw());
            assert_eq!(stands(&site, "k").await, StateKind::Absent);
        }
        let better = caller.call(json!({"n": 1})).await;
        assert!(!better.is_error() && !better.is_replayed(), "{:#}", better.raw());
        // A rate-limited call does not bind its key either.
        let early = caller.keyed("early");
        for n in [1, 2] {
            let refused = early.call(json!({"n": n})).await;
            assert_eq!(refused.code(), Some(code::RATE_LIMITED), "{:#}", refused.raw());
            assert_eq!(stands(&site, "early").await, StateKind::Absent);
        }
        assert!(early.keyed("k").call(json!({"n": 1})).await.is_replayed());
        assert_eq!(work.starts(), 1);
    }
}
