//! Grants: in force until they expire or are revoked.

use std::slice::from_ref;
use std::time::Duration;

use super::case::{Bench, POLICY, id};
use super::ensure::{Checked, Required};
use crate::{
    Binding, Filter, Grant, GrantId, LedgerLimits, NewGrant, Order, Page, Quota, Quotas, Scope,
    StoreError,
};

fn granting(pattern: &str) -> NewGrant {
    NewGrant {
        scope: id("x").scope,
        binding: POLICY,
        pattern: pattern.into(),
        by: "olga".into(),
        lasts: Duration::from_secs(15 * 60),
    }
}

pub(super) async fn grant_is_active_until_it_expires_or_is_revoked(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let scope = id("x").scope;
    let first = store.grant(granting("amount <= 100")).await?;
    case.later(Duration::from_secs(60));
    let second = store.grant(granting("amount <= 10")).await?;
    ensure_ne!(first.id, second.id);
    let in_force = store.grants_in_force(&scope).await?;
    ensure_eq!(in_force, [second.clone(), first.clone()]);
    ensure!(in_force.iter().all(|grant| grant.covers(POLICY)), "as it was given");
    ensure!(!first.covers(Binding([4; 32])), "the tool has changed");
    // Of exactly this scope.
    for other in [
        Scope { principal: "bob".into(), ..scope.clone() },
        Scope { server: "other".into(), ..scope.clone() },
        Scope { instance: "other".into(), ..scope.clone() },
        Scope { tool: "other".into(), ..scope.clone() },
    ] {
        ensure!(store.grants_in_force(&other).await?.is_empty(), "{other:?}");
    }

    let revoked = store.revoke(second.id, "otto".into()).await?.required("grant")?;
    ensure_eq!(revoked.revoked.as_ref().map(|(by, _)| by.as_str()), Some("otto"));
    ensure_eq!(store.grants_in_force(&scope).await?, from_ref(&first));
    // A second revocation names the first operator.
    ensure_eq!(store.revoke(second.id, "olga".into()).await?, Some(revoked.clone()));
    ensure_eq!(store.revoke(GrantId([7; 16]), "olga".into()).await?, None);

    case.later(Duration::from_secs(15 * 60));
    ensure!(store.grants_in_force(&scope).await?.is_empty());
    let ended = store.revoke(first.id, "otto".into()).await?;
    ensure_eq!(ended, Some(first.clone()));

    let all = store.grants(Filter::default(), Page::default()).await?.items;
    ensure_eq!(all, [revoked, first.clone()]);
    let part = Page { most: 1, order: Order::Oldest, ..Page::default() };
    let part = store.grants(Filter::default(), part).await?;
    ensure_eq!(part.items, from_ref(&first));
    ensure!(part.next.is_some());
    let of_bob = Filter { principal: Some("bob".into()), ..Filter::default() };
    ensure!(store.grants(of_bob, Page::default()).await?.items.is_empty());

    let page = Page { order: Order::Oldest, ..Page::default() };
    let rows = store.rows(Filter::default(), page).await?.items;
    let said: Vec<_> = rows
        .iter()
        .map(|row| {
            let note = row.circumstances.note.as_deref().unwrap_or_default();
            (row.event.as_str(), row.by.as_deref().unwrap_or_default(), note.to_owned())
        })
        .collect();
    let named = |grant: &Grant| format!("grant {}", grant.id);
    ensure_eq!(
        said,
        [
            ("grant", "olga", named(&first)),
            ("grant", "olga", named(&second)),
            ("revoke", "otto", named(&second))
        ]
    );

    // Stored as long as the audit rows.
    case.later(Duration::from_secs(89 * 24 * 3600));
    store.sweep(10).await?;
    ensure_eq!(store.grants(Filter::default(), Page::default()).await?.items.len(), 2);
    case.later(Duration::from_secs(2 * 24 * 3600));
    store.sweep(10).await?;
    ensure!(store.grants(Filter::default(), Page::default()).await?.items.is_empty());
    Ok(())
}

pub(super) async fn active_grants_per_tool_are_limited(bench: &Bench<'_>) -> Checked {
    let quotas = Quotas { grants: 3, ..Quotas::default() };
    let case = &bench.open(LedgerLimits { quotas, ..LedgerLimits::default() }.clone()).await?;
    let store = &*case.store;
    let mut last = None;
    for at in 0..3 {
        last = Some(store.grant(granting(&format!("pattern {at}"))).await?);
    }
    let refused = Err(StoreError::Quota(Quota::Grants { most: 3 }));
    ensure_eq!(store.grant(granting("one more")).await, refused);
    store.revoke(last.required("grant")?.id, "olga".into()).await?;
    store.grant(granting("one more")).await?;
    ensure_eq!(store.grant(granting("and one more")).await, refused);
    case.later(Duration::from_secs(16 * 60));
    store.grant(granting("and one more")).await?;
    Ok(())
}

pub(super) async fn grant_revoked_by_another_process_is_not_found(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let (one, other) = (&*case.store, &*case.another().await?);
    let scope = id("x").scope;
    for _ in 0..20 {
        let grant = one.grant(granting("any")).await?;
        ensure_eq!(other.grants_in_force(&scope).await?, from_ref(&grant));
        one.revoke(grant.id, "olga".into()).await?;
        ensure!(other.grants_in_force(&scope).await?.is_empty(), "a revoked grant is in force");
    }
    Ok(())
}
