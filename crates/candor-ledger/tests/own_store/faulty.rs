//! The same store with one fault.

use std::future::{pending, ready};
use std::sync::{Arc, Mutex};

use candor_ledger::*;

use crate::store::{OwnStore, Tables};

/// What the store does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Answers a second start as the first.
    StartsTwice,
    /// Writes no audit rows for events.
    ForgetsRows,
    /// Leaves an approval in place that a start has used.
    LosesConsumption,
    /// Does not count what a principal uses.
    ForgetsUsage,
    /// Writes no records.
    ForgetsRecords,
    /// Finds a record by its key alone.
    IgnoresScopes,
    /// Does not see time pass.
    StopsTheClock,
    /// Forgets when a record was last written.
    ForgetsTheLastWrite,
    /// Does not limit requests and grants.
    CountsNothing,
    /// Lists pending requests in the wrong order.
    ListsWaitingBackwards,
    /// Wakes no watcher.
    NeverWakes,
    /// Wakes a watcher without a reason.
    WakesAtOnce,
    /// Returns revoked grants as in force.
    KeepsRevokedGrants,
    /// Stores no arguments.
    ForgetsArguments,
    /// Stores no errors.
    ForgetsErrors,
    /// Begins anew when it is opened again.
    ForgetsAtClose,
    /// Applies an event only if its caller waits for the reply.
    DropsEvents,
    /// Counts more records than it has swept.
    MiscountsSweeps,
    /// Finds no record by a prefix.
    FindsNoPrefix,
    /// Writes notes in the wrong order.
    ReversesNotes,
    /// Takes a review of any request as one of the pending request.
    TakesAnyReview,
    /// Lets a second reviewer believe that their review counts.
    ConfirmsAnyReview,
    /// Takes an approval of anything for any start.
    IgnoresBindings,
    /// Treats every call as safe to retry.
    RetriesEverything,
    /// Demands an approval for every start.
    AlwaysDemandsApproval,
    /// Purges a record when its denial ends.
    ForgetsDenials,
}

pub(crate) struct FaultyStore {
    inner: OwnStore,
    limits: LedgerLimits,
    fault: Fault,
}

impl FaultyStore {
    pub(crate) fn new(tables: Arc<Mutex<Tables>>, mut options: Options, fault: Fault) -> Self {
        let limits = options.rules.clone();
        match fault {
            Fault::CountsNothing => {
                options.rules.quotas.waiting = u64::MAX;
                options.rules.quotas.grants = u64::MAX;
            }
            Fault::StopsTheClock => {
                let begun = options.clock.given().map_or(1_700_000_000_000, |now| now.0);
                options.clock = Clock::Given(Arc::new(move || begun));
            }
            _ => {}
        }
        Self { inner: OwnStore::new(tables, options), limits, fault }
    }

    /// Returns the record that the faulty store finds.
    fn id(&self, id: &RecordId) -> RecordId {
        let mut id = id.clone();
        if self.fault == Fault::IgnoresScopes {
            id.scope = Scope {
                principal: "ada".into(),
                server: String::new(),
                instance: String::new(),
                tool: String::new(),
            };
        }
        id
    }

    fn event(&self, id: &RecordId, event: Event) -> Event {
        let tables = self.inner.tables.lock().unwrap();
        let record = tables.records.get(id).map(|stored| &stored.record);
        let asked = record.and_then(Record::question);
        match (self.fault, event) {
            (Fault::TakesAnyReview, Event::Decide { question, by, via, decision }) => {
                let question = asked.unwrap_or(question);
                Event::Decide { question, by, via, decision }
            }
            (
                Fault::IgnoresBindings,
                Event::Start { fingerprint, owner, idempotent, approval: Some(needed) },
            ) => {
                let approval = Some(asked.map_or(needed, |asked| asked.binding));
                Event::Start { fingerprint, owner, idempotent, approval }
            }
            (
                Fault::AlwaysDemandsApproval,
                Event::Start { fingerprint, owner, idempotent, approval: None },
            ) => {
                let approval = Some(Binding([3; 32]));
                Event::Start { fingerprint, owner, idempotent, approval }
            }
            (Fault::RetriesEverything, Event::Ask { fingerprint, binding, asked, keyless, .. }) => {
                Event::Ask { fingerprint, binding, asked, idempotent: true, keyless }
            }
            (_, event) => event,
        }
    }

