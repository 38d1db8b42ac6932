//! A store in memory, which is lost with the process. For tests and trials, and only if requested by name.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::audit::{AuditContext, AuditRow, CallNote, Filter, Order, Page, PageOf, RecordEntry};
use crate::event::{Event, EventReply};
use crate::grant::{Grant, NewGrant};
use crate::id::{Fingerprint, GrantId, Moment, RecordDigest, RecordId, Scope};
use crate::machine;
use crate::plan::{EventInput, GrantPlan, LedgerWrite, WritePlan};
use crate::record::{Record, RecordState, StateKind};
use crate::rules::{LedgerLimits, Usage};
use crate::store::{Clock, Options, RecordVersion, Store, StoreError, StoreFuture, SweepReport};
use crate::watchers::Watchers;

/// A store that keeps its records in memory.
pub struct MemoryStore {
    tables: Arc<Mutex<MemoryTables>>,
    watchers: Watchers,
    rules: LedgerLimits,
    clock: Clock,
}

type MemoryRecord = (u64, RecordId, Record);

#[derive(Default)]
struct MemoryTables {
    /// Each with its row number, for paging.
    records: HashMap<RecordDigest, MemoryRecord>,
    order: BTreeMap<u64, RecordDigest>,
    /// Records with a pending approval request, by the number of the audit row that recorded it.
    waiting: BTreeMap<u64, RecordDigest>,
    grants: BTreeMap<u64, Grant>,
    usage: HashMap<String, Usage>,
    rows: BTreeMap<u64, AuditRow>,
    last: u64,
}

impl MemoryTables {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn append(&mut self, row: AuditRow) {
        let seq = self.next();
        self.rows.insert(seq, AuditRow { seq, ..row });
    }

    /// Returns the reply, and whether the record changed.
    fn apply(
        &mut self,
        id: &RecordId,
        event: Event,
        circumstances: &AuditContext,
        now: Moment,
        rules: &LedgerLimits,
    ) -> Result<(EventReply, bool), StoreError> {
        let digest = id.digest();
        let before = self.records.get(&digest).map(|(.., record)| record);
        let usage = self.usage.get(&id.scope.principal).copied().unwrap_or_default();
        let waiting = match event {
            Event::Ask { .. } => self.count_waiting(&id.scope.principal, now),
            _ => 0,
        };
        let input = EventInput { record: before, usage, pending: waiting, now };
        let WritePlan { writes, reply, pending: _ } =
            WritePlan::of(id, event, circumstances, input, rules)?;
        let mut changed = false;
        for write in writes {
            match write {
                LedgerWrite::Append(row) => self.append(row),
                LedgerWrite::Put(record) => {
                    changed = true;
                    self.put(id, digest, record);
                }
                LedgerWrite::Remove => {
                    changed = true;
                    self.remove(&digest);
                }
                LedgerWrite::SetUsage(usage) => {
                    self.usage.insert(id.scope.principal.clone(), usage);
                }
            }
        }
        Ok((reply, changed))
    }

    fn put(&mut self, id: &RecordId, digest: RecordDigest, record: Record) {
        self.waiting.retain(|_, waiting| *waiting != digest);
        if matches!(record.state, RecordState::Waiting { .. }) {
            self.waiting.insert(self.last, digest);
        }
        if let Some((.., place)) = self.records.get_mut(&digest) {
            *place = record;
        } else {
            let row = self.next();
            self.order.insert(row, digest);
            self.records.insert(digest, (row, id.clone(), record));
        }
    }

    fn remove(&mut self, digest: &RecordDigest) {
        self.waiting.retain(|_, waiting| waiting != digest);
        if let Some((row, ..)) = self.records.remove(digest) {
            self.order.remove(&row);
        }
    }

    fn count_waiting(&self, principal: &str, now: Moment) -> u64 {
        let waits = |(_, id, record): &&MemoryRecord| {
            id.scope.principal == principal && record.state.lapses().is_some_and(|due| now <= due)
        };
        let waiting = self.waiting.values().filter_map(|digest| self.records.get(digest));
        waiting.filter(waits).count() as u64
    }

