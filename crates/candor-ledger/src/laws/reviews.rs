//! What a record keeps for operators: the review, the error of the last attempt, and the arguments.

use std::time::Duration;

use super::case::{Bench, POLICY, SAME, ask, asked, decide, id, outcome, request, say, seen};
use super::ensure::{Checked, Required};
use crate::{
    AuditContext, CallError, Event, EventError, EventReply, Filter, Fingerprint, Holder,
    LedgerLimits, OutcomeKind, Owner, Page, Quotas, RecordId, RecordState, RequestVersion,
    Resolution, RetryReason, Review, StateKind, Store, StoredResult, UnknownReason,
};

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

/// The stored arguments, as text.
async fn arguments(store: &dyn Store, id: &RecordId) -> Checked<Option<String>> {
    let arguments = seen(store, id).await?.and_then(|record| record.arguments);
    Ok(arguments.map(|arguments| String::from_utf8_lossy(&arguments).into_owned()))
}

/// Asks with arguments, and returns what a reviewer decides on.
async fn asked_with_arguments(store: &dyn Store, id: &RecordId) -> Checked<RequestVersion> {
    let event = ask("may it?");
    obtain!(EventReply::Waiting { fence, .. } = store.apply(id, event, with_arguments()).await?);
    Ok(request(fence))
}

async fn started(store: &dyn Store, id: &RecordId) -> Checked<Holder> {
    let owner = Owner::random()?;
    let event = Event::Start { fingerprint: SAME, owner, idempotent: false, approval: None };
    obtain!(EventReply::Started { fence, .. } = say(store, id, event).await?);
    Ok(Holder { owner, fence })
}

async fn approve_start_and_end(
    store: &dyn Store,
    id: &RecordId,
    end: impl Fn(Holder) -> Event,
) -> Checked {
    let question = asked_with_arguments(store, id).await?;
    ensure_eq!(say(store, id, decide(question, Review::Approve)).await?, EventReply::Done);
    let owner = Owner::random()?;
    let event =
        Event::Start { fingerprint: SAME, owner, idempotent: false, approval: Some(POLICY) };
    obtain!(EventReply::Started { fence, .. } = say(store, id, event).await?);
    ensure_eq!(say(store, id, end(Holder { owner, fence })).await?, EventReply::Done);
    Ok(())
}

fn deny() -> Review {
    Review::Deny { reason: Some("not on a Friday".into()) }
}

pub(super) async fn expired_denial_stays_in_history_but_refuses_nothing(
    bench: &Bench<'_>,
) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let question = asked(store, &id("a")).await?;
    ensure_eq!(say(store, &id("a"), decide(question, deny())).await?, EventReply::Done);
    for (later, key_is_free) in [(MINUTE * 9, false), (MINUTE * 2, true), (DAY * 80, true)] {
        case.later(later);
        store.sweep(100).await?;
        obtain!(
            RecordState::Denied { by, reason, .. } =
                seen(store, &id("a")).await?.required("record")?.state
        );
        ensure_eq!((by.as_str(), reason.as_deref()), ("olga", Some("not on a Friday")));
        let refused = store.recall(&id("a"), SAME, false).await?;
        ensure_eq!(refused.is_none(), key_is_free);
        let other = store.recall(&id("a"), Fingerprint([8; 32]), false).await?;
        ensure_eq!(other.is_none(), key_is_free);
        let denied = Filter { state: Some(StateKind::Denied), ..Filter::default() };
        let listed = store.records(denied, Page::default()).await?.items;
        ensure_eq!(listed.len(), 1);
    }
    // The denied request cannot be reviewed again. A new one can.
    let late = say(store, &id("a"), decide(question, Review::Approve)).await?;
    ensure_eq!(late, EventReply::Refused(EventError::NotWaiting(StateKind::Denied)));
    let question = asked(store, &id("a")).await?;
    ensure_eq!(say(store, &id("a"), decide(question, deny())).await?, EventReply::Done);
    case.later(DAY * 100);
    store.sweep(100).await?;
    ensure_eq!(seen(store, &id("a")).await?, None);
    Ok(())
}

pub(super) async fn error_of_a_released_key_stays_until_the_next_start(
    bench: &Bench<'_>,
) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let holder = started(store, &id("a")).await?;
    let discard = Event::Discard { holder, why: RetryReason::NothingHappened };
    let done = store.apply(&id("a"), discard, with_error()).await?;
    ensure_eq!(done, EventReply::Done);
    let record = seen(store, &id("a")).await?.required("record")?;
    ensure_eq!((record.state.kind(), record.error), (StateKind::Open, Some(conflict())));

    // An unanswered approval request does not erase it.
    asked(store, &id("a")).await?;
    case.later(DAY + HOUR);
    ensure_eq!(seen(store, &id("a")).await?.required("record")?.error, Some(conflict()));

    let holder = started(store, &id("a")).await?;
    ensure_eq!(seen(store, &id("a")).await?.required("record")?.error, None);
    say(store, &id("a"), Event::Complete { holder, outcome: outcome("paid") }).await?;
    let story = store.transitions(&id("a")).await?;
    let errors: Vec<_> = story
        .iter()
        .filter_map(|row| Some((row.event.as_str(), row.circumstances.error.as_ref()?)))
        .collect();
    ensure_eq!(errors, [("discard", &conflict())]);
    Ok(())
}

