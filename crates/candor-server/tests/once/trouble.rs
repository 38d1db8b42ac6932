//! A store in trouble: nothing starts that cannot be recorded, and what has happened is told and written down later.

use std::time::Duration;

use candor_server::protocol::Revision;
use candor_server::protocol::types::ToolAnnotations;
use candor_server::store::{
    ApprovalChannel, AuditContext, Event, Filter, LedgerLimits, Page, Quota, Quotas, RecordState,
    Review, StateKind, Store as _, StoreError, UnknownReason,
};
use candor_server::tool::{Idempotency, JsonTool, RateLimit, ToolError, code};
use candor_server::{AskLevel, Ctx, Elicit};
use serde_json::json;

use crate::bench::{Timed, Work, bare, comes_to, id, mark, rows, server, state};
use crate::common::{Site, call};
use crate::moody::Moody;
use crate::wire::{Caller, stands};

#[tokio::test]
async fn call_that_cannot_be_recorded_is_not_started() {
    for word in ["recall", "start"] {
        let (work, moody) = (Work::new(), Moody::new(LedgerLimits::default()));
        let tool = work.tool("act").idempotency(Idempotency::Argument).rate(RateLimit::per_day(1));
        let site = Site::of(server().ledger(moody.clone()).tool(tool));
        let callers = Caller::both(&site).await;
        moody.refuse(&[word]);
        for caller in &callers {
            let told = caller.act().await;
            assert_eq!(told.code(), Some(code::LEDGER_UNAVAILABLE), "{word}: {:#}", told.raw());
            let details = &told.raw()["_meta"]["dev.candor/error"];
            assert_eq!(details["retriable"], true);
            assert!(told.text().contains("Nothing was run."), "{}", told.text());
            assert!(!told.raw().to_string().contains("secret reason"), "{:#}", told.raw());
        }
        assert_eq!(work.starts(), 0);
        assert_eq!(stands(&site, "k").await, StateKind::Absent);
        moody.heal();
        for (caller, replayed) in callers.iter().zip([false, true]) {
            let started = caller.act().await;
            assert!(!started.is_error() && started.is_replayed() == replayed, "{}", started.text());
        }
        assert_eq!(work.starts(), 1);
    }
}

