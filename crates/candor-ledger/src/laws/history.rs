//! Lists, filters, pages and exports.

use std::time::Duration;

use super::case::{Bench, call, claim, dispatched, id};
use super::ensure::{Checked, Required};
use crate::{
    AuditContext, CallNote, DigestPrefix, Export, Filter, LedgerLimits, Moment, Order, OutcomeKind,
    Page, Scope, StateKind,
};

pub(super) async fn history_is_filtered_paged_and_exported(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    for key in 0..5 {
        call(store, &id(&format!("key-{key}")), "x").await?;
        case.later(Duration::from_secs(1));
    }
    dispatched(store, &id("lost")).await?;
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
    store.note(note.clone()).await?;
    case.later(Duration::from_secs(60));

    // Every reader sees an unknown outcome, although the store has not written it yet.
    let unknown = Filter { state: Some(StateKind::Indeterminate), ..Filter::default() };
    let found = store.records(unknown, Page::default()).await?;
    ensure_eq!(found.items.len(), 1);
    ensure_eq!(found.items[0].id, id("lost"));
    ensure_eq!(found.items[0].stored.state.kind(), StateKind::Dispatched);

    let completed = Filter { state: Some(StateKind::Completed), ..Filter::default() };
    let mut page = Page { most: 2, ..Page::default() };
    let mut keys = Vec::new();
    loop {
        let part = store.records(completed.clone(), page).await?;
        keys.extend(part.items.into_iter().map(|entry| entry.id.key.to_string()));
        page.from = part.next;
        if part.next.is_none() {
            break;
        }
    }
    ensure_eq!(keys, ["key-4", "key-3", "key-2", "key-1", "key-0"]);

    let of_tool = Filter { tool: Some("list_invoices".into()), ..Filter::default() };
    let rows = store.rows(of_tool, Page::default()).await?.items;
    ensure_eq!(rows.len(), 1);
    ensure_eq!((&rows[0].circumstances, &rows[0].event), (&note.circumstances, &note.event));

    let since = Filter { since: Some(Moment(1_700_000_003_000)), ..Filter::default() };
    ensure_eq!(store.rows(since, Page::default()).await?.items.len(), 2 * 3 + 2 + 1);

    let mut export = Export::of(store, Filter::default());
    let mut last = 0;
    let mut count = 0;
    while let Some(row) = export.next().await? {
        ensure!(row.seq > last);
        last = row.seq;
        count += 1;
    }
    ensure_eq!(count, 5 * 3 + 2 + 1);

    case.later(Duration::from_secs(91 * 24 * 3600));
    // All of them, or all but the one that continues the numbers.
    ensure!(store.sweep(1_000).await?.rows >= count - 1);
    Ok(())
}

pub(super) async fn record_is_found_by_its_digest_prefix(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let ids: Vec<_> = (0..300).map(|at| id(&format!("key-{at}"))).collect();
    for id in &ids {
        claim(store, id).await?;
    }
    for wanted in ids.iter().step_by(30) {
        let digits = wanted.digest().to_string();
        for len in [1, 2, 3, 64] {
            let prefix = DigestPrefix::new(&digits[..len]).required("prefix")?;
            let mut found: Vec<_> = store.find_by_prefix(prefix, 300).await?;
            found.sort_by(|a, b| a.id.cmp(&b.id));
            let mut expected: Vec<_> =
                ids.iter().filter(|id| id.digest().to_string()[..len] == digits[..len]).collect();
            expected.sort();
            ensure_eq!(found.iter().map(|entry| &entry.id).collect::<Vec<_>>(), expected);
        }
    }
    let all = DigestPrefix::new("0").required("prefix")?;
    ensure_eq!(store.find_by_prefix(all, 2).await?.len(), 2);
    Ok(())
}

pub(super) async fn notes_become_audit_rows_in_order(bench: &Bench<'_>) -> Checked {
    let case = &bench.open(LedgerLimits::default()).await?;
    let store = &*case.store;
    let note = |n: usize| CallNote {
        scope: id("x").scope,
        key: Some(id(&format!("k-{n}")).key),
        event: "replayed".into(),
        outcome: None,
        circumstances: AuditContext::default(),
    };
    store.notes(Vec::new()).await?;
    store.notes((0..200).map(note).collect()).await?;
    let page = Page { most: 500, order: Order::Oldest, ..Page::default() };
    let rows = store.rows(Filter::default(), page).await?.items;
    let keys: Vec<_> = rows.iter().map(|row| row.key.as_ref().map(ToString::to_string)).collect();
    ensure_eq!(keys, (0..200).map(|n| Some(format!("k-{n}"))).collect::<Vec<_>>());
    Ok(())
}
