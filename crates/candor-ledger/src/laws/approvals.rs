//! Calls that need an approval, and the reviewers who give it.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};

use super::case::{
    Bench, POLICY, SAME, approved, ask, asked, call, decide, id, in_time, outcome, say, seen, start,
};
use super::ensure::{Checked, Required};
use crate::{
    ApprovalChannel, AuditContext, Binding, Event, EventError, EventReply, Fence, Filter,
    Fingerprint, Holder, LedgerLimits, Order, Owner, Page, PendingApprovals, Quota, Quotas,
    RecordId, RecordVersion, RequestVersion, Resolution, RetryReason, Review, StateKind, Store,
    StoreError, UnknownReason,
};

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

async fn events(store: &dyn Store, id: &RecordId) -> Checked<Vec<String>> {
    Ok(store.transitions(id).await?.into_iter().map(|row| row.event).collect())
}

pub(super) async fn approval_is_used_once_and_the_start_names_its_reviewer(
    bench: &Bench<'_>,
) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let question = asked(store, &id("a")).await?;
    ensure_matches!(say(store, &id("a"), start()?).await?, EventReply::Waiting { .. });
    let by_client = Event::Decide {
        question,
        by: "ada".into(),
        via: ApprovalChannel::Client,
        decision: Review::Approve,
    };
    ensure_eq!(say(store, &id("a"), by_client).await?, EventReply::Done);
    obtain!(
        EventReply::Approved { by, via: ApprovalChannel::Client, .. } =
            say(store, &id("a"), ask("x")).await?
    );
    ensure_eq!(by, "ada");

    let owner = Owner::random()?;
    let start = |owner| Event::Start {
        fingerprint: SAME,
        owner,
        idempotent: false,
        approval: Some(POLICY),
    };
    obtain!(EventReply::Started { fence, attempt: 1 } = say(store, &id("a"), start(owner)).await?);
    // The same start again is in flight. After a harmless end, no approval is left for another start.
    ensure_matches!(say(store, &id("a"), start(owner)).await?, EventReply::InFlight { .. });
    let holder = Holder { owner, fence };
    let why = RetryReason::NothingHappened;
    ensure_eq!(say(store, &id("a"), Event::Discard { holder, why }).await?, EventReply::Done);
    let other = start(Owner::random()?);
    ensure_eq!(say(store, &id("a"), other).await?, EventReply::NotApproved);
    ensure_eq!(say(store, &id("a"), start(owner)).await?, EventReply::NotApproved);

    let story = store.transitions(&id("a")).await?;
    let said: Vec<_> =
        story.iter().map(|row| (row.event.as_str(), row.by.as_deref(), row.via)).collect();
    let client = Some(ApprovalChannel::Client);
    ensure_eq!(
        said,
        [
            ("ask", None, None),
            ("decide", Some("ada"), client),
            ("start", Some("ada"), client),
            ("discard", None, None)
        ]
    );
    Ok(())
}

pub(super) async fn concurrent_asks_share_one_request_and_one_start(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let (store, id) = (&*case.store, &id("a"));
    let many = (0..50).map(|at| say(store, id, ask(&format!("caller {at}: may I?"))));
    let mut questions = HashSet::new();
    for answer in try_join_all(many).await? {
        obtain!(EventReply::Waiting { fence, asked, .. } = answer);
        questions.insert((fence, asked));
    }
    ensure_eq!(questions.len(), 1);
    ensure_eq!(events(store, id).await?, ["ask"]);
    let waiting = store.waiting(Filter::default(), oldest()).await?.items;
    ensure_eq!(waiting.len(), 1);

    let question = waiting[0].stored.question().required("request in the record")?;
    let decisions = (0..20).map(|_| say(store, id, decide(question, Review::Approve)));
    ensure!(try_join_all(decisions).await?.iter().all(|answer| *answer == EventReply::Done));
    let mut starts = Vec::new();
    for _ in 0..50 {
        starts.push(say(store, id, start()?));
    }
    let starts = try_join_all(starts).await?;
    let started = starts.iter().filter(|answer| matches!(answer, EventReply::Started { .. }));
    ensure_eq!(started.count(), 1);
    ensure_eq!(events(store, id).await?, ["ask", "decide", "start"]);
    ensure!(store.waiting(Filter::default(), oldest()).await?.items.is_empty());
    Ok(())
}

