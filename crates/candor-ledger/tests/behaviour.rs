//! What callers and operators meet, on every store.

mod common;

use std::sync::atomic::Ordering;
use std::time::Duration;

use candor_ledger::*;
use common::{SAME, call, claim, id, on_each, outcome, say};

async fn dispatched(store: &dyn Store, id: &RecordId) -> Holder {
    let holder = claim(store, id).await.unwrap();
    assert_eq!(say(store, id, Event::Dispatch(holder)).await, EventReply::Done);
    holder
}

#[test]
fn key_with_other_arguments_is_refused() {
    on_each(&LedgerLimits::default(), async |told| {
        call(&*told.store, &id("a"), "x").await;
        let other = Event::Claim {
            fingerprint: Fingerprint([8; 32]),
            owner: Owner([1; 16]),
            idempotent: false,
        };
        assert_eq!(say(&*told.store, &id("a"), other).await, EventReply::KeyReused);
    });
}

#[test]
fn keys_are_separate_per_principal_tool_and_instance() {
    on_each(&LedgerLimits::default(), async |told| {
        call(&*told.store, &id("a"), "x").await;
        let mut theirs = [id("a"), id("a"), id("a")];
        theirs[0].scope.principal = "bob".into();
        theirs[1].scope.tool = "delete_invoice".into();
        theirs[2].scope.instance = "file:elsewhere".into();
        for id in theirs {
            assert_eq!(told.store.recall(&id, SAME, false).await.unwrap(), None);
        }
    });
}

#[test]
fn late_outcome_after_the_lease_is_accepted() {
    on_each(&LedgerLimits::default(), async |told| {
        let holder = dispatched(&*told.store, &id("a")).await;
        told.later(Duration::from_secs(31));
        let Err(EventReply::OutcomeUnknown { reason: UnknownReason::LeaseEnded, .. }) =
            claim(&*told.store, &id("a")).await
        else {
            panic!()
        };
        assert_eq!(say(&*told.store, &id("a"), Event::Heartbeat(holder)).await, EventReply::Lost);
        let late = Event::Complete { holder, outcome: outcome("late") };
        assert_eq!(say(&*told.store, &id("a"), late).await, EventReply::Done);
        assert!(matches!(claim(&*told.store, &id("a")).await, Err(EventReply::Replay { .. })));
    });
}

#[test]
fn outcome_resolved_as_not_run_allows_one_more_start() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        let lost = dispatched(store, &id("a")).await;
        say(store, &id("a"), Event::Unknown { holder: lost, reason: UnknownReason::Panicked })
            .await;
        let not_done = Event::Resolve { by: "olga".into(), resolution: Resolution::NotDone };
        assert_eq!(say(store, &id("a"), not_done.clone()).await, EventReply::Done);
        let again = dispatched(store, &id("a")).await;
        assert!(again.fence > lost.fence);
        // The earlier owner can no longer record an outcome.
        let stale = Event::Complete { holder: lost, outcome: outcome("stale") };
        assert_eq!(say(store, &id("a"), stale).await, EventReply::Lost);
        let refused = EventReply::Refused(EventError::NotUnknown(StateKind::Dispatched));
        assert_eq!(say(store, &id("a"), not_done).await, refused);
        told.later(Duration::from_secs(31));
        assert!(matches!(claim(store, &id("a")).await, Err(EventReply::OutcomeUnknown { .. })));
    });
}

#[test]
fn suspended_call_resumes_only_once() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        let holder = dispatched(store, &id("a")).await;
        let asked = outcome("which address?");
        let suspend = Event::Suspend { holder, asked: asked.clone() };
        let EventReply::Suspended { fence, round, .. } = say(store, &id("a"), suspend).await else {
            panic!()
        };
        let Err(EventReply::Suspended { asked: again, .. }) = claim(store, &id("a")).await else {
            panic!()
        };
        assert_eq!(again, asked);
        let resume =
            |owner| Event::Resume { fingerprint: SAME, fence, round, owner: Owner([owner; 16]) };
        let EventReply::Resumed { fence: now, attempt: 1 } = say(store, &id("a"), resume(1)).await
        else {
            panic!()
        };
        assert!(matches!(say(store, &id("a"), resume(2)).await, EventReply::InFlight { .. }));
        let holder = Holder { owner: Owner([1; 16]), fence: now };
        say(store, &id("a"), Event::Complete { holder, outcome: outcome("sent") }).await;
        assert!(matches!(say(store, &id("a"), resume(3)).await, EventReply::Replay { .. }));
    });
}

#[test]
fn outcome_is_replayed_then_expires_then_is_purged() {
    let rules = LedgerLimits::default();
    on_each(&rules, async |told| {
        call(&*told.store, &id("a"), "x").await;
        told.later(rules.retention);
        assert!(matches!(claim(&*told.store, &id("a")).await, Err(EventReply::Replay { .. })));
        told.later(Duration::from_millis(1));
        assert!(matches!(claim(&*told.store, &id("a")).await, Err(EventReply::Expired { .. })));
        told.later(rules.tombstone - Duration::from_millis(1));
        assert_eq!(told.store.sweep(100).await.unwrap().records, 0);
        told.later(Duration::from_millis(1));
        assert_eq!(told.store.sweep(100).await.unwrap().records, 1);
        assert_eq!(told.store.find(&id("a")).await.unwrap(), None);
    });
}

