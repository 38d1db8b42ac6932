//! The one thread that writes.
//!
//! To make a write durable takes a hundred times longer than the write. So the thread takes all waiting commands, runs them
//! in one transaction, makes it durable, and then answers them all. A command is refused before it has written anything. If
//! one *fails*, the transaction is undone and each command runs on its own, so the others are not affected. (A savepoint for
//! each would also work, but it costs a copy of every page that it touches.)

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::checkpoint::Checkpoints;
use super::error::explain;
use super::grants;
use super::opened::OpenedFiles;
use super::queue::Queue;
use super::rows;
use super::tables::SqliteTables;
use crate::audit::{AuditContext, AuditRow};
use crate::event::{Event, EventReply};
use crate::grant::{Grant, NewGrant};
use crate::id::{GrantId, Moment, RecordDigest, RecordId};
use crate::plan::{EventInput, GrantPlan, LedgerWrite, WritePlan};
use crate::rules::{LedgerLimits, Usage};
use crate::store::{Clock, StoreError, SweepReport};
use crate::watchers::Watchers;

/// The maximum number of commands in a transaction, so that none waits longer than two or three milliseconds for the others.
/// With 256 concurrent callers, a call costs two thirds of what it costs in batches of 64: a page that several touch is
/// written once.
const BATCH: usize = 256;

pub(super) struct SqliteCommand {
    pub(super) work: SqliteWork,
    /// Sends the report when the work is durable.
    pub(super) reply: oneshot::Sender<Result<SqliteReport, StoreError>>,
}

pub(super) enum SqliteWork {
    Apply(Box<Apply>),
    /// Rows that get the time of their transaction.
    Notes(Vec<AuditRow>),
    Sweep {
        most: usize,
    },
    Grant {
        id: GrantId,
        granting: NewGrant,
    },
    Revoke {
        id: GrantId,
        by: String,
    },
}

pub(super) struct Apply {
    pub(super) id: RecordId,
    /// The digest of the id. Callers compute it, because there are many of them and one writer.
    pub(super) digest: RecordDigest,
    pub(super) event: Event,
    pub(super) circumstances: AuditContext,
}

pub(super) enum SqliteReport {
    Answer(EventReply),
    Noted,
    Swept(SweepReport),
    Grant(Option<Grant>),
}

pub(super) struct SqliteWriter {
    pub(super) db: Connection,
    pub(super) checkpoints: Option<Checkpoints>,
    pub(super) opened: Arc<OpenedFiles>,
    pub(super) rules: LedgerLimits,
    pub(super) clock: Clock,
    pub(super) watchers: Arc<Watchers>,
}

impl SqliteWriter {
    /// Runs until no more commands can come.
    pub(super) fn run(self, queue: &Queue) {
        match SqliteTables::prepare(&self.db) {
            Ok(tables) => WriterSession { writer: &self, tables }.run(queue),
            Err(error) => {
                while let Some(commands) = queue.take(1, Duration::ZERO, BATCH) {
                    for command in commands {
                        let _ = command.reply.send(Err(explain(&error)));
                    }
                }
            }
        }
    }
}

/// A running writer, with its prepared statements.
struct WriterSession<'a> {
    writer: &'a SqliteWriter,
    tables: SqliteTables<'a>,
}

/// What the commands of one transaction share.
struct Batch {
    now: Moment,
    /// The usage of each principal, before and after: read once, written once. A batch has few principals.
    usage: Vec<(String, Usage, Usage)>,
    changed: Vec<RecordDigest>,
}

type Reports = Vec<Result<SqliteReport, StoreError>>;