pub(super) async fn review_of_an_outdated_request_is_refused(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let first = asked(store, &id("a")).await?;
    // The tool has changed: the earlier request is void.
    obtain!(
        EventReply::Waiting { fence, .. } = say(store, &id("a"), ask_for(Binding([4; 32]))).await?
    );
    ensure!(fence > first.fence);
    let stale = say(store, &id("a"), decide(first, Review::Approve)).await?;
    ensure_eq!(stale, EventReply::Refused(EventError::AskedAnew));
    let guessed = RequestVersion { fence, ..first };
    let stale = say(store, &id("a"), decide(guessed, Review::Approve)).await?;
    ensure_eq!(stale, EventReply::Refused(EventError::AskedAnew));

    // A page that was left open, while the record was purged and its key used for another call.
    case.later(3 * LedgerLimits::default().retention);
    store.sweep(10).await?;
    ensure_eq!(store.find(&id("a")).await?, None);
    let stale = say(store, &id("a"), decide(first, Review::Approve)).await?;
    ensure_eq!(stale, EventReply::Refused(EventError::NotWaiting(StateKind::Absent)));
    let other = Event::Ask {
        fingerprint: Fingerprint([9; 32]),
        binding: POLICY,
        asked: b"something else?"[..].into(),
        idempotent: false,
        keyless: false,
    };
    obtain!(EventReply::Waiting { fence, .. } = say(store, &id("a"), other).await?);
    ensure_eq!(fence, first.fence);
    let stale = say(store, &id("a"), decide(first, Review::Approve)).await?;
    ensure_eq!(stale, EventReply::Refused(EventError::AskedAnew));
    ensure_eq!(say(store, &id("a"), start()?).await?, EventReply::KeyReused);
    Ok(())
}

pub(super) async fn approval_is_void_after_its_binding_changes(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    approved(store, &id("a")).await?;
    let changed = Binding([4; 32]);
    let now = |approval| Event::Start {
        fingerprint: SAME,
        owner: Owner([1; 16]),
        idempotent: false,
        approval: Some(approval),
    };
    ensure_eq!(say(store, &id("a"), now(changed)).await?, EventReply::NotApproved);
    ensure_matches!(say(store, &id("a"), ask_for(changed)).await?, EventReply::Waiting { .. });
    // Back again: it stays void.
    ensure_eq!(say(store, &id("a"), now(POLICY)).await?, EventReply::NotApproved);
    ensure_matches!(say(store, &id("a"), ask_for(POLICY)).await?, EventReply::Waiting { .. });
    let story = store.transitions(&id("a")).await?;
    let way: Vec<_> = story.iter().filter_map(|row| Some(row.change?.to.as_str())).collect();
    ensure_eq!(way, ["waiting", "approved", "waiting", "waiting"]);
    Ok(())
}

pub(super) async fn second_review_names_the_first_reviewer(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let question = approved(store, &id("a")).await?;
    let refused = EventReply::Refused(EventError::Decided {
        by: "olga".into(),
        via: ApprovalChannel::Operator,
        stands: StateKind::Approved,
    });
    ensure_eq!(say(store, &id("a"), decide(question, deny())).await?, refused);
    ensure_matches!(say(store, &id("a"), start()?).await?, EventReply::Started { .. });
    let refused = EventReply::Refused(EventError::NotWaiting(StateKind::Dispatched));
    ensure_eq!(say(store, &id("a"), decide(question, Review::Approve)).await?, refused);
    Ok(())
}