    /// Applies an event, and undoes a part of it.
    fn apply_wrongly(
        &self,
        id: &RecordId,
        event: Event,
        context: AuditContext,
    ) -> Result<EventReply, StoreError> {
        let id = &self.id(id);
        let event = self.event(id, event);
        let before = self.inner.tables.lock().unwrap().clone();
        let attempt = match &event {
            Event::Start { .. } => 1,
            _ => 0,
        };
        let reply = futures_util::FutureExt::now_or_never(self.inner.apply(id, event, context));
        let reply = reply.expect("it is ready")?;
        let mut tables = self.inner.tables.lock().unwrap();
        match self.fault {
            Fault::ForgetsRows => tables.rows.clone_from(&before.rows),
            Fault::ForgetsUsage => tables.usage.clone_from(&before.usage),
            Fault::ForgetsRecords => tables.records.clone_from(&before.records),
            Fault::LosesConsumption => {
                let approved = before
                    .records
                    .get(id)
                    .filter(|stored| matches!(stored.record.state, RecordState::Approved { .. }));
                if let (Some(approved), EventReply::Started { .. }) = (approved, &reply) {
                    tables.records.insert(id.clone(), approved.clone());
                }
            }
            Fault::ForgetsTheLastWrite => {
                if let Some(stored) = tables.records.get_mut(id) {
                    stored.record.touched = Moment(0);
                }
            }
            Fault::ForgetsArguments => {
                if let Some(stored) = tables.records.get_mut(id) {
                    stored.record.arguments = None;
                }
            }
            Fault::ForgetsErrors => {
                if let Some(stored) = tables.records.get_mut(id) {
                    stored.record.error = None;
                }
            }
            _ => {}
        }
        Ok(match (self.fault, reply) {
            (Fault::StartsTwice, EventReply::InFlight { fence, .. }) if attempt == 1 => {
                EventReply::Started { fence, attempt }
            }
            (Fault::ConfirmsAnyReview, EventReply::Refused(EventError::Decided { .. })) => {
                EventReply::Done
            }
            (_, reply) => reply,
        })
    }
}

impl Store for FaultyStore {
    fn apply(
        &self,
        id: &RecordId,
        event: Event,
        context: AuditContext,
    ) -> StoreFuture<'_, EventReply> {
        if self.fault == Fault::DropsEvents {
            let id = id.clone();
            return Box::pin(async move { self.apply_wrongly(&id, event, context) });
        }
        Box::pin(ready(self.apply_wrongly(id, event, context)))
    }

    fn recall(
        &self,
        id: &RecordId,
        fingerprint: Fingerprint,
        idempotent: bool,
    ) -> StoreFuture<'_, Option<EventReply>> {
        self.inner.recall(&self.id(id), fingerprint, idempotent)
    }

    fn note(&self, note: CallNote) -> StoreFuture<'_, ()> {
        self.inner.note(note)
    }

    fn notes(&self, mut notes: Vec<CallNote>) -> StoreFuture<'_, ()> {
        if self.fault == Fault::ReversesNotes {
            notes.reverse();
        }
        self.inner.notes(notes)
    }

    fn watch(&self, id: &RecordId, seen: RecordVersion) -> StoreFuture<'_, ()> {
        match self.fault {
            Fault::NeverWakes => Box::pin(pending()),
            Fault::WakesAtOnce => Box::pin(ready(Ok(()))),
            _ => self.inner.watch(id, seen),
        }
    }

    fn sweep(&self, most: usize) -> StoreFuture<'_, SweepReport> {
        if self.fault == Fault::ForgetsDenials {
            let (mut tables, now) = (self.inner.tables.lock().unwrap(), self.inner.now());
            tables.records.retain(|_, stored| {
                !matches!(stored.record.state, RecordState::Denied { until, .. } if until < now)
            });
        }
        let swept = self.inner.sweep(most);
        let more = usize::from(self.fault == Fault::MiscountsSweeps);
        Box::pin(async move {
            let report = swept.await?;
            Ok(SweepReport { records: report.records + more, ..report })
        })
    }

    fn find(&self, id: &RecordId) -> StoreFuture<'_, Option<RecordEntry>> {
        self.inner.find(&self.id(id))
    }

    fn records(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<RecordEntry>> {
        self.inner.records(filter, page)
    }

    fn waiting(&self, filter: Filter, mut page: Page) -> StoreFuture<'_, PageOf<RecordEntry>> {
        if self.fault == Fault::ListsWaitingBackwards {
            page.order = match page.order {
                Order::Newest => Order::Oldest,
                Order::Oldest => Order::Newest,
            };
        }
        self.inner.waiting(filter, page)
    }

    fn grant(&self, granting: NewGrant) -> StoreFuture<'_, Grant> {
        self.inner.grant(granting)
    }

    fn revoke(&self, id: GrantId, by: String) -> StoreFuture<'_, Option<Grant>> {
        self.inner.revoke(id, by)
    }

    fn grants(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<Grant>> {
        self.inner.grants(filter, page)
    }

    fn grants_in_force(&self, scope: &Scope) -> StoreFuture<'_, Vec<Grant>> {
        if self.fault == Fault::KeepsRevokedGrants {
            let tables = self.inner.tables.lock().unwrap();
            let all = tables.grants.values().rev().filter(|grant| grant.scope == *scope);
            return Box::pin(ready(Ok(all.cloned().collect())));
        }
        self.inner.grants_in_force(scope)
    }

    fn rows(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<AuditRow>> {
        self.inner.rows(filter, page)
    }

    fn transitions(&self, id: &RecordId) -> StoreFuture<'_, Vec<AuditRow>> {
        self.inner.transitions(&self.id(id))
    }

    fn rules(&self) -> &LedgerLimits {
        &self.limits
    }

    fn find_by_prefix(
        &self,
        prefix: DigestPrefix,
        most: usize,
    ) -> StoreFuture<'_, Vec<RecordEntry>> {
        let most = if self.fault == Fault::FindsNoPrefix { 0 } else { most };
        self.inner.find_by_prefix(prefix, most)
    }

    fn describe(&self) -> String {
        format!("a store that {:?}", self.fault)
    }
}
