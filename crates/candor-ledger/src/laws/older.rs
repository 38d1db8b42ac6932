//! What our own stores must read of ledgers of older schemas. The fixtures are beside their tests.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::Violation;
use super::case::{self, SAME, approved, asked, id, outcome, say, start};
use super::ensure::{Checked, Required};
use crate::{Binding, EventReply, Filter, GrantId, Moment, NewGrant, Page, StateKind, Store};

/// The binding in the fixtures.
pub const POLICY: Binding = case::POLICY;

/// When the denial of schema 1.3 was given, and when it ends.
pub const DENIED: (i64, i64) = (1_000_000, 1_600_000);

/// Checks a ledger of schema 1.1: a completed call and an unknown one.
///
/// # Errors
/// Returns what was seen, if something is missing or does not work.
pub async fn migrated_1_1(store: &dyn Store) -> Result<(), Violation> {
    calls_are_there(store).await.map_err(|seen| Violation::new("migration from 1.1", seen))
}

/// Checks a ledger of schema 1.2: a grant without a binding is listed, can be revoked, and covers no call.
///
/// # Errors
/// Returns what was seen, if something is missing or does not work.
pub async fn migrated_1_2(store: &dyn Store) -> Result<(), Violation> {
    grant_is_void(store).await.map_err(|seen| Violation::new("migration from 1.2", seen))
}

/// Checks a ledger of schema 1.3: a denial refuses until it expires, and then stays in history.
///
/// # Errors
/// Returns what was seen, if something is missing or does not work.
pub async fn migrated_1_3(store: &dyn Store, clock: &AtomicI64) -> Result<(), Violation> {
    denial_counts(store, clock).await.map_err(|seen| Violation::new("migration from 1.3", seen))
}

fn granting() -> NewGrant {
    NewGrant {
        scope: id("x").scope,
        binding: POLICY,
        pattern: "any".into(),
        by: "olga".into(),
        lasts: Duration::from_secs(60),
    }
}

async fn calls_are_there(store: &dyn Store) -> Checked {
    obtain!(
        Some(EventReply::Replay { outcome: first, .. }) =
            store.recall(&id("a"), SAME, false).await?
    );
    ensure_eq!(first, outcome("invoice 1"));
    let unknown = store.recall(&id("b"), SAME, false).await?;
    ensure_matches!(unknown, Some(EventReply::OutcomeUnknown { .. }));
    ensure_eq!(store.transitions(&id("a")).await?.len(), 2);
    ensure_eq!(store.records(Filter::default(), Page::default()).await?.items.len(), 2);

    approved(store, &id("c")).await?;
    ensure_matches!(say(store, &id("c"), start()?).await?, EventReply::Started { .. });
    asked(store, &id("d")).await?;
    ensure_eq!(store.waiting(Filter::default(), Page::default()).await?.items.len(), 1);
    let grant = store.grant(granting()).await?;
    ensure_eq!(store.grants_in_force(&id("c").scope).await?, [grant]);
    let rows = store.rows(Filter::default(), Page::default()).await?.items;
    ensure_eq!(rows.len(), 3 + 3 + 1 + 1);
    Ok(())
}

async fn grant_is_void(store: &dyn Store) -> Checked {
    let scope = id("x").scope;
    let grants = store.grants(Filter::default(), Page::default()).await?.items;
    ensure_eq!(grants.len(), 1);
    let grant = &grants[0];
    ensure_eq!((&grant.scope, grant.id, &grant.pattern[..]), (&scope, GrantId([7; 16]), "any"));
    ensure_eq!(grant.binding, None);
    for binding in [POLICY, Binding([0; 32])] {
        ensure!(!grant.covers(binding), "a grant without a binding covers {binding}");
    }
    let new = store.grant(granting()).await?;
    ensure!(new.covers(POLICY));
    let revoked = store.revoke(grant.id, "otto".into()).await?.required("grant")?;
    ensure!(revoked.revoked.is_some());
    ensure_eq!(store.grants_in_force(&scope).await?, [new]);
    Ok(())
}

async fn denial_counts(store: &dyn Store, clock: &AtomicI64) -> Checked {
    let (at, ends) = DENIED;
    clock.store(at + 1, Ordering::SeqCst);
    let refused = store.recall(&id("a"), SAME, false).await?;
    ensure_matches!(refused, Some(EventReply::Denied { until, .. }) if *until == Moment(ends));
    clock.store(ends + 1, Ordering::SeqCst);
    ensure_eq!(store.recall(&id("a"), SAME, false).await?, None);
    store.sweep(10).await?;
    let record = store.find(&id("a")).await?.required("record")?.stored;
    ensure_eq!(record.state.kind(), StateKind::Denied);
    ensure_eq!((record.error, record.arguments), (None, None));
    asked(store, &id("a")).await?;
    Ok(())
}
