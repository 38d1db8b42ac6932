//! A store as a crate outside this repository would write it: tables of its own, and the public seam.
//!
//! One lock around all tables is its transaction. Everything else is in the plans.

use std::collections::{BTreeMap, HashMap};
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use candor_ledger::storage::{EventInput, GrantPlan, LedgerWrite, Watchers, WritePlan};
use candor_ledger::*;

/// The tables. Several stores may share them, as several processes share a database.
#[derive(Clone, Default)]
pub(crate) struct Tables {
    pub(crate) records: HashMap<RecordId, StoredRecord>,
    pub(crate) usage: HashMap<String, Usage>,
    pub(crate) rows: BTreeMap<u64, AuditRow>,
    pub(crate) grants: BTreeMap<u64, Grant>,
    last: u64,
}

#[derive(Clone)]
pub(crate) struct StoredRecord {
    pub(crate) record: Record,
    /// Orders the list of records.
    created: u64,
    /// Orders the list of pending requests: a request has a row.
    last_row: u64,
}

pub(crate) struct OwnStore {
    pub(crate) tables: Arc<Mutex<Tables>>,
    watchers: Watchers,
    limits: LedgerLimits,
    clock: Clock,
}

impl Tables {
    fn append(&mut self, row: AuditRow) -> u64 {
        self.last += 1;
        self.rows.insert(self.last, AuditRow { seq: self.last, ..row });
        self.last
    }

    fn pending(&self, principal: &str, now: Moment) -> u64 {
        let waits = |(id, stored): &(&RecordId, &StoredRecord)| {
            let RecordState::Waiting { until, .. } = stored.record.state else { return false };
            id.scope.principal == principal && now <= until
        };
        self.records.iter().filter(waits).count() as u64
    }

    fn apply(
        &mut self,
        id: &RecordId,
        event: Event,
        context: &AuditContext,
        now: Moment,
        limits: &LedgerLimits,
    ) -> Result<(EventReply, bool), Quota> {
        let principal = &id.scope.principal;
        let stored = self.records.get(id);
        let input = EventInput {
            record: stored.map(|stored| &stored.record),
            usage: self.usage.get(principal).copied().unwrap_or_default(),
            pending: self.pending(principal, now),
            now,
        };
        let plan = WritePlan::of(id, event, context, input, limits)?;
        let mut last_row = stored.map_or(0, |stored| stored.last_row);
        let created = stored.map_or(self.last + 1, |stored| stored.created);
        let changed = !plan.writes.is_empty();
        for write in plan.writes {
            match write {
                LedgerWrite::Append(row) => last_row = self.append(row),
                LedgerWrite::Put(record) => {
                    self.records.insert(id.clone(), StoredRecord { record, created, last_row });
                }
                LedgerWrite::Remove => {
                    self.records.remove(id);
                }
                LedgerWrite::SetUsage(usage) => {
                    self.usage.insert(principal.clone(), usage);
                }
            }
        }
        Ok((plan.reply, changed))
    }
}

/// Returns the page of a list that is in ascending order.
fn paged<T>(mut list: Vec<(u64, T)>, page: Page) -> PageOf<T> {
    if page.order == Order::Newest {
        list.reverse();
    }
    let is_before = |number: u64| match (page.from, page.order) {
        (None, _) => false,
        (Some(from), Order::Oldest) => number < from,
        (Some(from), Order::Newest) => number > from,
    };
    let mut list = list.into_iter().skip_while(|(number, _)| is_before(*number));
    let items = list.by_ref().take(page.most).map(|(_, item)| item).collect();
    PageOf { items, next: list.next().map(|(number, _)| number) }
}

impl OwnStore {
    pub(crate) fn new(tables: Arc<Mutex<Tables>>, options: Options) -> Self {
        let Options { rules: limits, clock, .. } = options;
        let watchers = {
            let (tables, limits, clock) = (Arc::clone(&tables), limits.clone(), clock.clone());
            Watchers::new(move |digest, seen| {
                let tables = lock(&tables);
                let found = tables.records.iter().find(|(id, _)| id.digest() == *digest);
                let record = found.map(|(_, stored)| stored.record.clone());
                seen.is_current(record, time(&clock), &limits)
            })
        };
        Self { tables, watchers, limits, clock }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        lock(&self.tables)
    }

    pub(crate) fn now(&self) -> Moment {
        time(&self.clock)
    }

    /// Returns the records that a filter selects, each with a number that orders them.
    fn entries(
        &self,
        filter: &Filter,
        number: impl Fn(&StoredRecord) -> u64,
    ) -> Vec<(u64, RecordEntry)> {
        let (tables, now) = (self.tables(), self.now());
        let entry = |(id, stored): (&RecordId, &StoredRecord)| {
            let record = stored.record.clone();
            (number(stored), RecordEntry::new(id.clone(), record, now, &self.limits))
        };
        let mut entries: Vec<_> = tables.records.iter().map(entry).collect();
        entries.retain(|(_, entry)| filter.has_entry(entry));
        entries.sort_by_key(|(number, _)| *number);
        entries
    }
}

fn lock(tables: &Mutex<Tables>) -> MutexGuard<'_, Tables> {
    tables.lock().unwrap_or_else(PoisonError::into_inner)
}

fn time(clock: &Clock) -> Moment {
    clock.given().unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment(since.as_millis() as i64)
    })
}

fn done<'a, T: Send + 'a>(result: Result<T, StoreError>) -> StoreFuture<'a, T> {
    Box::pin(ready(result))
}