pub(super) async fn denial_holds_until_it_expires(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let question = asked(store, &id("a")).await?;
    ensure_eq!(say(store, &id("a"), decide(question, deny())).await?, EventReply::Done);
    let claim = Event::Claim { fingerprint: SAME, owner: Owner([1; 16]), idempotent: false };
    let free = Event::Start {
        fingerprint: SAME,
        owner: Owner([1; 16]),
        idempotent: false,
        approval: None,
    };
    let again = [ask("please?"), ask_without_a_key(), start()?, claim.clone(), free];
    for event in again {
        obtain!(EventReply::Denied { by, reason, .. } = say(store, &id("a"), event).await?);
        ensure_eq!((by.as_str(), reason.as_deref()), ("olga", Some("not on a Friday")));
    }
    let recalled = store.recall(&id("a"), SAME, false).await?;
    ensure_matches!(recalled, Some(EventReply::Denied { .. }));
    let denied = store.transitions(&id("a")).await?.pop().required("row of the denial")?;
    ensure_eq!(denied.why.as_deref(), Some("not on a Friday"));

    case.later(11 * MINUTE);
    ensure_eq!(say(store, &id("a"), start()?).await?, EventReply::NotApproved);
    ensure_matches!(say(store, &id("a"), ask("please?")).await?, EventReply::Waiting { .. });
    ensure_eq!(events(store, &id("a")).await?, ["ask", "decide", "ask"]);
    Ok(())
}

pub(super) async fn unanswered_request_and_unused_approval_expire(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let question = asked(store, &id("a")).await?;
    approved(store, &id("b")).await?;
    case.later(16 * MINUTE);
    ensure_eq!(say(store, &id("b"), start()?).await?, EventReply::NotApproved);
    case.later(24 * 60 * MINUTE);
    let late = say(store, &id("a"), decide(question, Review::Approve)).await?;
    ensure_eq!(late, EventReply::Refused(EventError::NotWaiting(StateKind::Open)));
    ensure!(store.waiting(Filter::default(), oldest()).await?.items.is_empty());
    for key in ["a", "b"] {
        ensure_eq!(events(store, &id(key)).await?.last().map(String::as_str), Some("lapse"));
        ensure_eq!(store.recall(&id(key), SAME, false).await?, None);
    }
    Ok(())
}

pub(super) async fn call_without_a_key_needs_a_new_approval_for_every_run(
    bench: &Bench<'_>,
) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let id = id("named-after-its-arguments");
    let mut last = Fence(0);
    for how in ["completed", "unknown", "abandoned", "expired", "harmless", "once more"] {
        obtain!(EventReply::Waiting { fence, .. } = say(store, &id, ask_without_a_key()).await?);
        ensure!(fence > last, "{how}");
        let question = RequestVersion { fence, fingerprint: SAME, binding: POLICY };
        ensure_eq!(say(store, &id, decide(question, Review::Approve)).await?, EventReply::Done);
        let approved = say(store, &id, ask_without_a_key()).await?;
        ensure_matches!(approved, EventReply::Approved { .. });
        let owner = Owner::random()?;
        let start =
            Event::Start { fingerprint: SAME, owner, idempotent: false, approval: Some(POLICY) };
        obtain!(EventReply::Started { fence, attempt: 1 } = say(store, &id, start.clone()).await?);
        let running = say(store, &id, ask_without_a_key()).await?;
        ensure_matches!(running, EventReply::InFlight { .. });
        let holder = Holder { owner, fence };
        let end = match how {
            "unknown" | "abandoned" => Event::Unknown { holder, reason: UnknownReason::Panicked },
            "harmless" => Event::Discard { holder, why: RetryReason::NothingHappened },
            _ => Event::Complete { holder, outcome: outcome("done") },
        };
        ensure_eq!(say(store, &id, end).await?, EventReply::Done);
        match how {
            "abandoned" => {
                let by = "olga".into();
                let event = Event::Resolve { by, resolution: Resolution::Abandon };
                ensure_eq!(say(store, &id, event).await?, EventReply::Done);
            }
            "expired" => case.later(25 * 60 * MINUTE),
            _ => {}
        }
        // The approval of the last call does not start the next.
        ensure!(!matches!(say(store, &id, start).await?, EventReply::Started { .. }), "{how}");
        last = fence;
    }
    Ok(())
}

