//! A ledger with a record in every state, grants and audit rows.
//!
//! A store whose tables change keeps old ledgers as fixtures. Before a change, fill a ledger with [`fill`] and store its file or
//! dump. After the change, open it and [`check`] it: all of it must be there, and each record must take new events.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::Violation;
use super::case::{POLICY, SAME, id, say};
use super::ensure::{Checked, Required};
use crate::{
    ApprovalChannel, AuditContext, AuditRow, Binding, Body, CallError, CallNote, Clock, Event,
    EventReply, Fence, Filter, Holder, LedgerLimits, Moment, NewGrant, Options, Order, OutcomeKind,
    Owner, Page, RecordState, RequestVersion, Resolution, RetryReason, Review, Round, Scope,
    StartReason, StateKind, Store, StoredResult, UnknownReason,
};

/// When the records of the fixture were written.
const BEGUN: i64 = 1_700_000_000_000;
const DAY: i64 = 24 * 60 * 60 * 1000;
const NOW: i64 = BEGUN + DAY + 1;

/// Returns the options under which a fixture is filled and checked, and their clock.
#[must_use]
pub fn options() -> (Options, Arc<AtomicI64>) {
    let clock = Arc::new(AtomicI64::new(BEGUN));
    let time = Arc::clone(&clock);
    let given = Clock::Given(Arc::new(move || time.load(Ordering::SeqCst)));
    let rules = LedgerLimits { max_outcome: 64, ..LedgerLimits::default() };
    (Options { rules, clock: given, max_bytes: None }, clock)
}

fn owner(number: u8) -> Owner {
    Owner([number; 16])
}

fn holder(number: u8, fence: u64) -> Holder {
    Holder { owner: owner(number), fence: Fence(fence) }
}

fn start(number: u8, idempotent: bool, approval: Option<Binding>) -> Event {
    Event::Start { fingerprint: SAME, owner: owner(number), idempotent, approval }
}

fn ask() -> Event {
    let asked = b"may it?"[..].into();
    Event::Ask { fingerprint: SAME, binding: POLICY, asked, idempotent: false, keyless: false }
}

fn question() -> RequestVersion {
    RequestVersion { fence: Fence(1), fingerprint: SAME, binding: POLICY }
}

fn decide(by: &str, via: ApprovalChannel, decision: Review) -> Event {
    Event::Decide { question: question(), by: by.into(), via, decision }
}

fn unknown(number: u8) -> Event {
    Event::Unknown { holder: holder(number, 1), reason: UnknownReason::Panicked }
}

fn resolve(resolution: Resolution) -> Event {
    Event::Resolve { by: "olga".into(), resolution }
}

fn complete(number: u8, fence: u64, kind: OutcomeKind, text: &str) -> Event {
    Event::Complete {
        holder: holder(number, fence),
        outcome: StoredResult::new(kind, text.as_bytes()),
    }
}

fn conflict() -> CallError {
    CallError { code: "conflict".into(), message: "Invoice 17 is paid already.".into() }
}

