//! Calls with keys: replays, unknown outcomes, input requests, and quotas.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::case::{Bench, SAME, call, claim, claims, dispatched, id, outcome, say};
use super::ensure::{Checked, Required};
use crate::{
    AuditContext, Binding, Body, Event, EventError, EventReply, Fingerprint, Holder, LedgerLimits,
    Owner, Quota, Quotas, Resolution, StateKind, StoreError, UnknownReason,
};

pub(super) async fn key_with_other_arguments_is_refused(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    call(&*case.store, &id("a"), "x").await?;
    let other = Event::Claim {
        fingerprint: Fingerprint([8; 32]),
        owner: Owner([1; 16]),
        idempotent: false,
    };
    ensure_eq!(say(&*case.store, &id("a"), other).await?, EventReply::KeyReused);
    Ok(())
}

pub(super) async fn keys_are_separate_per_principal_tool_and_instance(
    bench: &Bench<'_>,
) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    call(&*case.store, &id("a"), "x").await?;
    let mut theirs = [id("a"), id("a"), id("a")];
    theirs[0].scope.principal = "bob".into();
    theirs[1].scope.tool = "delete_invoice".into();
    theirs[2].scope.instance = "file:elsewhere".into();
    for id in theirs {
        ensure_eq!(case.store.recall(&id, SAME, false).await?, None);
    }
    Ok(())
}

pub(super) async fn late_outcome_after_the_lease_is_accepted(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let holder = dispatched(&*case.store, &id("a")).await?;
    case.later(Duration::from_secs(31));
    obtain!(
        EventReply::OutcomeUnknown { reason: UnknownReason::LeaseEnded, .. } =
            claims(&*case.store, &id("a")).await?
    );
    ensure_eq!(say(&*case.store, &id("a"), Event::Heartbeat(holder)).await?, EventReply::Lost);
    let late = Event::Complete { holder, outcome: outcome("late") };
    ensure_eq!(say(&*case.store, &id("a"), late).await?, EventReply::Done);
    ensure_matches!(claims(&*case.store, &id("a")).await?, EventReply::Replay { .. });
    Ok(())
}

pub(super) async fn outcome_resolved_as_not_run_allows_one_more_start(
    bench: &Bench<'_>,
) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let lost = dispatched(store, &id("a")).await?;
    say(store, &id("a"), Event::Unknown { holder: lost, reason: UnknownReason::Panicked }).await?;
    let not_done = Event::Resolve { by: "olga".into(), resolution: Resolution::NotDone };
    ensure_eq!(say(store, &id("a"), not_done.clone()).await?, EventReply::Done);
    let again = dispatched(store, &id("a")).await?;
    ensure!(again.fence > lost.fence);
    // The earlier owner can no longer record an outcome.
    let stale = Event::Complete { holder: lost, outcome: outcome("stale") };
    ensure_eq!(say(store, &id("a"), stale).await?, EventReply::Lost);
    let refused = EventReply::Refused(EventError::NotUnknown(StateKind::Dispatched));
    ensure_eq!(say(store, &id("a"), not_done).await?, refused);
    case.later(Duration::from_secs(31));
    ensure_matches!(claims(store, &id("a")).await?, EventReply::OutcomeUnknown { .. });
    Ok(())
}

pub(super) async fn suspended_call_resumes_only_once(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let holder = dispatched(store, &id("a")).await?;
    let asked = outcome("which address?");
    let suspend = Event::Suspend { holder, asked: asked.clone() };
    obtain!(EventReply::Suspended { fence, round, .. } = say(store, &id("a"), suspend).await?);
    obtain!(EventReply::Suspended { asked: again, .. } = claims(store, &id("a")).await?);
    ensure_eq!(again, asked);
    let resume =
        |owner| Event::Resume { fingerprint: SAME, fence, round, owner: Owner([owner; 16]) };
    obtain!(
        EventReply::Resumed { fence: now, attempt: 1 } = say(store, &id("a"), resume(1)).await?
    );
    ensure_matches!(say(store, &id("a"), resume(2)).await?, EventReply::InFlight { .. });
    let holder = Holder { owner: Owner([1; 16]), fence: now };
    say(store, &id("a"), Event::Complete { holder, outcome: outcome("sent") }).await?;
    ensure_matches!(say(store, &id("a"), resume(3)).await?, EventReply::Replay { .. });
    Ok(())
}