pub(super) async fn denial_keeps_an_unknown_outcome_unknown(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let owner = Owner([1; 16]);
    let first = Event::Start { fingerprint: SAME, owner, idempotent: true, approval: None };
    obtain!(EventReply::Started { fence, .. } = say(store, &id("a"), first).await?);
    let holder = Holder { owner, fence };
    say(store, &id("a"), Event::Unknown { holder, reason: UnknownReason::Stopped }).await?;
    let again = |idempotent| Event::Ask {
        fingerprint: SAME,
        binding: POLICY,
        asked: b"once more?"[..].into(),
        idempotent,
        keyless: false,
    };
    // A call that is not safe to retry makes no request.
    let answer = say(store, &id("a"), again(false)).await?;
    ensure_matches!(answer, EventReply::OutcomeUnknown { .. });
    obtain!(EventReply::Waiting { fence, .. } = say(store, &id("a"), again(true)).await?);
    let answer = say(store, &id("a"), again(false)).await?;
    ensure_matches!(answer, EventReply::OutcomeUnknown { .. });
    let question = RequestVersion { fence, fingerprint: SAME, binding: POLICY };
    say(store, &id("a"), decide(question, deny())).await?;
    case.later(11 * MINUTE);
    let kind = seen(store, &id("a")).await?.required("record")?.state.kind();
    ensure_eq!(kind, StateKind::Indeterminate);
    let unknown = Filter { state: Some(StateKind::Indeterminate), ..Filter::default() };
    ensure_eq!(store.records(unknown, Page::default()).await?.items.len(), 1);

    // Approved as safe to retry, it does not start otherwise.
    obtain!(EventReply::Waiting { fence, .. } = say(store, &id("a"), again(true)).await?);
    let question = RequestVersion { fence, ..question };
    say(store, &id("a"), decide(question, Review::Approve)).await?;
    let answer = say(store, &id("a"), start()?).await?;
    ensure_matches!(answer, EventReply::OutcomeUnknown { .. });
    let harmless =
        Event::Start { fingerprint: SAME, owner, idempotent: true, approval: Some(POLICY) };
    let answer = say(store, &id("a"), harmless).await?;
    ensure_matches!(answer, EventReply::Started { attempt: 2, .. });
    Ok(())
}

pub(super) async fn call_that_needs_no_approval_starts_despite_a_pending_request(
    bench: &Bench<'_>,
) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let question = asked(store, &id("a")).await?;
    approved(store, &id("b")).await?;
    let recalled = store.recall(&id("a"), SAME, false).await?;
    ensure_matches!(recalled, Some(EventReply::Waiting { .. }));
    ensure_eq!(store.recall(&id("b"), SAME, false).await?, None);
    for key in ["a", "b"] {
        let free = Event::Start {
            fingerprint: SAME,
            owner: Owner([1; 16]),
            idempotent: false,
            approval: None,
        };
        let started = say(store, &id(key), free).await?;
        ensure_matches!(started, EventReply::Started { attempt: 1, .. });
        // Its row names no reviewer.
        ensure_eq!(store.transitions(&id(key)).await?.pop().required("row")?.by, None);
    }
    let late = say(store, &id("a"), decide(question, Review::Approve)).await?;
    ensure_eq!(late, EventReply::Refused(EventError::NotWaiting(StateKind::Dispatched)));
    Ok(())
}

