//! What callers meet that need an approval, and people who give it, on every store.

mod common;

use std::collections::HashSet;
use std::time::Duration;

use candor_ledger::*;
use common::{POLICY, SAME, approved, ask, asked, decide, id, on_each, outcome, say, start};
use futures_util::future::join_all;

const MINUTE: Duration = Duration::from_secs(60);

fn deny() -> Review {
    Review::Deny { reason: Some("not on a Friday".into()) }
}

fn oldest() -> Page {
    Page { order: Order::Oldest, ..Page::default() }
}

fn ask_for(binding: Binding) -> Event {
    let asked = b"may it?"[..].into();
    Event::Ask { fingerprint: SAME, binding, asked, idempotent: false, keyless: false }
}

fn ask_without_a_key() -> Event {
    let asked = b"may it?"[..].into();
    Event::Ask { fingerprint: SAME, binding: POLICY, asked, idempotent: false, keyless: true }
}

async fn events(store: &dyn Store, id: &RecordId) -> Vec<String> {
    store.transitions(id).await.unwrap().into_iter().map(|row| row.event).collect()
}

#[test]
fn approval_is_used_once_and_the_start_names_its_reviewer() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        let question = asked(store, &id("a")).await;
        assert!(matches!(say(store, &id("a"), start()).await, EventReply::Waiting { .. }));
        let by_client = Event::Decide {
            question,
            by: "ada".into(),
            via: ApprovalChannel::Client,
            decision: Review::Approve,
        };
        assert_eq!(say(store, &id("a"), by_client).await, EventReply::Done);
        let EventReply::Approved { by, via: ApprovalChannel::Client, .. } =
            say(store, &id("a"), ask("x")).await
        else {
            panic!()
        };
        assert_eq!(by, "ada");

        let owner = Owner::random().unwrap();
        let start = |owner| Event::Start {
            fingerprint: SAME,
            owner,
            idempotent: false,
            approval: Some(POLICY),
        };
        let EventReply::Started { fence, attempt: 1 } = say(store, &id("a"), start(owner)).await
        else {
            panic!()
        };
        // The same start again is in flight. After a harmless end, no approval is left for another start.
        assert!(matches!(say(store, &id("a"), start(owner)).await, EventReply::InFlight { .. }));
        let holder = Holder { owner, fence };
        let why = RetryReason::NothingHappened;
        assert_eq!(say(store, &id("a"), Event::Discard { holder, why }).await, EventReply::Done);
        let other = start(Owner::random().unwrap());
        assert_eq!(say(store, &id("a"), other).await, EventReply::NotApproved);
        assert_eq!(say(store, &id("a"), start(owner)).await, EventReply::NotApproved);

        let story = store.transitions(&id("a")).await.unwrap();
        let said: Vec<_> =
            story.iter().map(|row| (row.event.as_str(), row.by.as_deref(), row.via)).collect();
        let client = Some(ApprovalChannel::Client);
        assert_eq!(
            said,
            [
                ("ask", None, None),
                ("decide", Some("ada"), client),
                ("start", Some("ada"), client),
                ("discard", None, None)
            ]
        );
    });
}