impl WriterSession<'_> {
    fn run(&mut self, queue: &Queue) {
        let (mut expected, mut patience) = (1, Duration::ZERO);
        while let Some(commands) = queue.take(expected, patience, BATCH) {
            let answered = commands.len();
            let begun = Instant::now();
            let waiting = self.write(commands, queue);
            // Most callers that were just answered send another command soon, because a call that starts will end. Without a
            // moment for them, callers fall into two groups that take turns, and a transaction carries half of what it could.
            expected = if answered > 1 { (answered + waiting).min(BATCH) } else { 1 };
            patience = (begun.elapsed() / 4).min(Duration::from_millis(1));
        }
    }

    /// Runs the commands and answers them. Returns the number of commands that arrived meanwhile.
    fn write(&mut self, mut commands: Vec<SqliteCommand>, queue: &Queue) -> usize {
        let done = self.in_one_transaction(&commands);
        let waiting = queue.len();
        match done {
            Ok((reports, changed)) => {
                for (command, report) in commands.into_iter().zip(reports) {
                    // The caller may be gone; the write stays.
                    let _ = command.reply.send(report);
                }
                changed.iter().for_each(|record| self.writer.watchers.changed(record));
                if let Some(checkpoints) = &self.writer.checkpoints {
                    checkpoints.after_commit(&mut self.tables);
                }
            }
            Err(error @ StoreError::Replaced(_)) => {
                for command in commands {
                    let _ = command.reply.send(Err(error.clone()));
                }
            }
            // The whole transaction was lost, and with it commands that did nothing wrong: run each on its own. If it was
            // written in spite of the error, a command finds its own traces and is refused, so there is never a second start.
            Err(_) if commands.len() > 1 => {
                for command in commands {
                    self.write(vec![command], queue);
                }
            }
            Err(error) => {
                if let Some(command) = commands.pop() {
                    let _ = command.reply.send(Err(error));
                }
            }
        }
        waiting
    }

    fn in_one_transaction(
        &mut self,
        commands: &[SqliteCommand],
    ) -> Result<(Reports, Vec<RecordDigest>), StoreError> {
        let done = self.begin().and_then(|batch| self.carry_out_all(commands, batch));
        // Some errors end the transaction; others leave that to us.
        if done.is_err() {
            self.tables.roll_back();
        }
        done
    }

    fn begin(&mut self) -> Result<Batch, StoreError> {
        self.tables.begin().map_err(explained)?;
        let now = match self.writer.clock.given() {
            Some(now) => now,
            None => self.tables.now().map_err(explained)?,
        };
        Ok(Batch { now, usage: Vec::new(), changed: Vec::new() })
    }

    fn carry_out_all(
        &mut self,
        commands: &[SqliteCommand],
        mut batch: Batch,
    ) -> Result<(Reports, Vec<RecordDigest>), StoreError> {
        let mut reports = Vec::with_capacity(commands.len());
        for command in commands {
            reports.push(match self.carry_out(&command.work, &mut batch) {
                Err(StoreError::Quota(quota)) => Err(StoreError::Quota(quota)),
                done => Ok(done?),
            });
        }
        for (principal, had, has) in &batch.usage {
            if had != has {
                self.tables.put_usage(principal, *has).map_err(explained)?;
            }
        }
        // What is committed to a deleted file is lost with this process.
        self.writer.opened.check()?;
        self.tables.commit().map_err(explained)?;
        Ok((reports, batch.changed))
    }

    fn carry_out(
        &mut self,
        work: &SqliteWork,
        batch: &mut Batch,
    ) -> Result<SqliteReport, StoreError> {
        match work {
            SqliteWork::Apply(apply) => self.apply(apply, batch).map(SqliteReport::Answer),
            SqliteWork::Notes(notes) => {
                for row in notes {
                    self.tables.append(row, batch.now, None).map_err(explained)?;
                }
                Ok(SqliteReport::Noted)
            }
            SqliteWork::Sweep { most } => self.sweep(*most, batch).map(SqliteReport::Swept),
            SqliteWork::Grant { id, granting } => {
                self.grant(*id, granting, batch.now).map(|grant| SqliteReport::Grant(Some(grant)))
            }
            SqliteWork::Revoke { id, by } => {
                self.revoke(*id, by, batch.now).map(SqliteReport::Grant)
            }
        }
    }

    fn grant(
        &mut self,
        id: GrantId,
        granting: &NewGrant,
        now: Moment,
    ) -> Result<Grant, StoreError> {
        let stored = grants::in_force(self.tables.db, &granting.scope, now).map_err(explained)?;
        let GrantPlan { grant, row } =
            GrantPlan::give(id, granting.clone(), &stored, now, &self.writer.rules)?;
        self.tables.put_grant(&grant).map_err(explained)?;
        if let Some(row) = row {
            self.tables.append(&row, now, None).map_err(explained)?;
        }
        Ok(grant)
    }

    fn revoke(&mut self, id: GrantId, by: &str, now: Moment) -> Result<Option<Grant>, StoreError> {
        let found = grants::find(self.tables.db, id).map_err(explained)?;
        let Some(stored) = found else { return Ok(None) };
        let GrantPlan { grant, row } = GrantPlan::revoke(stored, by.to_owned(), now);
        if let Some(row) = row {
            grants::revoke(self.tables.db, id, by, now).map_err(explained)?;
            self.tables.append(&row, now, None).map_err(explained)?;
        }
        Ok(Some(grant))
    }

    fn apply(&mut self, apply: &Apply, batch: &mut Batch) -> Result<EventReply, StoreError> {
        let Apply { id, digest, event, circumstances } = apply;
        let found = self.tables.find(digest).map_err(explained)?;
        let place = found.as_ref().map(|found| found.place);
        let mut last_row = found.as_ref().map(|found| found.last_row);
        let before = found.map(|found| found.record);
        let waiting = match event {
            Event::Ask { .. } => {
                self.tables.waiting(&id.scope.principal, batch.now).map_err(explained)?
            }
            _ => 0,
        };
        let usage = self.usage(&id.scope.principal, batch)?;
        let (_, _, has) = &mut batch.usage[usage];

        let rules = &self.writer.rules;
        let (before, event, now) = (before.as_ref(), event.clone(), batch.now);
        let input = EventInput { record: before, usage: *has, pending: waiting, now };
        let WritePlan { writes, reply, pending: _ } =
            WritePlan::of(id, event, circumstances, input, rules)?;
        for write in &writes {
            match write {
                LedgerWrite::Append(row) => {
                    last_row = Some(self.tables.append(row, now, last_row).map_err(explained)?);
                }
                LedgerWrite::Put(record) => {
                    let last_row = last_row.unwrap_or_default();
                    self.tables.put(id, digest, record, last_row, place).map_err(explained)?;
                    batch.changed.push(*digest);
                }
                LedgerWrite::Remove => {
                    if let Some(place) = place {
                        self.tables.remove(place).map_err(explained)?;
                    }
                    batch.changed.push(*digest);
                }
                LedgerWrite::SetUsage(usage) => *has = *usage,
            }
        }
        Ok(reply)
    }

    /// Returns the index of the principal's usage in the batch.
    fn usage(&mut self, principal: &str, batch: &mut Batch) -> Result<usize, StoreError> {
        if let Some(at) = batch.usage.iter().position(|(known, ..)| known == principal) {
            return Ok(at);
        }
        let usage = self.tables.usage(principal).map_err(explained)?;
        batch.usage.push((principal.to_owned(), usage, usage));
        Ok(batch.usage.len() - 1)
    }

    fn sweep(&mut self, most: usize, batch: &mut Batch) -> Result<SweepReport, StoreError> {
        let db = self.tables.db;
        let limit = i64::try_from(most).unwrap_or(i64::MAX);
        let due: Vec<_> = db
            .prepare_cached(
                "SELECT principal, server, instance, tool, key FROM records CROSS JOIN scopes ON scopes.id = scope \
                 WHERE lapses < ? ORDER BY lapses LIMIT ?",
            )
            .and_then(|mut due| {
                due.query_map([batch.now.0, limit], |row| rows::id(row, 0))?.collect()
            })
            .map_err(explained)?;
        let mut swept = SweepReport::default();
        for (scope, key) in due {
            let Some(key) = key else { continue };
            let id = RecordId { scope, key };
            let changed = batch.changed.len();
            let apply = Apply {
                digest: id.digest(),
                id,
                event: Event::Sweep,
                circumstances: AuditContext::default(),
            };
            self.apply(&apply, batch)?;
            swept.records += batch.changed.len() - changed;
        }
        let forget = self.writer.rules.audit_since(batch.now).0;
        // From the oldest on, and only while the rows are too old, because there is no index on the time. The last row stays,
        // because SQLite counts the next number from it.
        swept.rows = db
            .prepare_cached(
                "DELETE FROM audit WHERE at < ?1 AND seq < (SELECT max(seq) FROM audit) AND seq < \
                 coalesce((SELECT min(seq) FROM (SELECT seq, at FROM audit ORDER BY seq LIMIT ?2) WHERE at >= ?1), \
                 (SELECT max(seq) + 1 FROM (SELECT seq FROM audit ORDER BY seq LIMIT ?2)))",
            )
            .and_then(|mut delete| delete.execute([forget, limit]))
            .map_err(explained)?;
        grants::forget(db, forget, limit).map_err(explained)?;
        Ok(swept)
    }
}

#[allow(clippy::needless_pass_by_value)] // `map_err` passes it by value
fn explained(error: rusqlite::Error) -> StoreError {
    explain(&error)
}
