//! Callers that wait for a record to change.

use std::time::{Duration, Instant};

use super::case::{Bench, claims, dispatched, id, in_time, outcome, say};
use super::ensure::Checked;
use crate::{Event, EventReply, LedgerLimits, POLL, RecordVersion, StateKind, UnknownReason};

pub(super) async fn watcher_wakes_on_completion_but_not_on_heartbeats(
    bench: &Bench<'_>,
) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let holder = dispatched(store, &id("a")).await?;
    let seen = RecordVersion { fence: holder.fence, state: StateKind::Dispatched };
    let mut watched = store.watch(&id("a"), seen);
    // The record is written, and its state stays.
    let beats = async {
        for _ in 0..20 {
            tokio::task::yield_now().await;
            case.later(Duration::from_secs(1));
            ensure_eq!(say(store, &id("a"), Event::Heartbeat(holder)).await?, EventReply::Done);
        }
        Checked::Ok(())
    };
    tokio::select! {
        biased;
        _ = &mut watched => fail!("woken by a heartbeat"),
        beaten = beats => beaten?,
    }
    say(store, &id("a"), Event::Complete { holder, outcome: outcome("x") }).await?;
    in_time("the watch of an ended call", watched).await??;
    Ok(())
}

pub(super) async fn completion_wakes_a_watcher_in_the_same_process(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let holder = dispatched(&*case.store, &id("a")).await?;
    let seen = RecordVersion { fence: holder.fence, state: StateKind::Dispatched };
    let watched = case.store.watch(&id("a"), seen);
    let end = async {
        tokio::task::yield_now().await;
        say(&*case.store, &id("a"), Event::Complete { holder, outcome: outcome("x") }).await
    };
    let both = async { tokio::join!(watched, end) };
    let (watched, ended) = in_time("the watch of a call that ends", both).await?;
    watched?;
    ended?;
    // A later watch returns at once.
    case.store.watch(&id("a"), seen).await?;
    Ok(())
}

pub(super) async fn heartbeat_does_not_wake_a_watcher(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let holder = dispatched(&*case.store, &id("a")).await?;
    let seen = RecordVersion { fence: holder.fence, state: StateKind::Dispatched };
    let mut watched = std::pin::pin!(case.store.watch(&id("a"), seen));
    for _ in 0..3 {
        tokio::select! {
            biased;
            _ = &mut watched => fail!("the state has not changed"),
            () = std::future::ready(()) => {}
        }
        // When the second is answered, all watchers have seen the first.
        say(&*case.store, &id("a"), Event::Heartbeat(holder)).await?;
    }
    Ok(())
}

pub(super) async fn watcher_is_woken_by_another_process_and_by_the_lease(
    bench: &Bench<'_>,
) -> Checked {
    let limits = LedgerLimits { lease: Duration::from_millis(400), ..LedgerLimits::default() };
    let case = &bench.open_in_real_time(limits).await?;
    let (one, other) = (&*case.store, &*case.another().await?);
    let holder = dispatched(one, &id("a")).await?;
    obtain!(EventReply::InFlight { fence, state, .. } = claims(other, &id("a")).await?);
    let watched = async {
        other.watch(&id("a"), RecordVersion { fence, state }).await?;
        Checked::Ok(Instant::now())
    };
    let ended = async {
        tokio::time::sleep(Duration::from_millis(60)).await;
        let done = Instant::now();
        say(one, &id("a"), Event::Complete { holder, outcome: outcome("x") }).await?;
        Checked::Ok(done)
    };
    let both = async { tokio::join!(watched, ended) };
    let (woken, done) = in_time("the watch of a call of another process", both).await?;
    let late = woken?.duration_since(done?);
    ensure!(late < POLL + Duration::from_millis(250), "the watcher was woken {late:?} late");

    let holder = dispatched(one, &id("b")).await?;
    let begun = Instant::now();
    let seen = RecordVersion { fence: holder.fence, state: StateKind::Dispatched };
    in_time("the watch of a call whose lease ends", other.watch(&id("b"), seen)).await??;
    let took = begun.elapsed();
    ensure!(took > Duration::from_millis(300), "the watch ended after {took:?}, before the lease");
    let reply = claims(other, &id("b")).await?;
    ensure_matches!(reply, EventReply::OutcomeUnknown { reason: UnknownReason::LeaseEnded, .. });
    Ok(())
}