#[test]
fn concurrent_asks_share_one_request_and_one_start() {
    on_each(&LedgerLimits::default(), async |told| {
        let (store, id) = (&*told.store, &id("a"));
        let many = (0..50).map(|at| say(store, id, ask(&format!("caller {at}: may I?"))));
        let questions: HashSet<_> = join_all(many)
            .await
            .into_iter()
            .map(|answer| match answer {
                EventReply::Waiting { fence, asked, .. } => (fence, asked),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(questions.len(), 1);
        assert_eq!(events(store, id).await, ["ask"]);
        let waiting = store.waiting(Filter::default(), oldest()).await.unwrap().items;
        assert_eq!(waiting.len(), 1);

        let question = waiting[0].stored.question().unwrap();
        let decisions = (0..20).map(|_| say(store, id, decide(question, Review::Approve)));
        assert!(join_all(decisions).await.iter().all(|answer| *answer == EventReply::Done));
        let starts = join_all((0..50).map(|_| say(store, id, start()))).await;
        let started = starts.iter().filter(|answer| matches!(answer, EventReply::Started { .. }));
        assert_eq!(started.count(), 1);
        assert_eq!(events(store, id).await, ["ask", "decide", "start"]);
        assert!(store.waiting(Filter::default(), oldest()).await.unwrap().items.is_empty());
    });
}

#[test]
fn review_of_an_outdated_request_is_refused() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        let first = asked(store, &id("a")).await;
        // The tool has changed: the earlier request is void.
        let EventReply::Waiting { fence, .. } =
            say(store, &id("a"), ask_for(Binding([4; 32]))).await
        else {
            panic!()
        };
        assert!(fence > first.fence);
        let stale = say(store, &id("a"), decide(first, Review::Approve)).await;
        assert_eq!(stale, EventReply::Refused(EventError::AskedAnew));
        let guessed = RequestVersion { fence, ..first };
        let stale = say(store, &id("a"), decide(guessed, Review::Approve)).await;
        assert_eq!(stale, EventReply::Refused(EventError::AskedAnew));

        // A page that was left open, while the record was purged and its key used for another call.
        told.later(3 * LedgerLimits::default().retention);
        store.sweep(10).await.unwrap();
        assert_eq!(store.find(&id("a")).await.unwrap(), None);
        let stale = say(store, &id("a"), decide(first, Review::Approve)).await;
        assert_eq!(stale, EventReply::Refused(EventError::NotWaiting(StateKind::Absent)));
        let other = Event::Ask {
            fingerprint: Fingerprint([9; 32]),
            binding: POLICY,
            asked: b"something else?"[..].into(),
            idempotent: false,
            keyless: false,
        };
        let EventReply::Waiting { fence, .. } = say(store, &id("a"), other).await else { panic!() };
        assert_eq!(fence, first.fence);
        let stale = say(store, &id("a"), decide(first, Review::Approve)).await;
        assert_eq!(stale, EventReply::Refused(EventError::AskedAnew));
        assert_eq!(say(store, &id("a"), start()).await, EventReply::KeyReused);
    });
}

#[test]
fn approval_is_void_after_its_binding_changes() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        approved(store, &id("a")).await;
        let changed = Binding([4; 32]);
        let now = |approval| Event::Start {
            fingerprint: SAME,
            owner: Owner([1; 16]),
            idempotent: false,
            approval: Some(approval),
        };
        assert_eq!(say(store, &id("a"), now(changed)).await, EventReply::NotApproved);
        assert!(matches!(say(store, &id("a"), ask_for(changed)).await, EventReply::Waiting { .. }));
        // Back again: it stays void.
        assert_eq!(say(store, &id("a"), now(POLICY)).await, EventReply::NotApproved);
        assert!(matches!(say(store, &id("a"), ask_for(POLICY)).await, EventReply::Waiting { .. }));
        let story = store.transitions(&id("a")).await.unwrap();
        let way: Vec<_> = story.iter().map(|row| row.change.unwrap().to.as_str()).collect();
        assert_eq!(way, ["waiting", "approved", "waiting", "waiting"]);
    });
}

#[test]
fn second_review_names_the_first_reviewer() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        let question = approved(store, &id("a")).await;
        let refused = EventReply::Refused(EventError::Decided {
            by: "olga".into(),
            via: ApprovalChannel::Operator,
            stands: StateKind::Approved,
        });
        assert_eq!(say(store, &id("a"), decide(question, deny())).await, refused);
        assert!(matches!(say(store, &id("a"), start()).await, EventReply::Started { .. }));
        let refused = EventReply::Refused(EventError::NotWaiting(StateKind::Dispatched));
        assert_eq!(say(store, &id("a"), decide(question, Review::Approve)).await, refused);
    });
}