#[test]
fn clock_set_back_does_not_revive_an_ended_claim() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        let holder = claim(store, &id("a")).await.unwrap();
        told.later(Duration::from_secs(31));
        let quicker = claim(store, &id("a")).await.unwrap();
        told.clock.fetch_sub(3_600_000, Ordering::SeqCst);
        assert_eq!(say(store, &id("a"), Event::Dispatch(holder)).await, EventReply::Lost);
        assert_eq!(say(store, &id("a"), Event::Dispatch(quicker)).await, EventReply::Done);
        let row = store.transitions(&id("a")).await.unwrap().pop().unwrap();
        assert_eq!(row.change.unwrap().to, StateKind::Dispatched);
    });
}

#[test]
fn oversized_outcome_is_omitted_without_an_error() {
    let quotas = Quotas { bytes: 100, ..Quotas::default() };
    on_each(&LedgerLimits { max_outcome: 60, quotas, ..LedgerLimits::default() }, async |told| {
        let store = &*told.store;
        // Too large by itself; fits; fits by itself but not beside the other.
        for (key, len, kept) in
            [("a", 61, false), ("b", 60, true), ("c", 60, false), ("d", 40, true)]
        {
            call(store, &id(key), &"x".repeat(len)).await;
            let Err(EventReply::Replay { outcome, .. }) = claim(store, &id(key)).await else {
                panic!()
            };
            assert_eq!(matches!(outcome.body, Body::Kept(_)), kept, "{key}");
        }
    });
}

#[test]
fn record_quota_of_one_principal_does_not_affect_others() {
    let quotas = Quotas { records: 2, ..Quotas::default() };
    on_each(&LedgerLimits { quotas, ..LedgerLimits::default() }, async |told| {
        let store = &*told.store;
        call(store, &id("a"), "x").await;
        call(store, &id("b"), "x").await;
        let event = Event::Claim { fingerprint: SAME, owner: Owner([1; 16]), idempotent: false };
        let refused = store.apply(&id("c"), event, AuditContext::default()).await;
        assert_eq!(refused, Err(StoreError::Quota(Quota::Records { most: 2 })));
        assert!(matches!(claim(store, &id("a")).await, Err(EventReply::Replay { .. })));
        let mut theirs = id("c");
        theirs.scope.principal = "bob".into();
        call(store, &theirs, "x").await;
        // An expired result frees quota.
        told.later(Duration::from_secs(25 * 3600));
        store.sweep(10).await.unwrap();
        call(store, &id("c"), "x").await;
        // A new request under its key takes the quota again.
        call(store, &id("d"), "x").await;
        let anew = Event::Ask {
            fingerprint: SAME,
            binding: Binding([3; 32]),
            asked: b"may it?"[..].into(),
            idempotent: false,
            keyless: true,
        };
        let refused = store.apply(&id("a"), anew, AuditContext::default()).await;
        assert_eq!(refused, Err(StoreError::Quota(Quota::Records { most: 2 })));
    });
}

#[test]
fn history_is_filtered_paged_and_exported() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        for key in 0..5 {
            call(store, &id(&format!("key-{key}")), "x").await;
            told.later(Duration::from_secs(1));
        }
        dispatched(store, &id("lost")).await;
        let note = CallNote {
            scope: Scope { tool: "list_invoices".into(), ..id("x").scope },
            key: None,
            event: "refused".into(),
            outcome: Some(OutcomeKind::Failure),
            circumstances: AuditContext {
                shape: Some("{limit: number}".into()),
                digest: Some([3; 32]),
                hints: Some("reads".into()),
                duration: Some(Duration::from_micros(1_250)),
                note: Some("over HTTP".into()),
                ..AuditContext::default()
            },
        };
        store.note(note.clone()).await.unwrap();
        told.later(Duration::from_secs(60));

        // Every reader sees an unknown outcome, although the store has not written it yet.
        let unknown = Filter { state: Some(StateKind::Indeterminate), ..Filter::default() };
        let found = store.records(unknown, Page::default()).await.unwrap();
        assert_eq!(found.items.len(), 1);
        assert_eq!(found.items[0].id, id("lost"));
        assert_eq!(found.items[0].stored.state.kind(), StateKind::Dispatched);

        let completed = Filter { state: Some(StateKind::Completed), ..Filter::default() };
        let mut page = Page { most: 2, ..Page::default() };
        let mut keys = Vec::new();
        loop {
            let part = store.records(completed.clone(), page).await.unwrap();
            keys.extend(part.items.into_iter().map(|entry| entry.id.key.to_string()));
            page.from = part.next;
            if part.next.is_none() {
                break;
            }
        }
        assert_eq!(keys, ["key-4", "key-3", "key-2", "key-1", "key-0"]);

        let of_tool = Filter { tool: Some("list_invoices".into()), ..Filter::default() };
        let rows = store.rows(of_tool, Page::default()).await.unwrap().items;
        assert_eq!(rows.len(), 1);
        assert_eq!((&rows[0].circumstances, &rows[0].event), (&note.circumstances, &note.event));

        let since = Filter { since: Some(Moment(1_700_000_003_000)), ..Filter::default() };
        assert_eq!(store.rows(since, Page::default()).await.unwrap().items.len(), 2 * 3 + 2 + 1);

        let mut export = Export::of(store, Filter::default());
        let mut last = 0;
        let mut count = 0;
        while let Some(row) = export.next().await.unwrap() {
            assert!(row.seq > last);
            last = row.seq;
            count += 1;
        }
        assert_eq!(count, 5 * 3 + 2 + 1);

        told.later(Duration::from_secs(91 * 24 * 3600));
        // All of them, or all but the one that continues the numbers.
        assert!(store.sweep(1_000).await.unwrap().rows >= count - 1);
    });
}