pub(super) async fn request_above_the_size_limit_is_refused(bench: &Bench<'_>) -> Checked {
    let quotas = Quotas { bytes: 1_500, ..Quotas::default() };
    let rules = LedgerLimits { max_outcome: 1_000, quotas, ..LedgerLimits::default() };
    let case = &bench.open(rules.clone()).await?;
    let store = &*case.store;
    let too_large = |len, most| EventReply::Refused(EventError::TooLarge { len, most });
    let answer = say(store, &id("a"), ask(&"x".repeat(1_001))).await?;
    ensure_eq!(answer, too_large(1_001, 1_000));
    ensure_eq!(store.find(&id("a")).await?, None);
    ensure_matches!(
        say(store, &id("a"), ask(&"x".repeat(1_000))).await?,
        EventReply::Waiting { .. }
    );
    // The rest of the principal's quota.
    let answer = say(store, &id("b"), ask(&"x".repeat(501))).await?;
    ensure_eq!(answer, too_large(501, 500));
    ensure_matches!(say(store, &id("b"), ask(&"x".repeat(500))).await?, EventReply::Waiting { .. });
    Ok(())
}

pub(super) async fn pending_requests_per_principal_are_limited(bench: &Bench<'_>) -> Checked {
    let quotas = Quotas { waiting: 10, ..Quotas::default() };
    let case = &bench.open(LedgerLimits { quotas, ..LedgerLimits::default() }.clone()).await?;
    let store = &*case.store;
    let many = (0..30).map(|at| {
        let id = id(&format!("key-{at}"));
        async move { store.apply(&id, ask("may it?"), AuditContext::default()).await }
    });
    let answers = join_all(many).await;
    let refused = Err(StoreError::Quota(Quota::Waiting { most: 10 }));
    for (at, answer) in answers.iter().enumerate() {
        let is_there = store.find(&id(&format!("key-{at}"))).await?.is_some();
        ensure_eq!(is_there, *answer != refused, "{answer:?}");
    }
    ensure_eq!(answers.iter().filter(|answer| **answer == refused).count(), 20);

    // A repeated request is answered, other principals have their own quota, and a review or expiry frees it.
    let waiting = store.waiting(Filter::default(), oldest()).await?.items;
    ensure_eq!(waiting.len(), 10);
    let first = &waiting[0];
    ensure_matches!(say(store, &first.id, ask("again?")).await?, EventReply::Waiting { .. });
    ensure_matches!(
        say(store, &first.id, ask_for(Binding([4; 32]))).await?,
        EventReply::Waiting { .. }
    );
    let mut theirs = id("theirs");
    theirs.scope.principal = "bob".into();
    asked(store, &theirs).await?;
    let try_again = async || {
        let new = id("one-more");
        store.apply(&new, ask("may it?"), AuditContext::default()).await
    };
    ensure_eq!(try_again().await, refused);
    let question = waiting[1].stored.question().required("request in the record")?;
    say(store, &waiting[1].id, decide(question, deny())).await?;
    ensure_matches!(try_again().await, Ok(EventReply::Waiting { .. }));
    case.later(25 * 60 * MINUTE);
    for at in 100..110 {
        asked(store, &id(&format!("key-{at}"))).await?;
    }
    Ok(())
}

pub(super) async fn pending_requests_are_listed_by_request_time(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    for key in ["a", "b", "c", "d", "e"] {
        asked(store, &id(key)).await?;
        case.later(MINUTE);
    }
    // Approved, requested again, and without a request.
    approved(store, &id("f")).await?;
    say(store, &id("b"), ask_for(Binding([4; 32]))).await?;
    call(store, &id("g"), "x").await?;
    let mut theirs = id("h");
    theirs.scope.principal = "bob".into();
    asked(store, &theirs).await?;

    let mut page = Page { most: 2, order: Order::Oldest, ..Page::default() };
    let mut keys = Vec::new();
    loop {
        let part = store.waiting(Filter::default(), page).await?;
        keys.extend(part.items.iter().map(|entry| entry.id.key.to_string()));
        page.from = part.next;
        if part.next.is_none() {
            break;
        }
    }
    ensure_eq!(keys, ["a", "c", "d", "e", "b", "h"]);
    let newest = store.waiting(Filter::default(), Page::default()).await?.items;
    ensure_eq!(newest[0].id, theirs);
    let of_bob = Filter { principal: Some("bob".into()), ..Filter::default() };
    ensure_eq!(store.waiting(of_bob, oldest()).await?.items.len(), 1);
    Ok(())
}