#[test]
fn denial_holds_until_it_expires() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        let question = asked(store, &id("a")).await;
        assert_eq!(say(store, &id("a"), decide(question, deny())).await, EventReply::Done);
        let claim = Event::Claim { fingerprint: SAME, owner: Owner([1; 16]), idempotent: false };
        let free = Event::Start {
            fingerprint: SAME,
            owner: Owner([1; 16]),
            idempotent: false,
            approval: None,
        };
        let again = [ask("please?"), ask_without_a_key(), start(), claim.clone(), free];
        for event in again {
            let EventReply::Denied { by, reason, .. } = say(store, &id("a"), event).await else {
                panic!()
            };
            assert_eq!((by.as_str(), reason.as_deref()), ("olga", Some("not on a Friday")));
        }
        let told_so = store.recall(&id("a"), SAME, false).await.unwrap();
        assert!(matches!(told_so, Some(EventReply::Denied { .. })));
        let denied = store.transitions(&id("a")).await.unwrap().pop().unwrap();
        assert_eq!(denied.why.as_deref(), Some("not on a Friday"));

        told.later(11 * MINUTE);
        assert_eq!(say(store, &id("a"), start()).await, EventReply::NotApproved);
        assert!(matches!(say(store, &id("a"), ask("please?")).await, EventReply::Waiting { .. }));
        assert_eq!(events(store, &id("a")).await, ["ask", "decide", "ask"]);
    });
}

#[test]
fn unanswered_request_and_unused_approval_expire() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        let question = asked(store, &id("a")).await;
        approved(store, &id("b")).await;
        told.later(16 * MINUTE);
        assert_eq!(say(store, &id("b"), start()).await, EventReply::NotApproved);
        told.later(24 * 60 * MINUTE);
        let late = say(store, &id("a"), decide(question, Review::Approve)).await;
        assert_eq!(late, EventReply::Refused(EventError::NotWaiting(StateKind::Open)));
        assert!(store.waiting(Filter::default(), oldest()).await.unwrap().items.is_empty());
        for key in ["a", "b"] {
            assert_eq!(events(store, &id(key)).await.last().unwrap(), "lapse");
            assert_eq!(store.recall(&id(key), SAME, false).await.unwrap(), None);
        }
    });
}

#[test]
fn call_without_a_key_needs_a_new_approval_for_every_run() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        let id = id("named-after-its-arguments");
        let mut last = Fence(0);
        for how in ["completed", "unknown", "abandoned", "expired", "harmless", "once more"] {
            let EventReply::Waiting { fence, .. } = say(store, &id, ask_without_a_key()).await
            else {
                panic!("{how}")
            };
            assert!(fence > last, "{how}");
            let question = RequestVersion { fence, fingerprint: SAME, binding: POLICY };
            assert_eq!(say(store, &id, decide(question, Review::Approve)).await, EventReply::Done);
            let approved = say(store, &id, ask_without_a_key()).await;
            assert!(matches!(approved, EventReply::Approved { .. }), "{how}");
            let owner = Owner::random().unwrap();
            let start = Event::Start {
                fingerprint: SAME,
                owner,
                idempotent: false,
                approval: Some(POLICY),
            };
            let EventReply::Started { fence, attempt: 1 } = say(store, &id, start.clone()).await
            else {
                panic!("{how}")
            };
            let running = say(store, &id, ask_without_a_key()).await;
            assert!(matches!(running, EventReply::InFlight { .. }), "{how}");
            let holder = Holder { owner, fence };
            let end = match how {
                "unknown" | "abandoned" => {
                    Event::Unknown { holder, reason: UnknownReason::Panicked }
                }
                "harmless" => Event::Discard { holder, why: RetryReason::NothingHappened },
                _ => Event::Complete { holder, outcome: outcome("done") },
            };
            assert_eq!(say(store, &id, end).await, EventReply::Done);
            match how {
                "abandoned" => {
                    let by = "olga".into();
                    let event = Event::Resolve { by, resolution: Resolution::Abandon };
                    assert_eq!(say(store, &id, event).await, EventReply::Done);
                }
                "expired" => told.later(25 * 60 * MINUTE),
                _ => {}
            }
            // The approval of the last call does not start the next.
            assert!(!matches!(say(store, &id, start).await, EventReply::Started { .. }), "{how}");
            last = fence;
        }
    });
}