pub(super) async fn outcome_is_replayed_then_expires_then_is_purged(bench: &Bench<'_>) -> Checked {
    let rules = LedgerLimits::default();
    let case = &bench.open(rules.clone()).await?;
    call(&*case.store, &id("a"), "x").await?;
    case.later(rules.retention);
    ensure_matches!(claims(&*case.store, &id("a")).await?, EventReply::Replay { .. });
    case.later(Duration::from_millis(1));
    ensure_matches!(claims(&*case.store, &id("a")).await?, EventReply::Expired { .. });
    case.later(rules.tombstone - Duration::from_millis(1));
    ensure_eq!(case.store.sweep(100).await?.records, 0);
    case.later(Duration::from_millis(1));
    ensure_eq!(case.store.sweep(100).await?.records, 1);
    ensure_eq!(case.store.find(&id("a")).await?, None);
    Ok(())
}

pub(super) async fn clock_set_back_does_not_revive_an_ended_claim(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let holder = claim(store, &id("a")).await?;
    case.later(Duration::from_secs(31));
    let quicker = claim(store, &id("a")).await?;
    let last = case.now();
    case.clock.fetch_sub(3_600_000, Ordering::SeqCst);
    ensure_eq!(say(store, &id("a"), Event::Dispatch(holder)).await?, EventReply::Lost);
    ensure_eq!(say(store, &id("a"), Event::Dispatch(quicker)).await?, EventReply::Done);
    let row = store.transitions(&id("a")).await?.pop().required("row")?;
    ensure_eq!(row.change.required("change in the row")?.to, StateKind::Dispatched);

    // Time does not go back within a record.
    let record = store.find(&id("a")).await?.required("record")?.stored;
    ensure!(record.touched >= last, "written at {:?}, after {last:?}", record.touched);
    Ok(())
}

pub(super) async fn oversized_outcome_is_omitted_without_an_error(bench: &Bench<'_>) -> Checked {
    let quotas = Quotas { bytes: 100, ..Quotas::default() };
    let case = &bench
        .open(LedgerLimits { max_outcome: 60, quotas, ..LedgerLimits::default() }.clone())
        .await?;

    let store = &*case.store;
    // Too large by itself; fits; fits by itself but not beside the other.
    for (key, len, kept) in [("a", 61, false), ("b", 60, true), ("c", 60, false), ("d", 40, true)] {
        call(store, &id(key), &"x".repeat(len)).await?;
        obtain!(EventReply::Replay { outcome, .. } = claims(store, &id(key)).await?);
        ensure_eq!(matches!(outcome.body, Body::Kept(_)), kept, "{key}");
    }
    Ok(())
}

pub(super) async fn record_quota_of_one_principal_does_not_affect_others(
    bench: &Bench<'_>,
) -> Checked {
    let quotas = Quotas { records: 2, ..Quotas::default() };
    let case = &bench.open(LedgerLimits { quotas, ..LedgerLimits::default() }.clone()).await?;
    let store = &*case.store;
    call(store, &id("a"), "x").await?;
    call(store, &id("b"), "x").await?;
    let event = Event::Claim { fingerprint: SAME, owner: Owner([1; 16]), idempotent: false };
    let refused = store.apply(&id("c"), event, AuditContext::default()).await;
    ensure_eq!(refused, Err(StoreError::Quota(Quota::Records { most: 2 })));
    ensure_matches!(claims(store, &id("a")).await?, EventReply::Replay { .. });
    let mut theirs = id("c");
    theirs.scope.principal = "bob".into();
    call(store, &theirs, "x").await?;
    // An expired result frees quota.
    case.later(Duration::from_secs(25 * 3600));
    store.sweep(10).await?;
    call(store, &id("c"), "x").await?;
    // A new request under its key takes the quota again.
    call(store, &id("d"), "x").await?;
    let anew = Event::Ask {
        fingerprint: SAME,
        binding: Binding([3; 32]),
        asked: b"may it?"[..].into(),
        idempotent: false,
        keyless: true,
    };
    let refused = store.apply(&id("a"), anew, AuditContext::default()).await;
    ensure_eq!(refused, Err(StoreError::Quota(Quota::Records { most: 2 })));
    Ok(())
}
