//! The one thread that writes.
//!
//! To make a write durable takes a hundred times longer than the write. So it takes all commands that wait, runs them in one
//! transaction, makes that durable, and then answers them all. A command is refused before it has written anything; if one
//! *fails*, the transaction is undone and each runs on its own, so it takes nothing of the others with it. (A savepoint for each
//! would do that too, and costs a copy of every page that it touches.)

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::error::explain;
use super::queue::Queue;
use super::rows;
use crate::audit::{AuditRow, Circumstances, Note};
use crate::event::{Answer, Event};
use crate::id::{Moment, RecordDigest, RecordId};
use crate::machine::After;
use crate::plan::plan;
use crate::rules::{Rules, Usage};
use crate::store::{Clock, StoreError, Swept};
use crate::watchers::Watchers;

/// At most so many commands share a transaction, so that none waits for too many others.
const BATCH: usize = 64;

pub(super) struct Command {
    pub(super) work: Work,
    /// Used when what was done is durable.
    pub(super) reply: oneshot::Sender<Result<Report, StoreError>>,
}

pub(super) enum Work {
    Apply(Box<(RecordId, Event, Circumstances)>),
    Note(Box<Note>),
    Sweep { most: usize },
}

pub(super) enum Report {
    Answer(Answer),
    Noted,
    Swept(Swept),
}

pub(super) struct Writer {
    pub(super) db: Connection,
    pub(super) rules: Rules,
    pub(super) clock: Clock,
    pub(super) watchers: Arc<Watchers>,
}

/// What the commands of one transaction share.
struct Batch {
    now: Moment,
    /// What principals had and have: read once, written once.
    usage: HashMap<String, (Usage, Usage)>,
    changed: Vec<RecordDigest>,
}

type Reports = Vec<Result<Report, StoreError>>;

impl Writer {
    /// Until nobody can send commands any more.
    pub(super) fn run(self, queue: &Queue) {
        let (mut expected, mut patience) = (1, Duration::ZERO);
        while let Some(commands) = queue.take(expected, patience, BATCH) {
            let answered = commands.len();
            let begun = Instant::now();
            let waiting = self.write(commands, queue);
            // Who was just answered has mostly more to say: what starts will end. Without a moment for them, callers fall into
            // two groups that take turns, and a transaction carries half of what it could.
            expected = if answered > 1 { (answered + waiting).min(BATCH) } else { 1 };
            patience = (begun.elapsed() / 4).min(Duration::from_millis(1));
        }
    }