#[test]
fn denial_keeps_an_unknown_outcome_unknown() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        let owner = Owner([1; 16]);
        let first = Event::Start { fingerprint: SAME, owner, idempotent: true, approval: None };
        let EventReply::Started { fence, .. } = say(store, &id("a"), first).await else { panic!() };
        let holder = Holder { owner, fence };
        say(store, &id("a"), Event::Unknown { holder, reason: UnknownReason::Stopped }).await;
        let again = |idempotent| Event::Ask {
            fingerprint: SAME,
            binding: POLICY,
            asked: b"once more?"[..].into(),
            idempotent,
            keyless: false,
        };
        // A call that is not safe to retry makes no request.
        let answer = say(store, &id("a"), again(false)).await;
        assert!(matches!(answer, EventReply::OutcomeUnknown { .. }));
        let EventReply::Waiting { fence, .. } = say(store, &id("a"), again(true)).await else {
            panic!()
        };
        let answer = say(store, &id("a"), again(false)).await;
        assert!(matches!(answer, EventReply::OutcomeUnknown { .. }));
        let question = RequestVersion { fence, fingerprint: SAME, binding: POLICY };
        say(store, &id("a"), decide(question, deny())).await;
        told.later(11 * MINUTE);
        let kind = store.find(&id("a")).await.unwrap().unwrap().seen.unwrap().state.kind();
        assert_eq!(kind, StateKind::Indeterminate);
        let unknown = Filter { state: Some(StateKind::Indeterminate), ..Filter::default() };
        assert_eq!(store.records(unknown, Page::default()).await.unwrap().items.len(), 1);

        // Approved as safe to retry, it does not start otherwise.
        let EventReply::Waiting { fence, .. } = say(store, &id("a"), again(true)).await else {
            panic!()
        };
        let question = RequestVersion { fence, ..question };
        say(store, &id("a"), decide(question, Review::Approve)).await;
        let answer = say(store, &id("a"), start()).await;
        assert!(matches!(answer, EventReply::OutcomeUnknown { .. }));
        let harmless =
            Event::Start { fingerprint: SAME, owner, idempotent: true, approval: Some(POLICY) };
        let answer = say(store, &id("a"), harmless).await;
        assert!(matches!(answer, EventReply::Started { attempt: 2, .. }));
    });
}

#[test]
fn call_that_needs_no_approval_starts_despite_a_pending_request() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        let question = asked(store, &id("a")).await;
        approved(store, &id("b")).await;
        let told_so = store.recall(&id("a"), SAME, false).await.unwrap();
        assert!(matches!(told_so, Some(EventReply::Waiting { .. })));
        assert_eq!(store.recall(&id("b"), SAME, false).await.unwrap(), None);
        for key in ["a", "b"] {
            let free = Event::Start {
                fingerprint: SAME,
                owner: Owner([1; 16]),
                idempotent: false,
                approval: None,
            };
            let started = say(store, &id(key), free).await;
            assert!(matches!(started, EventReply::Started { attempt: 1, .. }));
            // Its row names no reviewer.
            assert_eq!(store.transitions(&id(key)).await.unwrap().last().unwrap().by, None);
        }
        let late = say(store, &id("a"), decide(question, Review::Approve)).await;
        assert_eq!(late, EventReply::Refused(EventError::NotWaiting(StateKind::Dispatched)));
    });
}