/// The store reports the approval only after the hold has ended.
#[tokio::test]
async fn approval_that_arrives_as_the_hold_ends_starts_the_call() {
    let (work, moody) = (Work::new(), Moody::new(LedgerLimits::default()));
    let server = server().ledger(moody.clone()).ask(AskLevel::Destructive).tool(work.tool("act"));
    let client = server.hold(Duration::from_secs(1)).test();
    moody.dawdle("watch", Duration::from_secs(3600));
    let approves = async {
        let waiting = loop {
            let waiting = moody.waiting(Filter::default(), Page::default()).await.unwrap();
            match waiting.items.into_iter().next() {
                Some(entry) if moody.asked("watch") > 0 => break entry,
                _ => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        };
        let question = waiting.stored.question().unwrap();
        let (by, via, decision) = ("olga".to_owned(), ApprovalChannel::Operator, Review::Approve);
        let event = Event::Decide { question, by, via, decision };
        moody.apply(&waiting.id, event, AuditContext::default()).await.unwrap();
    };
    let (called, ()) = tokio::join!(client.call("act", json!({})), approves);
    assert!(!called.is_error(), "{}", called.text());
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn calls_without_a_key_run_while_the_store_fails() {
    let (work, moody) = (Work::new(), Moody::new(LedgerLimits::default()));
    let mut reads = ToolAnnotations::new();
    reads.read_only_hint = Some(true);
    let modern = server()
        .ledger(moody.clone())
        .tool(work.tool("write").idempotency(Idempotency::Argument))
        .tool(work.tool("read").annotations(reads))
        .test();
    moody.refuse_everything();
    for client in [modern.by("tester"), modern.speaking(Revision::LATEST_LEGACY)] {
        for tool in ["write", "read"] {
            assert!(!client.call(tool, json!({})).await.is_error(), "{tool}");
        }
    }
    assert_eq!(work.starts(), 4);
}

#[tokio::test]
async fn result_is_returned_and_recorded_later_if_the_store_fails() {
    let (work, moody) = (Work::new(), Moody::new(LedgerLimits::default()));
    let client = server().ledger(moody.clone()).tool(work.waiting("act")).test().keyed("k");
    let failing = async {
        work.began().await;
        moody.refuse_everything();
        work.let_go();
    };
    let (first, ()) = tokio::join!(client.call("act", json!({})), failing);
    assert_eq!(first.structured(), Some(&json!({"number": 1, "cancelled": false})));
    let expected = json!({"key": "k", "replayed": false, "attempt": 1, "recorded": false});
    assert_eq!(mark(first.raw()), &expected);
    let meanwhile = client.call("act", json!({})).await;
    assert_eq!(meanwhile.code(), Some(code::LEDGER_UNAVAILABLE));
    moody.heal();
    let again = client.call("act", json!({})).await;
    assert!(again.is_replayed(), "the outcome was recorded later: {:#}", again.raw());
    assert_eq!(bare(again.raw()), bare(first.raw()));
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn failure_and_panic_are_recorded_later_too() {
    for panics in [false, true] {
        let (work, moody) = (Work::new(), Moody::new(LedgerLimits::default()));
        let counted = work.clone();
        let tool = JsonTool::open("act", move |_, _| {
            let number = counted.start();
            async move {
                assert!(!panics, "a panic");
                Err::<(), _>(ToolError::new(format!("Failed {number}")))
            }
        });
        let client = server().ledger(moody.clone()).tool(tool).test().keyed("k");
        moody.refuse(&["complete", "unknown"]);
        let first = client.call("act", json!({})).await;
        assert!(first.is_error());
        moody.heal();
        let ended = if panics { StateKind::Indeterminate } else { StateKind::Completed };
        comes_to(client.engine(), "act", "k", ended).await;
        let again = client.call("act", json!({})).await;
        assert_eq!(again.code(), first.code());
        assert_eq!((again.is_replayed(), work.starts()), (!panics, 1));
    }
}

#[tokio::test]
async fn unrecorded_outcome_is_retried_at_shutdown() {
    let (work, moody) = (Work::new(), Moody::new(LedgerLimits::default()));
    let server = server().ledger(moody.clone()).tool(work.tool("act"));
    let client = server.limits(|l| l.drain = Duration::from_millis(10)).test().keyed("k");
    moody.refuse(&["complete"]);
    let first = client.call("act", json!({})).await;
    assert_eq!(mark(first.raw())["recorded"], false);
    moody.heal();
    client.engine().settle().await;
    assert_eq!(state(client.engine(), "act", "k").await, StateKind::Completed);
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn completion_with_a_lost_store_reply_is_replayed() {
    let (work, moody) = (Work::new(), Moody::new(LedgerLimits::default()));
    let client = server().ledger(moody.clone()).tool(work.tool("act")).test().keyed("k");
    moody.lose_the_answer_to(&["complete"]);
    let first = client.call("act", json!({})).await;
    assert_eq!(mark(first.raw())["recorded"], false, "the server cannot know that it was recorded");
    moody.heal();
    let again = client.call("act", json!({})).await;
    assert!(again.is_replayed());
    assert_eq!((bare(again.raw()), work.starts()), (bare(first.raw()), 1));
}

#[tokio::test]
async fn start_with_a_lost_store_reply_never_runs() {
    let rules = LedgerLimits { lease: Duration::from_millis(150), ..LedgerLimits::default() };
    let (work, moody) = (Work::new(), Moody::new(rules));
    let server = server().ledger(moody.clone()).tool(work.tool("act"));
    let client = server.limits(|l| l.join = Duration::ZERO).test().keyed("k");
    moody.lose_the_answer_to(&["start"]);
    let first = client.call("act", json!({})).await;
    assert_eq!(first.code(), Some(code::LEDGER_UNAVAILABLE));
    moody.heal();
    let told = client.call("act", json!({})).await;
    assert_eq!(told.code(), Some(code::IN_PROGRESS), "{:#}", told.raw());
    comes_to(client.engine(), "act", "k", StateKind::Indeterminate).await;
    let told = client.call("act", json!({})).await;
    assert_eq!((told.code(), work.starts()), (Some(code::OUTCOME_UNKNOWN), 0));
}

#[tokio::test]
async fn expired_lease_is_outcome_unknown_until_the_late_result() {
    let rules = LedgerLimits { lease: Duration::from_millis(60), ..LedgerLimits::default() };
    let (work, moody) = (Work::new(), Moody::new(rules));
    let client = server().ledger(moody.clone()).tool(work.waiting("act")).test().keyed("k");
    moody.refuse(&["heartbeat"]);
    let late = async {
        work.began().await;
        comes_to(client.engine(), "act", "k", StateKind::Indeterminate).await;
        let told = client.call("act", json!({})).await;
        assert_eq!(told.code(), Some(code::OUTCOME_UNKNOWN));
        let found = client.engine().store().unwrap().find(&id("tester", "act", "k")).await;
        let seen = found.unwrap().unwrap().seen.unwrap().state;
        assert!(matches!(
            seen,
            RecordState::Indeterminate { reason: UnknownReason::LeaseEnded, .. }
        ));
        work.let_go();
    };
    let (first, ()) = tokio::join!(client.call("act", json!({})), late);
    assert_eq!(mark(first.raw())["recorded"], true, "the late result is recorded");
    let again = client.call("act", json!({})).await;
    assert!(again.is_replayed());
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn caller_beyond_its_key_quota_is_refused_new_keys() {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    let retention = LedgerLimits::default().retention;
    for (quotas, words, until_room) in [
        (Quotas { records: 2, ..Quotas::default() }, "2 keys on record", retention + HOUR),
        (Quotas { keys_per_hour: 2, ..Quotas::default() }, "2 new keys", HOUR),
    ] {
        let (work, ledger) =
            (Work::new(), Timed::new(LedgerLimits { quotas, ..LedgerLimits::default() }));
        let site = Site::guarded(server().ledger(ledger.store.clone()).tool(work.tool("act")));
        let act = |who, key| {
            let caller = Caller::modern(&site).by(who).keyed(key);
            async move { caller.act().await }
        };
        assert!(!act("alice", "a").await.is_error() && !act("alice", "b").await.is_error());
        let refused = act("alice", "c").await;
        assert_eq!(refused.code(), Some(code::QUOTA_EXCEEDED), "{:#}", refused.raw());
        assert!(refused.text().contains(words), "{}", refused.text());
        assert!(act("alice", "a").await.is_replayed());
        let keyless = site.send(call("act", &json!({})).by("alice")).await.result().await;
        assert_eq!(
            keyless["structuredContent"]["number"], 3,
            "a call without a key runs: {keyless}"
        );
        assert!(!act("bob", "c").await.is_error(), "each caller has its own quota");
        assert_eq!(work.starts(), 4);

        // As the server does regularly.
        ledger.later(until_room);
        ledger.store.sweep(100).await.unwrap();
        let late = act("alice", "c").await;
        assert_eq!(late.structured(), Some(&json!({"number": 5, "key": "c"})), "{:#}", late.raw());
        // No record is stored forever.
        ledger.later(retention + LedgerLimits::default().tombstone + HOUR);
        while ledger.store.sweep(100).await.unwrap().records > 0 {}
        let kept = ledger.store.records(Filter::default(), Page::default()).await.unwrap();
        assert!(kept.items.is_empty(), "{:?}", kept.items);
    }
    let moody = Moody::new(LedgerLimits::default());
    let work = Work::new();
    let client = server().ledger(moody.clone()).tool(work.tool("act")).test().keyed("k");
    moody.refuse_with(StoreError::Quota(Quota::Records { most: 7 }), &["start"]);
    let told = client.call("act", json!({})).await;
    assert_eq!((told.code(), work.starts()), (Some(code::QUOTA_EXCEEDED), 0));
    moody.refuse_with(StoreError::Full("disk /dev/secret".to_owned()), &["start"]);
    let told = client.call("act", json!({})).await;
    assert_eq!((told.code(), work.starts()), (Some(code::LEDGER_UNAVAILABLE), 0));
    assert!(!told.raw().to_string().contains("/dev/secret"));
}

#[tokio::test]
async fn slow_store_does_not_change_the_results() {
    const SLOW: Duration = Duration::from_millis(60);
    for word in ["recall", "start", "complete", "note"] {
        let (work, moody) = (Work::new(), Moody::new(LedgerLimits::default()));
        let client = server().ledger(moody.clone()).tool(work.tool("act")).test().keyed("k");
        moody.dawdle(word, SLOW);
        let (one, two) = tokio::join!(client.call("act", json!({})), client.call("act", json!({})));
        assert_eq!(bare(one.raw()), bare(two.raw()), "{word}");
        assert!(one.is_replayed() != two.is_replayed(), "{word}");
        assert_eq!(work.starts(), 1, "{word}");
    }
}

#[tokio::test]
async fn deadline_holds_with_a_slow_store() {
    let (work, moody) = (Work::new(), Moody::new(LedgerLimits::default()));
    let server = server().ledger(moody.clone()).tool(work.tool("act"));
    let client = server.limits(|l| l.deadline = Duration::from_millis(30)).test().keyed("k");
    moody.dawdle("complete", Duration::from_millis(150));
    let told = client.call("act", json!({})).await;
    assert_eq!(told.code(), Some(code::IN_PROGRESS), "{:#}", told.raw());
    moody.heal();
    assert!(client.call("act", json!({})).await.is_replayed());
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn question_that_could_not_be_stored_is_asked_on_retry() {
    let (work, moody) = (Work::new(), Moody::new(LedgerLimits::default()));
    let (counted, form) = (work.clone(), json!({"type": "object", "properties": {}}));
    let tool = JsonTool::open("act", move |_, ctx: Ctx| {
        let (work, form) = (counted.clone(), form.clone());
        async move {
            ctx.elicit(Elicit::form("Really?", &form)).await?;
            Ok::<_, ToolError>(json!({"number": work.start()}))
        }
    });
    let client =
        server().ledger(moody.clone()).tool(tool).test().keyed("k").on_elicit(|_| json!({}));
    moody.refuse(&["suspend"]);
    let told = client.call("act", json!({})).await;
    assert_eq!(told.code(), Some(code::LEDGER_UNAVAILABLE), "{:#}", told.raw());
    moody.heal();
    comes_to(client.engine(), "act", "k", StateKind::Suspended).await;
    let called = client.call("act", json!({})).await;
    assert_eq!(called.structured(), Some(&json!({"number": 1})));
    assert!(!rows(client.engine()).await.is_empty());
    assert_eq!(work.starts(), 1);
}