    fn in_force(&self, scope: &Scope, now: Moment) -> Vec<Grant> {
        let grants = self.grants.values().rev();
        grants.filter(|grant| grant.scope == *scope && grant.is_in_force(now)).cloned().collect()
    }
}

fn lock(tables: &Mutex<MemoryTables>) -> MutexGuard<'_, MemoryTables> {
    tables.lock().unwrap_or_else(PoisonError::into_inner)
}

fn moment(clock: &Clock) -> Moment {
    clock.given().unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    })
}

/// Returns the part of a list that a page asks for.
fn part<'a, T: 'a>(
    list: &'a BTreeMap<u64, T>,
    page: Page,
) -> Box<dyn Iterator<Item = (u64, &'a T)> + 'a> {
    match page.order {
        Order::Oldest => {
            Box::new(list.range(page.from.unwrap_or(0)..).map(|(at, item)| (*at, item)))
        }
        Order::Newest => Box::new(
            list.range(..=page.from.unwrap_or(u64::MAX)).rev().map(|(at, item)| (*at, item)),
        ),
    }
}

fn paged<T>(found: impl Iterator<Item = (u64, T)>, most: usize) -> PageOf<T> {
    let mut found = found;
    let items = found.by_ref().take(most).map(|(_, item)| item).collect();
    PageOf { items, next: found.next().map(|(at, _)| at) }
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let Options { rules, clock, max_bytes: _ } = options;
        let tables: Arc<Mutex<MemoryTables>> = Arc::default();
        let watchers = {
            let (tables, rules, clock) = (Arc::clone(&tables), rules.clone(), clock.clone());
            Watchers::new(move |digest, seen| {
                let record = lock(&tables).records.get(digest).map(|(.., record)| record.clone());
                seen.is_current(record, moment(&clock), &rules)
            })
        };
        Self { tables, watchers, rules, clock }
    }

    fn now(&self) -> Moment {
        moment(&self.clock)
    }

    fn entry(&self, (_, id, record): &MemoryRecord) -> RecordEntry {
        RecordEntry::new(id.clone(), record.clone(), self.now(), &self.rules)
    }
}

fn ready<'a, T: Send + 'a>(result: Result<T, StoreError>) -> StoreFuture<'a, T> {
    Box::pin(std::future::ready(result))
}