#[test]
fn request_above_the_size_limit_is_refused() {
    let quotas = Quotas { bytes: 1_500, ..Quotas::default() };
    let rules = LedgerLimits { max_outcome: 1_000, quotas, ..LedgerLimits::default() };
    on_each(&rules, async |told| {
        let store = &*told.store;
        let too_large = |len, most| EventReply::Refused(EventError::TooLarge { len, most });
        let answer = say(store, &id("a"), ask(&"x".repeat(1_001))).await;
        assert_eq!(answer, too_large(1_001, 1_000));
        assert_eq!(store.find(&id("a")).await.unwrap(), None);
        assert!(matches!(
            say(store, &id("a"), ask(&"x".repeat(1_000))).await,
            EventReply::Waiting { .. }
        ));
        // The rest of the principal's quota.
        let answer = say(store, &id("b"), ask(&"x".repeat(501))).await;
        assert_eq!(answer, too_large(501, 500));
        assert!(matches!(
            say(store, &id("b"), ask(&"x".repeat(500))).await,
            EventReply::Waiting { .. }
        ));
    });
}

#[test]
fn pending_requests_per_principal_are_limited() {
    let quotas = Quotas { waiting: 10, ..Quotas::default() };
    on_each(&LedgerLimits { quotas, ..LedgerLimits::default() }, async |told| {
        let store = &*told.store;
        let many = (0..30).map(|at| {
            let id = id(&format!("key-{at}"));
            async move { store.apply(&id, ask("may it?"), AuditContext::default()).await }
        });
        let answers = join_all(many).await;
        let refused = Err(StoreError::Quota(Quota::Waiting { most: 10 }));
        for (at, answer) in answers.iter().enumerate() {
            let is_there = store.find(&id(&format!("key-{at}"))).await.unwrap().is_some();
            assert_eq!(is_there, *answer != refused, "{answer:?}");
        }
        assert_eq!(answers.iter().filter(|answer| **answer == refused).count(), 20);

        // A repeated request is answered, other principals have their own quota, and a review or expiry frees it.
        let waiting = store.waiting(Filter::default(), oldest()).await.unwrap().items;
        assert_eq!(waiting.len(), 10);
        let first = &waiting[0];
        assert!(matches!(say(store, &first.id, ask("again?")).await, EventReply::Waiting { .. }));
        assert!(matches!(
            say(store, &first.id, ask_for(Binding([4; 32]))).await,
            EventReply::Waiting { .. }
        ));
        let mut theirs = id("theirs");
        theirs.scope.principal = "bob".into();
        asked(store, &theirs).await;
        let try_again = async || {
            let new = id("one-more");
            store.apply(&new, ask("may it?"), AuditContext::default()).await
        };
        assert_eq!(try_again().await, refused);
        let question = waiting[1].stored.question().unwrap();
        say(store, &waiting[1].id, decide(question, deny())).await;
        assert!(matches!(try_again().await, Ok(EventReply::Waiting { .. })));
        told.later(25 * 60 * MINUTE);
        for at in 100..110 {
            asked(store, &id(&format!("key-{at}"))).await;
        }
    });
}

#[test]
fn pending_requests_are_listed_by_request_time() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        for key in ["a", "b", "c", "d", "e"] {
            asked(store, &id(key)).await;
            told.later(MINUTE);
        }
        // Approved, requested again, and without a request.
        approved(store, &id("f")).await;
        say(store, &id("b"), ask_for(Binding([4; 32]))).await;
        common::call(store, &id("g"), "x").await;
        let mut theirs = id("h");
        theirs.scope.principal = "bob".into();
        asked(store, &theirs).await;

        let mut page = Page { most: 2, order: Order::Oldest, ..Page::default() };
        let mut keys = Vec::new();
        loop {
            let part = store.waiting(Filter::default(), page).await.unwrap();
            keys.extend(part.items.iter().map(|entry| entry.id.key.to_string()));
            page.from = part.next;
            if part.next.is_none() {
                break;
            }
        }
        assert_eq!(keys, ["a", "c", "d", "e", "b", "h"]);
        let newest = store.waiting(Filter::default(), Page::default()).await.unwrap().items;
        assert_eq!(newest[0].id, theirs);
        let of_bob = Filter { principal: Some("bob".into()), ..Filter::default() };
        assert_eq!(store.waiting(of_bob, oldest()).await.unwrap().items.len(), 1);
    });
}