#[test]
fn watcher_wakes_on_completion_but_not_on_heartbeats() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        let holder = dispatched(store, &id("a")).await;
        let seen = RecordVersion { fence: holder.fence, state: StateKind::Dispatched };
        let mut watched = store.watch(&id("a"), seen);
        // The record is written, and its state stays.
        let beats = async {
            for _ in 0..20 {
                tokio::task::yield_now().await;
                told.later(Duration::from_secs(1));
                assert_eq!(say(store, &id("a"), Event::Heartbeat(holder)).await, EventReply::Done);
            }
        };
        tokio::select! {
            biased;
            _ = &mut watched => panic!("woken by a heartbeat"),
            () = beats => {}
        }
        say(store, &id("a"), Event::Complete { holder, outcome: outcome("x") }).await;
        tokio::time::timeout(Duration::from_secs(5), watched).await.unwrap().unwrap();
    });
}

#[test]
fn completion_wakes_a_watcher_in_the_same_process() {
    on_each(&LedgerLimits::default(), async |told| {
        let holder = dispatched(&*told.store, &id("a")).await;
        let seen = RecordVersion { fence: holder.fence, state: StateKind::Dispatched };
        let watched = told.store.watch(&id("a"), seen);
        let end = async {
            tokio::task::yield_now().await;
            say(&*told.store, &id("a"), Event::Complete { holder, outcome: outcome("x") }).await;
        };
        let both = async { tokio::join!(watched, end) };
        tokio::time::timeout(Duration::from_secs(5), both).await.unwrap().0.unwrap();
        // A later watch returns at once.
        told.store.watch(&id("a"), seen).await.unwrap();
    });
}

#[test]
fn heartbeat_does_not_wake_a_watcher() {
    on_each(&LedgerLimits::default(), async |told| {
        let holder = dispatched(&*told.store, &id("a")).await;
        let seen = RecordVersion { fence: holder.fence, state: StateKind::Dispatched };
        let mut watched = std::pin::pin!(told.store.watch(&id("a"), seen));
        for _ in 0..3 {
            tokio::select! {
                biased;
                _ = &mut watched => panic!("the state has not changed"),
                () = std::future::ready(()) => {}
            }
            // When the second is answered, all watchers have seen the first.
            say(&*told.store, &id("a"), Event::Heartbeat(holder)).await;
        }
    });
}

#[test]
fn record_is_found_by_its_digest_prefix() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        let ids: Vec<_> = (0..300).map(|at| id(&format!("key-{at}"))).collect();
        for id in &ids {
            claim(store, id).await.unwrap();
        }
        for wanted in ids.iter().step_by(30) {
            let digits = wanted.digest().to_string();
            for len in [1, 2, 3, 64] {
                let prefix = DigestPrefix::new(&digits[..len]).unwrap();
                let mut found: Vec<_> = store.find_by_prefix(prefix, 300).await.unwrap();
                found.sort_by(|a, b| a.id.cmp(&b.id));
                let mut expected: Vec<_> = ids
                    .iter()
                    .filter(|id| id.digest().to_string()[..len] == digits[..len])
                    .collect();
                expected.sort();
                assert_eq!(found.iter().map(|entry| &entry.id).collect::<Vec<_>>(), expected);
            }
        }
        let all = DigestPrefix::new("0").unwrap();
        assert_eq!(store.find_by_prefix(all, 2).await.unwrap().len(), 2);
    });
}

#[test]
fn notes_become_audit_rows_in_order() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        let note = |n: usize| CallNote {
            scope: id("x").scope,
            key: Some(Key::new(format!("k-{n}")).unwrap()),
            event: "replayed".into(),
            outcome: None,
            circumstances: AuditContext::default(),
        };
        store.notes(Vec::new()).await.unwrap();
        store.notes((0..200).map(note).collect()).await.unwrap();
        let page = Page { most: 500, order: Order::Oldest, ..Page::default() };
        let rows = store.rows(Filter::default(), page).await.unwrap().items;
        let keys: Vec<_> = rows.iter().map(|row| row.key.clone().unwrap().to_string()).collect();
        assert_eq!(keys, (0..200).map(|n| format!("k-{n}")).collect::<Vec<_>>());
    });
}