pub(super) async fn error_outlives_the_result_that_held_it(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let holder = started(store, &id("a")).await?;
    let outcome = StoredResult::new(OutcomeKind::Failure, *b"it failed");
    let ended = Event::Complete { holder, outcome };
    store.apply(&id("a"), ended, with_error()).await?;
    case.later(DAY * 2);
    store.sweep(100).await?;
    let record = seen(store, &id("a")).await?.required("record")?;
    ensure_eq!((record.state.kind(), record.error), (StateKind::Tombstone, Some(conflict())));
    case.later(DAY * 40);
    store.sweep(100).await?;
    ensure_eq!(seen(store, &id("a")).await?, None);
    let story = store.transitions(&id("a")).await?;
    ensure!(story.iter().any(|row| row.circumstances.error == Some(conflict())));
    Ok(())
}

pub(super) async fn error_message_is_cut_between_letters(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let holder = started(store, &id("a")).await?;
    let error = CallError { code: "long".into(), message: "ä".repeat(5_000) + "x" };
    let circumstances = AuditContext { error: Some(error), ..AuditContext::default() };
    let discard = Event::Discard { holder, why: RetryReason::NothingHappened };
    store.apply(&id("a"), discard, circumstances).await?;
    let message = seen(store, &id("a")).await?.required("record")?.error.required("error")?.message;
    ensure!(message.len() < 2_100 && message.ends_with("ä…"), "{}", message.len());
    Ok(())
}

pub(super) async fn arguments_of_an_approved_call_expire_with_its_result(
    bench: &Bench<'_>,
) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let kept = Some(r#"{"n":17}"#.to_owned());
    approve_start_and_end(store, &id("a"), |holder| Event::Complete {
        holder,
        outcome: outcome("paid"),
    })
    .await?;
    ensure_eq!(arguments(store, &id("a")).await?, kept);
    let rows = store.rows(Filter::default(), Page::default()).await?.items;
    ensure!(rows.iter().all(|row| row.circumstances.arguments.is_none()));
    case.later(DAY + MINUTE);
    ensure_eq!(arguments(store, &id("a")).await?, None);

    approve_start_and_end(store, &id("b"), |holder| Event::Unknown {
        holder,
        reason: UnknownReason::Panicked,
    })
    .await?;
    case.later(DAY + MINUTE);
    ensure_eq!(arguments(store, &id("b")).await?, kept);
    let abandon = Event::Resolve { by: "olga".into(), resolution: Resolution::Abandon };
    ensure_eq!(say(store, &id("b"), abandon).await?, EventReply::Done);
    ensure_eq!(arguments(store, &id("b")).await?, None);
    Ok(())
}

pub(super) async fn arguments_of_a_denied_call_are_stored_for_the_retention(
    bench: &Bench<'_>,
) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let question = asked_with_arguments(store, &id("a")).await?;
    ensure_eq!(say(store, &id("a"), decide(question, deny())).await?, EventReply::Done);
    case.later(HOUR * 23);
    ensure_eq!(arguments(store, &id("a")).await?.as_deref(), Some(r#"{"n":17}"#));
    case.later(HOUR * 2);
    ensure_eq!(arguments(store, &id("a")).await?, None);
    ensure_eq!(seen(store, &id("a")).await?.required("record")?.state.kind(), StateKind::Denied);
    Ok(())
}

pub(super) async fn arguments_of_an_unanswered_request_expire_with_the_request(
    bench: &Bench<'_>,
) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    asked_with_arguments(store, &id("a")).await?;
    case.later(DAY + MINUTE);
    ensure_eq!(arguments(store, &id("a")).await?, None);
    ensure_eq!(seen(store, &id("a")).await?.required("record")?.state.kind(), StateKind::Open);
    Ok(())
}

pub(super) async fn call_starts_without_arguments_beyond_the_quota(bench: &Bench<'_>) -> Checked {
    let quotas = Quotas { bytes: 20, ..Quotas::default() };
    let rules =
        LedgerLimits { quotas, retention: Duration::from_secs(60), ..LedgerLimits::default() };
    let case = &bench.open(rules.clone()).await?;
    let store = &*case.store;
    for (key, kept) in [("a", true), ("b", true), ("c", false)] {
        let owner = Owner::random()?;
        let event = Event::Start { fingerprint: SAME, owner, idempotent: false, approval: None };
        let answer = store.apply(&id(key), event, with_arguments()).await?;
        obtain!(EventReply::Started { fence, .. } = answer);
        ensure_eq!(arguments(store, &id(key)).await?.is_some(), kept, "{key}");
        let discard =
            Event::Discard { holder: Holder { owner, fence }, why: RetryReason::NothingHappened };
        ensure_eq!(say(store, &id(key), discard).await?, EventReply::Done);
    }
    // The quota is freed.
    case.later(MINUTE * 2);
    store.sweep(100).await?;
    let owner = Owner::random()?;
    let event = Event::Start { fingerprint: SAME, owner, idempotent: false, approval: None };
    store.apply(&id("d"), event, with_arguments()).await?;
    ensure!(arguments(store, &id("d")).await?.is_some());
    Ok(())
}