fn keys(turns: &PendingApprovals) -> Vec<&str> {
    turns.chosen.iter().map(|waits| waits.id.key.as_str()).collect()
}

#[test]
fn pending_approvals_take_turns_between_principals() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        assert_eq!(store.pending_approvals(5).await.unwrap(), PendingApprovals::default());
        let of = |who: &str, key: &str| {
            let mut id = id(key);
            id.scope.principal = who.into();
            id
        };
        for key in ["a1", "a2", "a3", "a4"] {
            asked(store, &of("ada", key)).await;
        }
        told.later(MINUTE);
        // Under another tool it is the same caller.
        let mut elsewhere = of("ada", "a5");
        elsewhere.scope.tool = "delete_invoice".into();
        asked(store, &elsewhere).await;
        for key in ["b1", "b2"] {
            asked(store, &of("bob", key)).await;
        }
        let question = asked(store, &of("eve", "e1")).await;

        let all = store.pending_approvals(100).await.unwrap();
        assert_eq!(keys(&all), ["a1", "a2", "a3", "a4", "a5", "b1", "b2", "e1"]);
        let turns = store.pending_approvals(5).await.unwrap();
        assert_eq!((keys(&turns), turns.in_all), (vec!["a1", "a2", "b1", "b2", "e1"], 8));
        // If a turn does not fit, the earliest requests come first.
        let turns = store.pending_approvals(2).await.unwrap();
        assert_eq!((keys(&turns), turns.in_all), (vec!["a1", "b1"], 8));
        let last = &all.chosen[7];
        assert_eq!((&last.id, last.fence), (&of("eve", "e1"), question.fence));
        assert_eq!(last.until, told.now().after(LedgerLimits::default().approval_wait));

        // Denied, requested again, and expired.
        say(store, &of("eve", "e1"), decide(question, deny())).await;
        say(store, &of("bob", "b1"), ask_for(Binding([4; 32]))).await;
        let turns = store.pending_approvals(3).await.unwrap();
        assert_eq!((keys(&turns), turns.in_all), (vec!["a1", "a2", "b2"], 7));
        let anew = store.pending_approvals(100).await.unwrap().chosen.pop().unwrap();
        assert_eq!(anew.id, of("bob", "b1"));
        assert_ne!(anew.fence, all.chosen[5].fence);
        told.later(LedgerLimits::default().approval_wait);
        let turns = store.pending_approvals(100).await.unwrap();
        assert_eq!((keys(&turns), turns.in_all), (vec!["a5", "b2", "b1"], 3));
    });
}

#[test]
fn review_wakes_the_waiting_caller() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        let question = asked(store, &id("a")).await;
        let seen = RecordVersion { fence: question.fence, state: StateKind::Waiting };
        let watched = store.watch(&id("a"), seen);
        let end = async {
            tokio::task::yield_now().await;
            say(store, &id("a"), decide(question, Review::Approve)).await;
        };
        let both = async { tokio::join!(watched, end) };
        tokio::time::timeout(Duration::from_secs(5), both).await.unwrap().0.unwrap();
        // And by time alone.
        let seen = RecordVersion { state: StateKind::Approved, ..seen };
        let watched = store.watch(&id("a"), seen);
        told.later(16 * MINUTE);
        tokio::time::timeout(Duration::from_secs(5), watched).await.unwrap().unwrap();
    });
}