impl Store for MemoryStore {
    fn apply(
        &self,
        id: &RecordId,
        event: Event,
        circumstances: AuditContext,
    ) -> StoreFuture<'_, EventReply> {
        let now = self.now();
        let applied = lock(&self.tables).apply(id, event, &circumstances, now, &self.rules);
        if matches!(applied, Ok((_, true))) {
            self.watchers.changed(&id.digest());
        }
        ready(applied.map(|(answer, _)| answer))
    }

    fn recall(
        &self,
        id: &RecordId,
        fingerprint: Fingerprint,
        idempotent: bool,
    ) -> StoreFuture<'_, Option<EventReply>> {
        let tables = lock(&self.tables);
        let record = tables.records.get(&id.digest()).map(|(.., record)| record);
        ready(Ok(machine::recall(record, fingerprint, idempotent, self.now(), &self.rules)))
    }

    fn note(&self, note: CallNote) -> StoreFuture<'_, ()> {
        lock(&self.tables).append(AuditRow::of_note(note, self.now()));
        ready(Ok(()))
    }

    fn watch(&self, id: &RecordId, seen: RecordVersion) -> StoreFuture<'_, ()> {
        let digest = id.digest();
        Box::pin(self.watchers.until(digest, seen, move || {
            let found = lock(&self.tables).records.get(&digest).map(|(.., found)| found.clone());
            std::future::ready(Ok(seen.is_current(found, self.now(), &self.rules)))
        }))
    }

    fn sweep(&self, most: usize) -> StoreFuture<'_, SweepReport> {
        let now = self.now();
        let mut tables = lock(&self.tables);
        let due: Vec<RecordId> = tables
            .records
            .values()
            .filter(|(.., record)| record.state.lapses().is_some_and(|due| due < now))
            .map(|(_, id, _)| id.clone())
            .take(most)
            .collect();
        let mut swept = SweepReport::default();
        for id in due {
            match tables.apply(&id, Event::Sweep, &AuditContext::default(), now, &self.rules) {
                Ok((_, changed)) => swept.records += usize::from(changed),
                Err(error) => return ready(Err(error)),
            }
            self.watchers.changed(&id.digest());
        }
        let (before, since) = (tables.rows.len(), self.rules.audit_since(now));
        tables.rows.retain(|_, row| row.at >= since);
        swept.rows = before - tables.rows.len();
        tables.grants.retain(|_, grant| grant.until >= since);
        ready(Ok(swept))
    }

    fn find(&self, id: &RecordId) -> StoreFuture<'_, Option<RecordEntry>> {
        let tables = lock(&self.tables);
        ready(Ok(tables.records.get(&id.digest()).map(|kept| self.entry(kept))))
    }

    fn records(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<RecordEntry>> {
        let tables = lock(&self.tables);
        let entries = part(&tables.order, page)
            .filter_map(|(at, digest)| Some((at, self.entry(tables.records.get(digest)?))))
            .filter(|(_, entry)| filter.has_entry(entry));
        ready(Ok(paged(entries, page.most)))
    }

    fn waiting(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<RecordEntry>> {
        let filter = Filter { state: Some(StateKind::Waiting), ..filter };
        let tables = lock(&self.tables);
        let entries = part(&tables.waiting, page)
            .filter_map(|(at, digest)| Some((at, self.entry(tables.records.get(digest)?))))
            .filter(|(_, entry)| filter.has_entry(entry));
        ready(Ok(paged(entries, page.most)))
    }

    fn grant(&self, granting: NewGrant) -> StoreFuture<'_, Grant> {
        let now = self.now();
        let id = match GrantId::random() {
            Ok(id) => id,
            Err(error) => return ready(Err(error)),
        };
        let mut tables = lock(&self.tables);
        let stored = tables.in_force(&granting.scope, now);
        let GrantPlan { grant, row } =
            match GrantPlan::give(id, granting, &stored, now, &self.rules) {
                Ok(plan) => plan,
                Err(quota) => return ready(Err(quota.into())),
            };
        row.into_iter().for_each(|row| tables.append(row));
        let at = tables.last;
        tables.grants.insert(at, grant.clone());
        ready(Ok(grant))
    }

    fn revoke(&self, id: GrantId, by: String) -> StoreFuture<'_, Option<Grant>> {
        let now = self.now();
        let mut tables = lock(&self.tables);
        let Some(stored) = tables.grants.values_mut().find(|grant| grant.id == id) else {
            return ready(Ok(None));
        };
        let GrantPlan { grant, row } = GrantPlan::revoke(stored.clone(), by, now);
        stored.clone_from(&grant);
        row.into_iter().for_each(|row| tables.append(row));
        ready(Ok(Some(grant)))
    }

    fn grants(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<Grant>> {
        let tables = lock(&self.tables);
        let grants = part(&tables.grants, page)
            .filter(|(_, grant)| filter.has_grant(grant))
            .map(|(at, grant)| (at, grant.clone()));
        ready(Ok(paged(grants, page.most)))
    }

    fn grants_in_force(&self, scope: &Scope) -> StoreFuture<'_, Vec<Grant>> {
        let now = self.now();
        ready(Ok(lock(&self.tables).in_force(scope, now)))
    }

    fn rows(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<AuditRow>> {
        let tables = lock(&self.tables);
        let rows = part(&tables.rows, page)
            .filter(|(_, row)| filter.has_row(row))
            .map(|(at, row)| (at, row.clone()));
        ready(Ok(paged(rows, page.most)))
    }

    fn transitions(&self, id: &RecordId) -> StoreFuture<'_, Vec<AuditRow>> {
        let tables = lock(&self.tables);
        let of_this = |row: &&AuditRow| {
            row.change.is_some() && row.key.as_ref() == Some(&id.key) && row.scope == id.scope
        };
        ready(Ok(tables.rows.values().filter(of_this).cloned().collect()))
    }

    fn rules(&self) -> &LedgerLimits {
        &self.rules
    }

    fn describe(&self) -> String {
        "in memory, forgotten when this process ends".to_owned()
    }
}
