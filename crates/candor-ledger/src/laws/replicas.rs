//! Several stores of one ledger, as several processes have them, and callers that come at the same time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};

use super::case::{Bench, Case, SAME, call, claim, claims, dispatched, id, outcome, say, seen};
use super::ensure::{Checked, Required};
use super::fixture;
use crate::{
    AuditContext, Event, EventReply, Filter, LedgerLimits, Owner, Page, Quota, Quotas, StateKind,
    StoreError,
};

pub(super) async fn outcome_survives_a_restart(bench: &Bench<'_>) -> Checked {
    let case = &mut bench.open(LedgerLimits::default()).await?;
    call(&*case.store, &id("a"), "invoice 1").await?;
    let lost = dispatched(&*case.store, &id("b")).await?;
    case.reopen().await?;
    let store = &*case.store;
    obtain!(
        Some(EventReply::Replay { outcome: first, attempt: 1, .. }) =
            store.recall(&id("a"), SAME, false).await?
    );
    ensure_eq!(first, outcome("invoice 1"));
    // Its owner may be alive: a restart of one process ends no lease.
    ensure_matches!(claims(store, &id("b")).await?, EventReply::InFlight { .. });
    case.later(Duration::from_secs(31));
    ensure_matches!(claims(store, &id("b")).await?, EventReply::OutcomeUnknown { .. });
    let late = Event::Complete { holder: lost, outcome: outcome("late") };
    ensure_eq!(say(store, &id("b"), late).await?, EventReply::Done);
    Ok(())
}

pub(super) async fn filled_ledger_is_whole_after_reopening(bench: &Bench<'_>) -> Checked {
    let (options, clock) = fixture::options();
    let name = bench.law.to_owned();
    let case = &mut Case::open(bench.ledgers, name, clock, options).await?;
    fixture::fill_ledger(&*case.store, &case.clock).await?;
    case.reopen().await?;
    fixture::check_ledger(&*case.store, &case.clock).await
}

pub(super) async fn dropped_answer_does_not_drop_the_event(bench: &Bench<'_>) -> Checked {
    let case = &mut bench.open(LedgerLimits::default()).await?;
    let holder = claim(&*case.store, &id("a")).await?;
    drop(case.store.apply(&id("a"), Event::Dispatch(holder), AuditContext::default()));
    // The store is dropped, too: it finishes its queue.
    case.reopen().await?;
    let record = seen(&*case.store, &id("a")).await?.required("record")?;
    ensure_eq!(record.state.kind(), StateKind::Dispatched);
    Ok(())
}

pub(super) async fn concurrent_starts_start_one_call(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let stores = [Arc::clone(&case.store), case.another().await?];
    for round in 0..20 {
        let id = &id(&format!("key-{round}"));
        let mut starts = Vec::new();
        for store in stores.iter().cycle().take(8) {
            let (owner, approval) = (Owner::random()?, None);
            let start = Event::Start { fingerprint: SAME, owner, idempotent: false, approval };
            starts.push(say(&**store, id, start));
        }
        let replies = try_join_all(starts).await?;
        let started = |reply: &&EventReply| matches!(reply, EventReply::Started { .. });
        ensure_eq!(replies.iter().filter(started).count(), 1, "starts of one call");
        let rows = case.store.transitions(id).await?;
        ensure_eq!(rows.len(), 1, "rows of one start");
    }
    Ok(())
}

pub(super) async fn refused_event_does_not_affect_others_sent_with_it(
    bench: &Bench<'_>,
) -> Checked {
    let quotas = Quotas { keys_per_hour: 40, ..Quotas::default() };
    let case = &bench.open(LedgerLimits { quotas, ..LedgerLimits::default() }).await?;
    let store = &*case.store;
    let sent = (0..60).map(|at| {
        let owner = Owner([at; 16]);
        let event = Event::Claim { fingerprint: SAME, owner, idempotent: false };
        // Sent when it is made, so a store may put all of them into one transaction.
        store.apply(&id(&format!("key-{at}")), event, AuditContext::default())
    });
    let mut granted = 0;
    for (at, reply) in join_all(sent).await.into_iter().enumerate() {
        let found = store.find(&id(&format!("key-{at}"))).await?;
        match reply {
            Ok(EventReply::Claimed { .. }) => {
                granted += 1;
                ensure!(found.is_some(), "a granted claim has no record");
            }
            Err(StoreError::Quota(Quota::KeysPerHour { most: 40 })) => {
                ensure!(found.is_none(), "a refused claim has a record");
            }
            other => fail!("{other:?} is the reply to a claim beyond the quota"),
        }
    }
    ensure_eq!(granted, 40, "granted claims");
    Ok(())
}

pub(super) async fn concurrent_sweeps_sweep_each_record_once(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let stores = [Arc::clone(&case.store), case.another().await?, case.another().await?];
    const KEYS: usize = 300;
    for key in 0..KEYS {
        let mut id = id(&format!("key-{key}"));
        id.scope.principal = format!("principal-{}", key % 7);
        claim(&*case.store, &id).await?;
    }
    case.later(Duration::from_secs(31));
    let sweeps = stores.iter().cycle().take(12).map(|store| store.sweep(1_000));
    let swept = try_join_all(sweeps).await?;
    ensure_eq!(swept.iter().map(|report| report.records).sum::<usize>(), KEYS, "swept records");
    let open = Filter { state: Some(StateKind::Open), ..Filter::default() };
    let page = Page { most: 1_000, ..Page::default() };
    let records = case.store.records(open, page).await?.items;
    ensure_eq!(records.len(), KEYS, "open records");
    for entry in records {
        let rows = case.store.transitions(&entry.id).await?;
        let events: Vec<_> = rows.iter().map(|row| row.event.as_str()).collect();
        ensure_eq!(events, ["claim", "lapse"]);
    }
    Ok(())
}

pub(super) async fn transitions_of_a_purged_record_are_still_listed(bench: &Bench<'_>) -> Checked {
    let limits = LedgerLimits {
        retention: Duration::ZERO,
        tombstone: Duration::ZERO,
        ..LedgerLimits::default()
    };
    let case = &bench.open(limits).await?;
    let store = &*case.store;
    let mut other = id("a");
    other.scope.tool = "other".into();
    for id in [&id("a"), &other] {
        call(store, id, "x").await?;
    }
    case.later(Duration::from_millis(5));
    store.sweep(10).await?;
    ensure_eq!(store.find(&id("a")).await?, None);
    let rows = store.transitions(&id("a")).await?;
    ensure!(rows.iter().all(|row| row.record() == Some(id("a"))), "a row of another record");
    let events: Vec<_> = rows.iter().map(|row| row.event.as_str()).collect();
    ensure_eq!(events, ["claim", "dispatch", "complete", "lapse"]);
    Ok(())
}
