//! Between the two batches: plans the writes from what was read. Pure.

use std::collections::{HashMap, HashSet};

use candor_ledger::storage::{EventInput, LedgerWrite, WritePlan};
use candor_ledger::{AuditRow, EventReply, RecordDigest, RecordId, StoreError, Usage};

use super::read::{LoadedRecord, LockedRecords, TransactionReads};
use super::{PgReport, PgWork, StoreContext};
use crate::rows::AuditInsert;
use crate::schema::SHIFT;
use crate::usage::PrincipalUsage;

/// What a transaction will write.
#[derive(Default)]
pub(super) struct TransactionPlan<'a> {
    pub(super) reports: Vec<Result<PgReport, StoreError>>,
    pub(super) rows: Vec<AuditInsert>,
    /// Records that change. `None` removes a record.
    pub(super) records: HashMap<RecordDigest, (&'a RecordId, Option<LoadedRecord>)>,
    pub(super) usage: HashMap<&'a str, Usage>,
    waiting: HashMap<&'a str, u64>,
}

/// A stand-in for usage that was not read. It shows that a plan changes the usage, but the new value is meaningless.
const UNKNOWN: Usage = Usage { records: 1 << 60, bytes: 1 << 60, hour: -1, fresh: 0 };

/// Plans the writes of all work. `Err` has the principals whose usage must be read, too.
pub(super) fn planned<'a>(
    judge: &StoreContext,
    work: &'a [PgWork],
    locked: &LockedRecords,
    read: &TransactionReads,
) -> Result<TransactionPlan<'a>, HashSet<String>> {
    let mut planned = TransactionPlan::default();
    let mut missing = HashSet::new();
    for work in work {
        let report = match work {
            PgWork::Note(note) => {
                let row = AuditRow::of_note(note.clone(), read.now);
                planned.append(read, row, None, None);
                Ok(PgReport::Noted)
            }
            PgWork::Grants(_) => Err(StoreError::Unavailable("a grant is not given here".into())),
            PgWork::Apply { digest, .. }
                if locked.as_ref().is_some_and(|locked| !locked.contains(digest)) =>
            {
                // Another transaction holds the record and looks after it.
                Ok(PgReport::Answer(EventReply::Done))
            }
            PgWork::Apply { id, digest, event, circumstances } => {
                let principal = id.scope.principal.as_str();
                let known = match planned.records.get(digest) {
                    Some((_, known)) => known.clone(),
                    None => read.records.get(digest).cloned(),
                };
                let usage = planned.usage.get(principal).copied();
                let usage = usage.or_else(|| read.usage.get(principal).map(PrincipalUsage::usage));
                let is_known = usage.is_some();
                let usage = usage.unwrap_or(UNKNOWN);
                let before = known.as_ref().map(|known| &known.record);
                let event = event.clone();
                let counted = planned.waiting.get(principal).or(read.waiting.get(principal));
                let waiting = counted.copied().unwrap_or(0);
                let input = EventInput { record: before, usage, pending: waiting, now: read.now };
                let changes_usage = |plan: &WritePlan| {
                    plan.writes.iter().any(|write| matches!(write, LedgerWrite::SetUsage(_)))
                };
                match WritePlan::of(id, event, circumstances, input, &judge.rules) {
                    Ok(plan) if is_known || !changes_usage(&plan) => {
                        let mut last_row = known.as_ref().map(|known| known.last_row);
                        for write in plan.writes {
                            match write {
                                LedgerWrite::Append(row) => {
                                    let seq = planned.append(read, row, Some(*digest), last_row);
                                    last_row = Some(seq);
                                }
                                LedgerWrite::Put(record) => {
                                    let last_row = last_row.unwrap_or_default();
                                    let known = LoadedRecord { record, last_row };
                                    planned.records.insert(*digest, (id, Some(known)));
                                }
                                LedgerWrite::Remove => {
                                    planned.records.insert(*digest, (id, None));
                                }
                                LedgerWrite::SetUsage(usage) => {
                                    planned.usage.insert(principal, usage);
                                }
                            }
                        }
                        planned.waiting.insert(principal, plan.pending);
                        Ok(PgReport::Answer(plan.reply))
                    }
                    Err(quota) if is_known => Err(quota.into()),
                    Ok(_) | Err(_) => {
                        missing.insert(principal.to_owned());
                        Ok(PgReport::Noted)
                    }
                }
            }
        };
        planned.reports.push(report);
    }
    if missing.is_empty() { Ok(planned) } else { Err(missing) }
}

impl TransactionPlan<'_> {
    fn append(
        &mut self,
        read: &TransactionReads,
        row: AuditRow,
        record: Option<RecordDigest>,
        previous: Option<i64>,
    ) -> i64 {
        debug_assert!(self.rows.len() < 1 << SHIFT, "more rows than a transaction has numbers for");
        let seq = read.first_row + self.rows.len() as i64;
        self.rows.push(AuditInsert { seq, row, record, previous });
        seq
    }
}