fn keys(turns: &PendingApprovals) -> Vec<&str> {
    turns.chosen.iter().map(|waits| waits.id.key.as_str()).collect()
}

pub(super) async fn pending_approvals_take_turns_between_principals(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    ensure_eq!(store.pending_approvals(5).await?, PendingApprovals::default());
    let of = |who: &str, key: &str| {
        let mut id = id(key);
        id.scope.principal = who.into();
        id
    };
    for key in ["a1", "a2", "a3", "a4"] {
        asked(store, &of("ada", key)).await?;
    }
    case.later(MINUTE);
    // Under another tool it is the same caller.
    let mut elsewhere = of("ada", "a5");
    elsewhere.scope.tool = "delete_invoice".into();
    asked(store, &elsewhere).await?;
    for key in ["b1", "b2"] {
        asked(store, &of("bob", key)).await?;
    }
    let question = asked(store, &of("eve", "e1")).await?;

    let all = store.pending_approvals(100).await?;
    ensure_eq!(keys(&all), ["a1", "a2", "a3", "a4", "a5", "b1", "b2", "e1"]);
    let turns = store.pending_approvals(5).await?;
    ensure_eq!((keys(&turns), turns.in_all), (vec!["a1", "a2", "b1", "b2", "e1"], 8));
    // If a turn does not fit, the earliest requests come first.
    let turns = store.pending_approvals(2).await?;
    ensure_eq!((keys(&turns), turns.in_all), (vec!["a1", "b1"], 8));
    let last = &all.chosen[7];
    ensure_eq!((&last.id, last.fence), (&of("eve", "e1"), question.fence));
    ensure_eq!(last.until, case.now().after(LedgerLimits::default().approval_wait));

    // Denied, requested again, and expired.
    say(store, &of("eve", "e1"), decide(question, deny())).await?;
    say(store, &of("bob", "b1"), ask_for(Binding([4; 32]))).await?;
    let turns = store.pending_approvals(3).await?;
    ensure_eq!((keys(&turns), turns.in_all), (vec!["a1", "a2", "b2"], 7));
    let anew = store.pending_approvals(100).await?.chosen.pop().required("pending request")?;
    ensure_eq!(anew.id, of("bob", "b1"));
    ensure_ne!(anew.fence, all.chosen[5].fence);
    case.later(LedgerLimits::default().approval_wait);
    let turns = store.pending_approvals(100).await?;
    ensure_eq!((keys(&turns), turns.in_all), (vec!["a5", "b2", "b1"], 3));
    Ok(())
}

pub(super) async fn review_wakes_the_waiting_caller(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let question = asked(store, &id("a")).await?;
    let seen = RecordVersion { fence: question.fence, state: StateKind::Waiting };
    let watched = store.watch(&id("a"), seen);
    let end = async {
        tokio::task::yield_now().await;
        say(store, &id("a"), decide(question, Review::Approve)).await
    };
    let both = async { tokio::join!(watched, end) };
    let (watched, decided) = in_time("the watch of a reviewed request", both).await?;
    watched?;
    decided?;
    // And by time alone.
    let seen = RecordVersion { state: StateKind::Approved, ..seen };
    let watched = store.watch(&id("a"), seen);
    case.later(16 * MINUTE);
    in_time("the watch of an expired approval", watched).await??;
    Ok(())
}