    /// Returns how many came meanwhile.
    fn write(&self, mut commands: Vec<Command>, queue: &Queue) -> usize {
        let done = self.in_one_transaction(&commands);
        let waiting = queue.len();
        match done {
            Ok((reports, changed)) => {
                for (command, report) in commands.into_iter().zip(reports) {
                    // Who asked may be gone; what was written stays.
                    let _ = command.reply.send(report);
                }
                changed.iter().for_each(|record| self.watchers.changed(record));
            }
            // The transaction as a whole was lost, and with it those that did nothing wrong: each on its own, then. Should it
            // have been written in spite of the error, a command finds its own traces and is refused: never a second start.
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
        &self,
        commands: &[Command],
    ) -> Result<(Reports, Vec<RecordDigest>), StoreError> {
        let result = self.begin().and_then(|mut batch| {
            let mut reports = Vec::with_capacity(commands.len());
            for command in commands {
                reports.push(match self.carry_out(&command.work, &mut batch) {
                    Err(StoreError::Quota(quota)) => Err(StoreError::Quota(quota)),
                    done => Ok(done?),
                });
            }
            for (principal, (had, has)) in &batch.usage {
                if had != has {
                    rows::put_usage(&self.db, principal, *has).map_err(|error| explain(&error))?;
                }
            }
            self.execute("COMMIT")?;
            Ok((reports, batch.changed))
        });
        // Some errors end the transaction, others leave that to us.
        if result.is_err() && !self.db.is_autocommit() {
            let _ = self.execute("ROLLBACK");
        }
        result
    }

    fn begin(&self) -> Result<Batch, StoreError> {
        self.execute("BEGIN IMMEDIATE")?;
        let now = match self.clock.given() {
            Some(now) => now,
            None => now_of(&self.db)?,
        };
        Ok(Batch { now, usage: HashMap::new(), changed: Vec::new() })
    }

    fn carry_out(&self, work: &Work, batch: &mut Batch) -> Result<Report, StoreError> {
        match work {
            Work::Apply(apply) => {
                let (id, event, circumstances) = &**apply;
                self.apply(id, event.clone(), circumstances, batch).map(Report::Answer)
            }
            Work::Note(note) => {
                let row = AuditRow::of_note(Note::clone(note), batch.now);
                rows::append(&self.db, &row, None).map_err(|error| explain(&error))?;
                Ok(Report::Noted)
            }
            Work::Sweep { most } => self.sweep(*most, batch).map(Report::Swept),
        }
    }

    fn apply(
        &self,
        id: &RecordId,
        event: Event,
        circumstances: &Circumstances,
        batch: &mut Batch,
    ) -> Result<Answer, StoreError> {
        let explain = |error: rusqlite::Error| explain(&error);
        let digest = id.digest();
        let principal = &id.scope.principal;
        let found = rows::find(&self.db, &digest).map_err(explain)?;
        let mut last_row = found.as_ref().map(|found| found.last_row);
        let before = found.map(|found| found.record);
        if !batch.usage.contains_key(principal) {
            let usage = rows::usage(&self.db, principal).map_err(explain)?;
            batch.usage.insert(principal.clone(), (usage, usage));
        }
        let usage = batch.usage.get(principal).map(|(_, has)| *has).unwrap_or_default();

        let plan = plan(id, before.as_ref(), usage, event, circumstances, batch.now, &self.rules)?;
        for row in &plan.rows {
            let row = rows::append(&self.db, row, Some((&digest, last_row))).map_err(explain)?;
            last_row = Some(row);
        }
        match &plan.after {
            After::Unchanged => return Ok(plan.answer),
            After::Written(record) => {
                let last_row = last_row.unwrap_or_default();
                rows::put(&self.db, id, &digest, record, last_row, before.is_none())
                    .map_err(explain)?;
            }
            After::Removed => rows::remove(&self.db, &digest).map_err(explain)?,
        }
        if let Some((_, has)) = batch.usage.get_mut(principal) {
            *has = plan.usage;
        }
        batch.changed.push(digest);
        Ok(plan.answer)
    }

    fn sweep(&self, most: usize, batch: &mut Batch) -> Result<Swept, StoreError> {
        let explain = |error: rusqlite::Error| explain(&error);
        let due: Vec<RecordId> = {
            let mut due = self
                .db
                .prepare_cached(
                    "SELECT principal, server, instance, tool, key FROM records WHERE lapses < ? ORDER BY lapses LIMIT ?",
                )
                .map_err(explain)?;
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let found =
                due.query_map([batch.now.0, most], |row| rows::id(row, 0)).map_err(explain)?;
            let found: Vec<_> = found.collect::<Result<_, _>>().map_err(explain)?;
            found
                .into_iter()
                .filter_map(|(scope, key)| Some(RecordId { scope, key: key? }))
                .collect()
        };
        let mut swept = Swept::default();
        for id in due {
            let changed = batch.changed.len();
            self.apply(&id, Event::Sweep, &Circumstances::default(), batch)?;
            swept.records += batch.changed.len() - changed;
        }
        let age = i64::try_from(self.rules.audit.as_millis()).unwrap_or(i64::MAX);
        let forget = batch.now.0.saturating_sub(age);
        // From the oldest on, and only while they are too old: without an index on the time. The last one stays, because the
        // next number is counted from it.
        swept.rows = self
            .db
            .prepare_cached(
                "DELETE FROM audit WHERE at < ?1 AND seq < (SELECT max(seq) FROM audit) AND seq < \
                 coalesce((SELECT min(seq) FROM (SELECT seq, at FROM audit ORDER BY seq LIMIT ?2) WHERE at >= ?1), \
                 (SELECT max(seq) + 1 FROM (SELECT seq FROM audit ORDER BY seq LIMIT ?2)))",
            )
            .and_then(|mut delete| delete.execute([forget, i64::try_from(most).unwrap_or(i64::MAX)]))
            .map_err(explain)?;
        Ok(swept)
    }

    fn execute(&self, sql: &str) -> Result<(), StoreError> {
        self.db
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute([]))
            .map(drop)
            .map_err(|error| explain(&error))
    }
}

fn now_of(db: &Connection) -> Result<Moment, StoreError> {
    db.prepare_cached(&format!("SELECT {}", rows::NOW))
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map(Moment)
        .map_err(|error| explain(&error))
}
