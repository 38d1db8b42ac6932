//! What a person permits for a while, on every store.

mod common;

use std::slice::from_ref;
use std::time::Duration;

use candor_ledger::*;
use common::{Folder, POLICY, id, on_each, sqlite, wait};

fn granting(pattern: &str) -> NewGrant {
    NewGrant {
        scope: id("x").scope,
        binding: POLICY,
        pattern: pattern.into(),
        by: "olga".into(),
        lasts: Duration::from_secs(15 * 60),
    }
}

#[test]
fn grant_is_active_until_it_expires_or_is_revoked() {
    on_each(&LedgerLimits::default(), async |told| {
        let store = &*told.store;
        let scope = id("x").scope;
        let first = store.grant(granting("amount <= 100")).await.unwrap();
        told.later(Duration::from_secs(60));
        let second = store.grant(granting("amount <= 10")).await.unwrap();
        assert_ne!(first.id, second.id);
        let in_force = store.grants_in_force(&scope).await.unwrap();
        assert_eq!(in_force, [second.clone(), first.clone()]);
        assert!(in_force.iter().all(|grant| grant.covers(POLICY)), "as it was given");
        assert!(!first.covers(Binding([4; 32])), "the tool has changed");
        // Of exactly this scope.
        for other in [
            Scope { principal: "bob".into(), ..scope.clone() },
            Scope { server: "other".into(), ..scope.clone() },
            Scope { instance: "other".into(), ..scope.clone() },
            Scope { tool: "other".into(), ..scope.clone() },
        ] {
            assert!(store.grants_in_force(&other).await.unwrap().is_empty(), "{other:?}");
        }

        let revoked = store.revoke(second.id, "otto".into()).await.unwrap().unwrap();
        assert_eq!(revoked.revoked.as_ref().map(|(by, _)| by.as_str()), Some("otto"));
        assert_eq!(store.grants_in_force(&scope).await.unwrap(), from_ref(&first));
        // A second revocation names the first operator.
        assert_eq!(store.revoke(second.id, "olga".into()).await.unwrap(), Some(revoked.clone()));
        assert_eq!(store.revoke(GrantId([7; 16]), "olga".into()).await.unwrap(), None);

        told.later(Duration::from_secs(15 * 60));
        assert!(store.grants_in_force(&scope).await.unwrap().is_empty());
        let ended = store.revoke(first.id, "otto".into()).await.unwrap();
        assert_eq!(ended, Some(first.clone()));

        let all = store.grants(Filter::default(), Page::default()).await.unwrap().items;
        assert_eq!(all, [revoked, first.clone()]);
        let part = Page { most: 1, order: Order::Oldest, ..Page::default() };
        let part = store.grants(Filter::default(), part).await.unwrap();
        assert_eq!(part.items, from_ref(&first));
        assert!(part.next.is_some());
        let of_bob = Filter { principal: Some("bob".into()), ..Filter::default() };
        assert!(store.grants(of_bob, Page::default()).await.unwrap().items.is_empty());

        let page = Page { order: Order::Oldest, ..Page::default() };
        let rows = store.rows(Filter::default(), page).await.unwrap().items;
        let said: Vec<_> = rows
            .iter()
            .map(|row| {
                let note = row.circumstances.note.as_deref().unwrap();
                (row.event.as_str(), row.by.as_deref().unwrap(), note.to_owned())
            })
            .collect();
        let named = |grant: &Grant| format!("grant {}", grant.id);
        assert_eq!(
            said,
            [
                ("grant", "olga", named(&first)),
                ("grant", "olga", named(&second)),
                ("revoke", "otto", named(&second))
            ]
        );

        // Stored as long as the audit rows.
        told.later(Duration::from_secs(89 * 24 * 3600));
        store.sweep(10).await.unwrap();
        assert_eq!(store.grants(Filter::default(), Page::default()).await.unwrap().items.len(), 2);
        told.later(Duration::from_secs(2 * 24 * 3600));
        store.sweep(10).await.unwrap();
        assert!(store.grants(Filter::default(), Page::default()).await.unwrap().items.is_empty());
    });
}

#[test]
fn active_grants_per_tool_are_limited() {
    let quotas = Quotas { grants: 3, ..Quotas::default() };
    on_each(&LedgerLimits { quotas, ..LedgerLimits::default() }, async |told| {
        let store = &*told.store;
        let mut last = None;
        for at in 0..3 {
            last = Some(store.grant(granting(&format!("pattern {at}"))).await.unwrap());
        }
        let refused = Err(StoreError::Quota(Quota::Grants { most: 3 }));
        assert_eq!(store.grant(granting("one more")).await, refused);
        store.revoke(last.unwrap().id, "olga".into()).await.unwrap();
        store.grant(granting("one more")).await.unwrap();
        assert_eq!(store.grant(granting("and one more")).await, refused);
        told.later(Duration::from_secs(16 * 60));
        store.grant(granting("and one more")).await.unwrap();
    });
}

/// Two stores share nothing but the file, as two processes do.
#[test]
fn grant_revoked_by_another_process_is_not_found() {
    let folder = Folder::new();
    let path = folder.join("ledger.db");
    let (one, other) = (sqlite(&path, Options::default()), sqlite(&path, Options::default()));
    wait(seen_at_once(&one, &other));
}

#[cfg(feature = "postgres")]
#[test]
fn grant_revoked_by_another_replica_is_not_found() {
    if let Some(schema) = common::database::Schema::new("grants of two instances") {
        let open = || PostgresStore::open(&schema.url(), Options::default()).unwrap();
        wait(seen_at_once(&open(), &open()));
    }
}

async fn seen_at_once(one: &dyn Store, other: &dyn Store) {
    let scope = id("x").scope;
    for _ in 0..20 {
        let grant = one.grant(granting("any")).await.unwrap();
        assert_eq!(other.grants_in_force(&scope).await.unwrap(), from_ref(&grant));
        one.revoke(grant.id, "olga".into()).await.unwrap();
        assert!(other.grants_in_force(&scope).await.unwrap().is_empty());
    }
}