fn arguments() -> Option<Arc<[u8]>> {
    Some(br#"{"n":17}"#[..].into())
}

fn context() -> AuditContext {
    AuditContext {
        shape: Some("{n: number}".into()),
        digest: Some([3; 32]),
        hints: Some("adds".into()),
        duration: Some(Duration::from_micros(1_250)),
        note: Some("over HTTP".into()),
        error: Some(conflict()),
        arguments: arguments(),
    }
}

fn grant(pattern: &str) -> NewGrant {
    NewGrant {
        scope: id("x").scope,
        binding: POLICY,
        pattern: pattern.into(),
        by: "olga".into(),
        lasts: Duration::from_secs(15 * 60),
    }
}

fn note() -> CallNote {
    CallNote {
        scope: Scope { tool: "list_invoices".into(), ..id("x").scope },
        key: None,
        event: "called".into(),
        outcome: Some(OutcomeKind::Success),
        circumstances: AuditContext { error: None, arguments: None, ..context() },
    }
}

/// The events that lead each key to its state.
fn events() -> Vec<(&'static str, Vec<Event>)> {
    use ApprovalChannel::{Client, Operator};
    use OutcomeKind::{Failure, Success};
    let claim =
        |number, idempotent| Event::Claim { fingerprint: SAME, owner: owner(number), idempotent };
    let deny = Review::Deny { reason: Some("not on a Friday".into()) };
    let discard = |number, why| Event::Discard { holder: holder(number, 1), why };
    let settled = StoredResult::new(Success, *b"found by olga");
    let asked = StoredResult::new(Success, *b"which address?");
    vec![
        ("open", vec![claim(1, false), Event::Release(holder(1, 1))]),
        ("harmless", vec![start(2, false, None), discard(2, RetryReason::NothingHappened)]),
        ("idempotent", vec![start(3, true, None), discard(3, RetryReason::Idempotent)]),
        ("not-run", vec![start(4, false, None), unknown(4), resolve(Resolution::NotDone)]),
        ("waiting", vec![ask()]),
        ("approved", vec![ask(), decide("ada", Client, Review::Approve)]),
        ("denied", vec![ask(), decide("olga", Operator, deny)]),
        ("claimed", vec![claim(8, true)]),
        ("dispatched", vec![start(9, false, None)]),
        (
            "suspended",
            vec![start(10, false, None), Event::Suspend { holder: holder(10, 1), asked }],
        ),
        (
            "completed",
            vec![
                ask(),
                decide("olga", Operator, Review::Approve),
                start(11, false, Some(POLICY)),
                complete(11, 2, Success, "invoice 4711"),
            ],
        ),
        ("failed", vec![start(12, false, None), complete(12, 1, Failure, "it failed")]),
        ("omitted", vec![start(13, false, None), complete(13, 1, Success, &"x".repeat(65))]),
        ("resolved", vec![start(14, false, None), unknown(14), resolve(Resolution::Done(settled))]),
        ("unknown", vec![start(15, false, None), unknown(15)]),
        ("abandoned", vec![start(16, false, None), unknown(16), resolve(Resolution::Abandon)]),
    ]
}

/// Fills an empty ledger, opened with [`options`].
///
/// # Errors
/// Returns what was seen, if the store does not take an event.
pub async fn fill(store: &dyn Store, clock: &AtomicI64) -> Result<(), Violation> {
    fill_ledger(store, clock).await.map_err(|seen| Violation::new("fixture", seen))
}

/// Checks that all of a filled ledger is there, and that it takes new events. The ledger was opened with [`options`].
///
/// # Errors
/// Returns what was seen, if something is missing.
pub async fn check(store: &dyn Store, clock: &AtomicI64) -> Result<(), Violation> {
    check_ledger(store, clock).await.map_err(|seen| Violation::new("fixture", seen))
}

pub(super) async fn fill_ledger(store: &dyn Store, clock: &AtomicI64) -> Checked {
    say(store, &id("tombstone"), start(17, false, None)).await?;
    say(store, &id("tombstone"), complete(17, 1, OutcomeKind::Success, "expired")).await?;
    clock.store(NOW, Ordering::SeqCst);
    store.sweep(100).await?;
    for (key, events) in events() {
        for event in events {
            store.apply(&id(key), event, context()).await?;
        }
    }
    store.grant(grant("amount <= 100")).await?;
    let revoked = store.grant(grant("any")).await?;
    store.revoke(revoked.id, "otto".into()).await?;
    store.note(note()).await?;
    Ok(())
}

/// The state of each key, and what happened to it.
#[allow(clippy::too_many_lines)] // a table
fn states() -> Vec<(&'static str, RecordState, u64, u32, &'static [&'static str])> {
    let now = Moment(NOW);
    let after = |millis: i64| Moment(NOW + millis);
    let (lease, license) = (after(30_000), StartReason::First);
    let kept = |text: &str| StoredResult::new(OutcomeKind::Success, text.as_bytes());
    let open = |license| RecordState::Open { license, until: after(DAY) };
    let completed = |outcome, resolved_by: Option<&str>| RecordState::Completed {
        outcome,
        completed: now,
        keep_until: after(DAY),
        resolved_by: resolved_by.map(Into::into),
    };
    let failed = UnknownReason::Failed;
    let closed = Moment(BEGUN + 31 * DAY);
    vec![
        (
            "tombstone",
            RecordState::Tombstone { until: closed },
            1,
            1,
            &["start", "complete", "lapse"],
        ),
        ("open", open(StartReason::First), 1, 0, &["claim", "release"]),
        ("harmless", open(StartReason::NothingHappened), 1, 1, &["start", "discard"]),
        (
            "idempotent",
            open(StartReason::Idempotent { reason: failed, since: now }),
            1,
            1,
            &["start", "discard"],
        ),
        (
            "not-run",
            open(StartReason::Operator { by: "olga".into(), started_by: Some(owner(4)) }),
            1,
            1,
            &["start", "unknown", "resolve"],
        ),
        (
            "waiting",
            RecordState::Waiting {
                asked: b"may it?"[..].into(),
                binding: POLICY,
                since: now,
                until: after(DAY),
                license: license.clone(),
            },
            1,
            0,
            &["ask"],
        ),
        (
            "approved",
            RecordState::Approved {
                by: "ada".into(),
                via: ApprovalChannel::Client,
                binding: POLICY,
                since: now,
                until: after(15 * 60_000),
                license: license.clone(),
            },
            1,
            0,
            &["ask", "decide"],
        ),
        (
            "denied",
            RecordState::Denied {
                by: "olga".into(),
                via: ApprovalChannel::Operator,
                reason: Some("not on a Friday".into()),
                binding: POLICY,
                since: now,
                until: after(10 * 60_000),
                keep_until: after(10 * 60_000 + DAY),
                license: license.clone(),
            },
            1,
            0,
            &["ask", "decide"],
        ),
        ("claimed", RecordState::Claimed { owner: owner(8), lease, license }, 1, 0, &["claim"]),
        (
            "dispatched",
            RecordState::Dispatched { owner: owner(9), lease, started: now, round: Round(0) },
            1,
            1,
            &["start"],
        ),
        (
            "suspended",
            RecordState::Suspended {
                round: Round(0),
                asked: kept("which address?"),
                started: now,
                until: after(60 * 60_000),
            },
            1,
            1,
            &["start", "suspend"],
        ),
        (
            "completed",
            completed(kept("invoice 4711"), None),
            2,
            1,
            &["ask", "decide", "start", "complete"],
        ),
        (
            "failed",
            completed(StoredResult::new(OutcomeKind::Failure, *b"it failed"), None),
            1,
            1,
            &["start", "complete"],
        ),
        (
            "omitted",
            completed(kept(&"x".repeat(65)).within(64), None),
            1,
            1,
            &["start", "complete"],
        ),
        (
            "resolved",
            completed(kept("found by olga"), Some("olga")),
            1,
            1,
            &["start", "unknown", "resolve"],
        ),
        (
            "unknown",
            RecordState::Indeterminate {
                reason: UnknownReason::Panicked,
                since: now,
                owner: Some(owner(15)),
            },
            1,
            1,
            &["start", "unknown"],
        ),
        (
            "abandoned",
            RecordState::Abandoned { by: "olga".into(), until: after(31 * DAY) },
            1,
            1,
            &["start", "unknown", "resolve"],
        ),
    ]
}

pub(super) async fn check_ledger(store: &dyn Store, clock: &AtomicI64) -> Checked {
    clock.store(NOW, Ordering::SeqCst);
    everything_is_there(store).await?;
    new_events_apply(store).await?;
    // Time alone ends what is left.
    clock.fetch_add(400 * DAY, Ordering::SeqCst);
    for _ in 0..3 {
        store.sweep(100).await?;
    }
    let left = store.records(Filter::default(), Page::default()).await?.items;
    let left: Vec<_> = left.iter().map(|entry| entry.stored.state.kind()).collect();
    ensure!(left.iter().all(|kind| *kind == StateKind::Indeterminate), "{left:?}");
    ensure!(store.grants(Filter::default(), Page::default()).await?.items.is_empty());
    Ok(())
}

async fn everything_is_there(store: &dyn Store) -> Checked {
    let (states, mut rows) = (states(), 0);
    for (key, state, fence, attempt, story) in &states {
        let entry = store.find(&id(key)).await?.required(key)?;
        let record = entry.stored;
        ensure_eq!(record.state, *state, "{key}");
        ensure_eq!((record.fence, record.attempt), (Fence(*fence), *attempt), "{key}");
        ensure_eq!((record.fingerprint, record.touched.0), (SAME, NOW), "{key}");
        ensure_eq!(record.idempotent, matches!(*key, "idempotent" | "claimed"), "{key}");
        let error = matches!(*key, "harmless" | "idempotent" | "completed" | "failed" | "omitted");
        ensure_eq!(record.error, error.then(conflict), "{key}");
        let bare = ["tombstone", "open", "claimed", "abandoned"].contains(key);
        ensure_eq!(record.arguments, arguments().filter(|_| !bare), "{key}");
        let rows_of_key = store.transitions(&id(key)).await?;
        ensure_eq!(rows_of_key.iter().map(|row| &*row.event).collect::<Vec<_>>(), *story, "{key}");
        rows += rows_of_key.len();
    }
    let page = Page { most: 1_000, order: Order::Oldest, from: None };
    let entries = store.records(Filter::default(), page).await?.items;
    let keys: Vec<_> = entries.iter().map(|entry| entry.id.key.as_str()).collect();
    ensure_eq!(keys, states.iter().map(|(key, ..)| *key).collect::<Vec<_>>());
    let all = store.rows(Filter::default(), page).await?.items;
    // Two grants were given, one was revoked, and one call has no record.
    ensure_eq!(all.len(), rows + 4);
    ensure!(all.is_sorted_by_key(|row| row.seq));
    let last = all.last().required("row")?;
    ensure_eq!(*last, AuditRow { seq: last.seq, ..AuditRow::of_note(note(), Moment(NOW)) });
    let ended = store.transitions(&id("completed")).await?;
    let expected = AuditContext { arguments: None, ..context() };
    ensure_eq!(ended.last().required("row")?.circumstances, expected);
    ensure_eq!(
        (ended[2].by.as_deref(), ended[2].via),
        (Some("olga"), Some(ApprovalChannel::Operator))
    );

    let grants = store.grants(Filter::default(), page).await?.items;
    let patterns: Vec<_> =
        grants.iter().map(|grant| (&*grant.pattern, grant.revoked.is_some())).collect();
    ensure_eq!(patterns, [("amount <= 100", false), ("any", true)]);
    ensure!(grants.iter().all(|grant| grant.covers(POLICY) && grant.since == Moment(NOW)));
    ensure_eq!(store.grants_in_force(&id("x").scope).await?, grants[..1]);
    let pending = store.pending_approvals(10).await?;
    let chosen: Vec<_> = pending.chosen.into_iter().map(|waits| waits.id).collect();
    ensure_eq!((pending.in_all, chosen), (1, vec![id("waiting")]));
    Ok(())
}

async fn new_events_apply(store: &dyn Store) -> Checked {
    use EventReply as Reply;
    let again = |number, approval| start(number, false, approval);
    let tell = async |key: &str, event| say(store, &id(key), event).await;
    for (key, fence) in [("open", 2), ("harmless", 2), ("not-run", 2)] {
        let started = tell(key, again(30, None)).await?;
        ensure_matches!(started, Reply::Started { fence: Fence(now), .. } if *now == fence);
        ensure_eq!(tell(key, complete(30, fence, OutcomeKind::Success, "new")).await?, Reply::Done);
    }
    let refused = tell("idempotent", again(30, None)).await?;
    ensure_matches!(refused, Reply::OutcomeUnknown { .. });
    ensure_matches!(tell("idempotent", start(30, true, None)).await?, Reply::Started { .. });

    let approve = decide("otto", ApprovalChannel::Operator, Review::Approve);
    ensure_eq!(tell("waiting", approve).await?, Reply::Done);
    for key in ["waiting", "approved"] {
        let started = tell(key, again(31, Some(POLICY))).await?;
        ensure_matches!(started, Reply::Started { .. });
    }
    ensure_matches!(tell("denied", ask()).await?, Reply::Denied { .. });
    ensure_eq!(tell("claimed", Event::Dispatch(holder(8, 1))).await?, Reply::Done);
    ensure_eq!(tell("dispatched", Event::Heartbeat(holder(9, 1))).await?, Reply::Done);
    let ended = complete(9, 1, OutcomeKind::Success, "new");
    ensure_eq!(tell("dispatched", ended).await?, Reply::Done);
    let (fence, round) = (Fence(1), Round(0));
    let resume = Event::Resume { fingerprint: SAME, fence, round, owner: owner(32) };
    ensure_matches!(tell("suspended", resume).await?, Reply::Resumed { fence: Fence(2), .. });
    for (key, text) in
        [("completed", "invoice 4711"), ("failed", "it failed"), ("resolved", "found by olga")]
    {
        let replayed = tell(key, again(33, None)).await?;
        let Reply::Replay { outcome, .. } = replayed else { fail!("{key}: {replayed:?}") };
        ensure_eq!(outcome.body, Body::Kept(text.as_bytes().into()), "{key}");
    }
    let late = complete(15, 1, OutcomeKind::Success, "late");
    ensure_eq!(tell("unknown", late).await?, Reply::Done);
    ensure_matches!(tell("abandoned", again(33, None)).await?, Reply::Abandoned { .. });
    ensure_matches!(tell("tombstone", again(33, None)).await?, Reply::Expired { .. });
    ensure_matches!(tell("new", again(34, None)).await?, Reply::Started { .. });

    obtain!([first] = &store.grants_in_force(&id("x").scope).await?[..]);
    ensure!(store.revoke(first.id, "otto".into()).await?.is_some());
    let new = store.grant(grant("any")).await?;
    ensure_eq!(store.grants_in_force(&id("x").scope).await?, [new]);
    Ok(())
}