impl Store for OwnStore {
    fn apply(
        &self,
        id: &RecordId,
        event: Event,
        context: AuditContext,
    ) -> StoreFuture<'_, EventReply> {
        let now = self.now();
        let applied = self.tables().apply(id, event, &context, now, &self.limits);
        if let Ok((_, true)) = applied {
            self.watchers.changed(&id.digest());
        }
        done(applied.map(|(reply, _)| reply).map_err(StoreError::from))
    }

    fn recall(
        &self,
        id: &RecordId,
        fingerprint: Fingerprint,
        idempotent: bool,
    ) -> StoreFuture<'_, Option<EventReply>> {
        let tables = self.tables();
        let record = tables.records.get(id).map(|stored| &stored.record);
        done(Ok(machine::recall(record, fingerprint, idempotent, self.now(), &self.limits)))
    }

    fn note(&self, note: CallNote) -> StoreFuture<'_, ()> {
        self.tables().append(AuditRow::of_note(note, self.now()));
        done(Ok(()))
    }

    fn watch(&self, id: &RecordId, seen: RecordVersion) -> StoreFuture<'_, ()> {
        let id = id.clone();
        Box::pin(self.watchers.until(id.digest(), seen, move || {
            let record = self.tables().records.get(&id).map(|stored| stored.record.clone());
            ready(Ok(seen.is_current(record, self.now(), &self.limits)))
        }))
    }

    fn sweep(&self, most: usize) -> StoreFuture<'_, SweepReport> {
        let (mut tables, now) = (self.tables(), self.now());
        let is_due =
            |stored: &StoredRecord| stored.record.state.lapses().is_some_and(|lapses| lapses < now);
        let due = tables.records.iter().filter(|(_, stored)| is_due(stored));
        let due: Vec<RecordId> = due.map(|(id, _)| id.clone()).take(most).collect();
        let mut swept = SweepReport::default();
        for id in due {
            let context = AuditContext::default();
            match tables.apply(&id, Event::Sweep, &context, now, &self.limits) {
                Ok((_, changed)) => swept.records += usize::from(changed),
                Err(quota) => return done(Err(quota.into())),
            }
            self.watchers.changed(&id.digest());
        }
        let (rows, since) = (tables.rows.len(), self.limits.audit_since(now));
        tables.rows.retain(|_, row| row.at >= since);
        tables.grants.retain(|_, grant| grant.until >= since);
        swept.rows = rows - tables.rows.len();
        done(Ok(swept))
    }

    fn find(&self, id: &RecordId) -> StoreFuture<'_, Option<RecordEntry>> {
        let record = self.tables().records.get(id).map(|stored| stored.record.clone());
        let entry = |record| RecordEntry::new(id.clone(), record, self.now(), &self.limits);
        done(Ok(record.map(entry)))
    }

    fn records(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<RecordEntry>> {
        done(Ok(paged(self.entries(&filter, |stored| stored.created), page)))
    }

    fn waiting(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<RecordEntry>> {
        let filter = Filter { state: Some(StateKind::Waiting), ..filter };
        done(Ok(paged(self.entries(&filter, |stored| stored.last_row), page)))
    }

    fn grant(&self, granting: NewGrant) -> StoreFuture<'_, Grant> {
        let (mut tables, now) = (self.tables(), self.now());
        let stored: Vec<Grant> = tables.grants.values().cloned().collect();
        let plan = GrantId::random()
            .and_then(|id| Ok(GrantPlan::give(id, granting, &stored, now, &self.limits)?));
        done(plan.map(|GrantPlan { grant, row }| {
            let number = row.map_or(0, |row| tables.append(row));
            tables.grants.insert(number, grant.clone());
            grant
        }))
    }

    fn revoke(&self, id: GrantId, by: String) -> StoreFuture<'_, Option<Grant>> {
        let (mut tables, now) = (self.tables(), self.now());
        let Some(stored) = tables.grants.values_mut().find(|grant| grant.id == id) else {
            return done(Ok(None));
        };
        let GrantPlan { grant, row } = GrantPlan::revoke(stored.clone(), by, now);
        *stored = grant.clone();
        if let Some(row) = row {
            tables.append(row);
        }
        done(Ok(Some(grant)))
    }

    fn grants(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<Grant>> {
        let tables = self.tables();
        let selected = tables.grants.iter().filter(|(_, grant)| filter.has_grant(grant));
        done(Ok(paged(selected.map(|(number, grant)| (*number, grant.clone())).collect(), page)))
    }

    fn grants_in_force(&self, scope: &Scope) -> StoreFuture<'_, Vec<Grant>> {
        let (tables, now) = (self.tables(), self.now());
        let newest_first = tables.grants.values().rev();
        let in_force = |grant: &&Grant| grant.scope == *scope && grant.is_in_force(now);
        done(Ok(newest_first.filter(in_force).cloned().collect()))
    }

    fn rows(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<AuditRow>> {
        let tables = self.tables();
        let selected = tables.rows.iter().filter(|(_, row)| filter.has_row(row));
        done(Ok(paged(selected.map(|(number, row)| (*number, row.clone())).collect(), page)))
    }

    fn transitions(&self, id: &RecordId) -> StoreFuture<'_, Vec<AuditRow>> {
        let tables = self.tables();
        let of_this = |row: &&AuditRow| row.change.is_some() && row.record().as_ref() == Some(id);
        done(Ok(tables.rows.values().filter(of_this).cloned().collect()))
    }

    fn rules(&self) -> &LedgerLimits {
        &self.limits
    }

    fn describe(&self) -> String {
        "a store of a test".to_owned()
    }
}
