//! What a record keeps for operators: the review, the error of the last attempt, and the arguments. On every store.

mod common;

use std::time::Duration;

use candor_ledger::*;
use common::{SAME, Told, asked, decide, id, on_each, outcome, say, start};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn conflict() -> CallError {
    CallError { code: "conflict".into(), message: "Invoice 17 is paid already.".into() }
}

fn with_error() -> AuditContext {
    AuditContext { error: Some(conflict()), ..AuditContext::default() }
}

fn with_arguments() -> AuditContext {
    AuditContext { arguments: Some(br#"{"n":17}"#[..].into()), ..AuditContext::default() }
}

async fn seen(store: &dyn Store, id: &RecordId) -> Option<Record> {
    store.find(id).await.unwrap().and_then(|entry| entry.seen)
}

/// The stored arguments, as text.
async fn arguments(store: &dyn Store, id: &RecordId) -> Option<String> {
    let arguments = seen(store, id).await.and_then(|record| record.arguments);
    arguments.map(|arguments| String::from_utf8(arguments.to_vec()).unwrap())
}

/// Asks with arguments, and returns what a reviewer decides on.
async fn asked_with_arguments(store: &dyn Store, id: &RecordId) -> RequestVersion {
    let event = common::ask("may it?");
    match store.apply(id, event, with_arguments()).await.unwrap() {
        EventReply::Waiting { fence, .. } => {
            RequestVersion { fence, fingerprint: SAME, binding: common::POLICY }
        }
        other => panic!("{other:?}"),
    }
}

async fn started(store: &dyn Store, id: &RecordId) -> Holder {
    let owner = Owner::random().unwrap();
    let event = Event::Start { fingerprint: SAME, owner, idempotent: false, approval: None };
    match say(store, id, event).await {
        EventReply::Started { fence, .. } => Holder { owner, fence },
        other => panic!("{other:?}"),
    }
}

async fn approve_start_and_end(store: &dyn Store, id: &RecordId, end: impl Fn(Holder) -> Event) {
    let question = asked_with_arguments(store, id).await;
    assert_eq!(say(store, id, decide(question, Review::Approve)).await, EventReply::Done);
    let Event::Start { owner, .. } = start() else { unreachable!() };
    let event = Event::Start {
        fingerprint: SAME,
        owner,
        idempotent: false,
        approval: Some(common::POLICY),
    };
    let EventReply::Started { fence, .. } = say(store, id, event).await else {
        panic!("not started")
    };
    assert_eq!(say(store, id, end(Holder { owner, fence })).await, EventReply::Done);
}

fn deny() -> Review {
    Review::Deny { reason: Some("not on a Friday".into()) }
}

#[test]
fn expired_denial_stays_in_history_but_refuses_nothing() {
    on_each(&LedgerLimits::default(), async |told: &Told| {
        let store = &*told.store;
        let question = asked(store, &id("a")).await;
        assert_eq!(say(store, &id("a"), decide(question, deny())).await, EventReply::Done);
        for (later, key_is_free) in [(MINUTE * 9, false), (MINUTE * 2, true), (DAY * 80, true)] {
            told.later(later);
            store.sweep(100).await.unwrap();
            let RecordState::Denied { by, reason, .. } = seen(store, &id("a")).await.unwrap().state
            else {
                panic!("no longer denied")
            };
            assert_eq!((by.as_str(), reason.as_deref()), ("olga", Some("not on a Friday")));
            let refused = store.recall(&id("a"), SAME, false).await.unwrap();
            assert_eq!(refused.is_none(), key_is_free);
            let other = store.recall(&id("a"), Fingerprint([8; 32]), false).await.unwrap();
            assert_eq!(other.is_none(), key_is_free);
            let denied = Filter { state: Some(StateKind::Denied), ..Filter::default() };
            let listed = store.records(denied, Page::default()).await.unwrap().items;
            assert_eq!(listed.len(), 1);
        }
        // The denied request cannot be reviewed again. A new one can.
        let late = say(store, &id("a"), decide(question, Review::Approve)).await;
        assert_eq!(late, EventReply::Refused(EventError::NotWaiting(StateKind::Denied)));
        let question = asked(store, &id("a")).await;
        assert_eq!(say(store, &id("a"), decide(question, deny())).await, EventReply::Done);
        told.later(DAY * 100);
        store.sweep(100).await.unwrap();
        assert_eq!(seen(store, &id("a")).await, None);
    });
}

#[test]
fn error_of_a_released_key_stays_until_the_next_start() {
    on_each(&LedgerLimits::default(), async |told: &Told| {
        let store = &*told.store;
        let holder = started(store, &id("a")).await;
        let discard = Event::Discard { holder, why: RetryReason::NothingHappened };
        let done = store.apply(&id("a"), discard, with_error()).await.unwrap();
        assert_eq!(done, EventReply::Done);
        let record = seen(store, &id("a")).await.unwrap();
        assert_eq!((record.state.kind(), record.error), (StateKind::Open, Some(conflict())));

        // An unanswered approval request does not erase it.
        asked(store, &id("a")).await;
        told.later(DAY + HOUR);
        assert_eq!(seen(store, &id("a")).await.unwrap().error, Some(conflict()));

        let holder = started(store, &id("a")).await;
        assert_eq!(seen(store, &id("a")).await.unwrap().error, None);
        say(store, &id("a"), Event::Complete { holder, outcome: outcome("paid") }).await;
        let story = store.transitions(&id("a")).await.unwrap();
        let errors: Vec<_> = story
            .iter()
            .filter_map(|row| Some((row.event.as_str(), row.circumstances.error.as_ref()?)))
            .collect();
        assert_eq!(errors, [("discard", &conflict())]);
    });
}

#[test]
fn error_outlives_the_result_that_held_it() {
    on_each(&LedgerLimits::default(), async |told: &Told| {
        let store = &*told.store;
        let holder = started(store, &id("a")).await;
        let outcome = StoredResult::new(OutcomeKind::Failure, *b"it failed");
        let ended = Event::Complete { holder, outcome };
        store.apply(&id("a"), ended, with_error()).await.unwrap();
        told.later(DAY * 2);
        store.sweep(100).await.unwrap();
        let record = seen(store, &id("a")).await.unwrap();
        assert_eq!((record.state.kind(), record.error), (StateKind::Tombstone, Some(conflict())));
        told.later(DAY * 40);
        store.sweep(100).await.unwrap();
        assert_eq!(seen(store, &id("a")).await, None);
        let story = store.transitions(&id("a")).await.unwrap();
        assert!(story.iter().any(|row| row.circumstances.error == Some(conflict())));
    });
}

#[test]
fn error_message_is_cut_between_letters() {
    on_each(&LedgerLimits::default(), async |told: &Told| {
        let store = &*told.store;
        let holder = started(store, &id("a")).await;
        let error = CallError { code: "long".into(), message: "ä".repeat(5_000) + "x" };
        let circumstances = AuditContext { error: Some(error), ..AuditContext::default() };
        let discard = Event::Discard { holder, why: RetryReason::NothingHappened };
        store.apply(&id("a"), discard, circumstances).await.unwrap();
        let message = seen(store, &id("a")).await.unwrap().error.unwrap().message;
        assert!(message.len() < 2_100 && message.ends_with("ä…"), "{}", message.len());
    });
}

#[test]
fn arguments_of_an_approved_call_expire_with_its_result() {
    on_each(&LedgerLimits::default(), async |told: &Told| {
        let store = &*told.store;
        let kept = Some(r#"{"n":17}"#.to_owned());
        approve_start_and_end(store, &id("a"), |holder| Event::Complete {
            holder,
            outcome: outcome("paid"),
        })
        .await;
        assert_eq!(arguments(store, &id("a")).await, kept);
        let rows = store.rows(Filter::default(), Page::default()).await.unwrap().items;
        assert!(rows.iter().all(|row| row.circumstances.arguments.is_none()));
        told.later(DAY + MINUTE);
        assert_eq!(arguments(store, &id("a")).await, None);

        approve_start_and_end(store, &id("b"), |holder| Event::Unknown {
            holder,
            reason: UnknownReason::Panicked,
        })
        .await;
        told.later(DAY + MINUTE);
        assert_eq!(arguments(store, &id("b")).await, kept);
        let abandon = Event::Resolve { by: "olga".into(), resolution: Resolution::Abandon };
        assert_eq!(say(store, &id("b"), abandon).await, EventReply::Done);
        assert_eq!(arguments(store, &id("b")).await, None);
    });
}

#[test]
fn arguments_of_a_denied_call_are_stored_for_the_retention() {
    on_each(&LedgerLimits::default(), async |told: &Told| {
        let store = &*told.store;
        let question = asked_with_arguments(store, &id("a")).await;
        assert_eq!(say(store, &id("a"), decide(question, deny())).await, EventReply::Done);
        told.later(HOUR * 23);
        assert_eq!(arguments(store, &id("a")).await.as_deref(), Some(r#"{"n":17}"#));
        told.later(HOUR * 2);
        assert_eq!(arguments(store, &id("a")).await, None);
        assert_eq!(seen(store, &id("a")).await.unwrap().state.kind(), StateKind::Denied);
    });
}

#[test]
fn arguments_of_an_unanswered_request_expire_with_the_request() {
    on_each(&LedgerLimits::default(), async |told: &Told| {
        let store = &*told.store;
        asked_with_arguments(store, &id("a")).await;
        told.later(DAY + MINUTE);
        assert_eq!(arguments(store, &id("a")).await, None);
        assert_eq!(seen(store, &id("a")).await.unwrap().state.kind(), StateKind::Open);
    });
}

#[test]
fn call_starts_without_arguments_beyond_the_quota() {
    let quotas = Quotas { bytes: 20, ..Quotas::default() };
    let rules =
        LedgerLimits { quotas, retention: Duration::from_secs(60), ..LedgerLimits::default() };
    on_each(&rules, async |told: &Told| {
        let store = &*told.store;
        for (key, kept) in [("a", true), ("b", true), ("c", false)] {
            let owner = Owner::random().unwrap();
            let event =
                Event::Start { fingerprint: SAME, owner, idempotent: false, approval: None };
            let answer = store.apply(&id(key), event, with_arguments()).await.unwrap();
            let EventReply::Started { fence, .. } = answer else { panic!("{answer:?}") };
            assert_eq!(arguments(store, &id(key)).await.is_some(), kept, "{key}");
            let discard = Event::Discard {
                holder: Holder { owner, fence },
                why: RetryReason::NothingHappened,
            };
            assert_eq!(say(store, &id(key), discard).await, EventReply::Done);
        }
        // The quota is freed.
        told.later(MINUTE * 2);
        store.sweep(100).await.unwrap();
        let owner = Owner::random().unwrap();
        let event = Event::Start { fingerprint: SAME, owner, idempotent: false, approval: None };
        store.apply(&id("d"), event, with_arguments()).await.unwrap();
        assert!(arguments(store, &id("d")).await.is_some());
    });
}
