//! The writer's access to the tables: its statements, prepared once, and the scopes that it knows.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension as _, PrepFlags, Result, Statement, ToSql};

use super::grants;
use super::rows::{self, StoredRecord};
use super::unsigned::UnsignedInteger;
use crate::audit::{AuditContext, AuditRow};
use crate::columns::{Columns, StartReasonName};
use crate::grant::Grant;
use crate::id::{Key, Moment, RecordDigest, RecordId, Scope};
use crate::outcome::OutcomeKind;
use crate::record::{ApprovalChannel, Record, StateKind, UnknownReason};
use crate::rules::Usage;

/// The maximum number of scopes that are kept in memory.
const KNOWN: usize = 4_096;

pub(super) struct SqliteTables<'db> {
    pub(super) db: &'db Connection,
    begin: Statement<'db>,
    commit: Statement<'db>,
    now: Statement<'db>,
    find: Statement<'db>,
    insert: Statement<'db>,
    update: Statement<'db>,
    remove: Statement<'db>,
    append: Statement<'db>,
    usage: Statement<'db>,
    put_usage: Statement<'db>,
    scope: Statement<'db>,
    put_scope: Statement<'db>,
    /// The numbers of scopes in the file. Scopes are never removed from it.
    known: HashMap<Scope, i64>,
    /// The last scope used: most calls of a batch have the same one.
    last: Option<(Scope, i64)>,
}

/// Binds parameters by position, one after the other, because to find them by name costs more than to bind them. It skips a
/// missing value, so all bindings must have been cleared.
struct ParameterBinder<'a, 'db> {
    statement: &'a mut Statement<'db>,
    at: usize,
}

impl<'a, 'db> ParameterBinder<'a, 'db> {
    fn new(statement: &'a mut Statement<'db>) -> Self {
        statement.clear_bindings();
        Self { statement, at: 0 }
    }

    fn put(&mut self, value: impl ToSql) -> Result<()> {
        self.at += 1;
        self.statement.raw_bind_parameter(self.at, value)
    }

    fn maybe(&mut self, value: Option<impl ToSql>) -> Result<()> {
        match value {
            Some(value) => self.put(value),
            None => {
                self.at += 1;
                Ok(())
            }
        }
    }
}

impl<'db> SqliteTables<'db> {
    pub(super) fn prepare(db: &'db Connection) -> Result<Self> {
        // Persistent: these statements do not use the little memory that SQLite reserves for statements that run.
        let keep = |sql: &str| db.prepare_with_flags(sql, PrepFlags::SQLITE_PREPARE_PERSISTENT);
        Ok(Self {
            db,
            begin: keep("BEGIN IMMEDIATE")?,
            commit: keep("COMMIT")?,
            now: keep(&format!("SELECT {}", rows::NOW))?,
            find: keep(rows::FIND)?,
            insert: keep(rows::INSERT)?,
            update: keep(rows::UPDATE)?,
            remove: keep("DELETE FROM records WHERE row = ?")?,
            append: keep(rows::APPEND)?,
            usage: keep("SELECT records, bytes, hour, fresh FROM usage WHERE principal = ?")?,
            put_usage: keep("INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?)")?,
            scope: keep(
                "SELECT id FROM scopes WHERE principal = ? AND server = ? AND instance = ? AND tool = ?",
            )?,
            put_scope: keep(
                "INSERT INTO scopes (principal, server, instance, tool) VALUES (?, ?, ?, ?)",
            )?,
            known: HashMap::new(),
            last: None,
        })
    }

    pub(super) fn begin(&mut self) -> Result<()> {
        self.begin.raw_execute().map(drop)
    }

    pub(super) fn commit(&mut self) -> Result<()> {
        self.commit.raw_execute().map(drop)
    }

    /// Rolls back the transaction, if one is still open.
    pub(super) fn roll_back(&mut self) {
        // New scopes are gone with the transaction.
        self.known.clear();
        self.last = None;
        if !self.db.is_autocommit() {
            let _ = self.db.execute_batch("ROLLBACK");
        }
    }

    pub(super) fn now(&mut self) -> Result<Moment> {
        self.now.query_row([], |row| row.get(0)).map(Moment)
    }

    pub(super) fn find(&mut self, digest: &RecordDigest) -> Result<Option<StoredRecord>> {
        rows::find(&mut self.find, digest)
    }

    /// Returns the number of a scope, and adds the scope if it is new.
    fn scope(&mut self, scope: &Scope) -> Result<i64> {
        if let Some((last, number)) = &self.last
            && last == scope
        {
            return Ok(*number);
        }
        let number = match self.known.get(scope) {
            Some(number) => *number,
            None => {
                let Scope { principal, server, instance, tool } = scope;
                let found = self
                    .scope
                    .query_row([principal, server, instance, tool], |row| row.get(0))
                    .optional()?;
                let number = match found {
                    Some(number) => number,
                    None => self.put_scope.insert([principal, server, instance, tool])?,
                };
                if self.known.len() == KNOWN {
                    self.known.clear();
                }
                self.known.insert(scope.clone(), number);
                number
            }
        };
        self.last = Some((scope.clone(), number));
        Ok(number)
    }

    /// Writes a record: over the row `place` if it has one, or as a new row.
    pub(super) fn put(
        &mut self,
        id: &RecordId,
        digest: &RecordDigest,
        record: &Record,
        last_row: i64,
        place: Option<i64>,
    ) -> Result<()> {
        let scope = match place {
            None => self.scope(&id.scope)?,
            Some(_) => 0,
        };
        let columns = Columns::of(&record.state);
        let mut bind =
            ParameterBinder::new(if place.is_some() { &mut self.update } else { &mut self.insert });
        bind.put(&record.fingerprint.0[..])?;
        bind.put(UnsignedInteger(record.fence.0))?;
        bind.put(record.attempt)?;
        bind.put(record.idempotent)?;
        bind.put(record.created.0)?;
        bind.put(record.touched.0)?;
        bind.maybe(columns.state.map(StateKind::as_str))?;
        bind.maybe(columns.lapses)?;
        bind.maybe(columns.owner.as_ref().map(|owner| &owner[..]))?;
        bind.maybe(columns.since)?;
        bind.maybe(columns.license.map(StartReasonName::as_str))?;
        bind.maybe(columns.started_by.as_ref().map(|owner| &owner[..]))?;
        bind.maybe(columns.reason.map(UnknownReason::as_str))?;
        bind.maybe(columns.round)?;
        bind.maybe(columns.by_whom.as_deref())?;
        bind.maybe(columns.outcome_kind.map(OutcomeKind::as_str))?;
        bind.maybe(columns.outcome_len.map(UnsignedInteger))?;
        bind.maybe(columns.outcome_digest.as_ref().map(|digest| &digest[..]))?;
        bind.maybe(columns.outcome.as_deref())?;
        bind.maybe(columns.binding.as_ref().map(|binding| &binding[..]))?;
        bind.maybe(columns.gated)?;
        bind.maybe(columns.decided_by.as_deref())?;
        bind.maybe(columns.via.map(ApprovalChannel::as_str))?;
        bind.maybe(columns.why.as_deref())?;
        bind.maybe(columns.refuses_until)?;
        bind.maybe(record.error.as_ref().map(|error| error.code.as_str()))?;
        bind.maybe(record.error.as_ref().map(|error| error.message.as_str()))?;
        bind.maybe(record.arguments.as_deref())?;
        bind.put(last_row)?;
        match place {
            Some(row) => bind.put(row)?,
            None => {
                bind.put(rows::short(digest))?;
                bind.put(&digest.0[..])?;
                bind.put(scope)?;
                bind.put(id.key.as_str())?;
            }
        }
        bind.statement.raw_execute().map(drop)
    }

    pub(super) fn remove(&mut self, place: i64) -> Result<()> {
        self.remove.execute([place]).map(drop)
    }

    /// Appends an audit row and returns its number. `previous` is the last row of the record that it is about, if any.
    pub(super) fn append(
        &mut self,
        row: &AuditRow,
        at: Moment,
        previous: Option<i64>,
    ) -> Result<i64> {
        let scope = self.scope(&row.scope)?;
        let AuditContext { shape, digest, hints, duration, note, error, arguments: _ } =
            &row.circumstances;
        let mut bind = ParameterBinder::new(&mut self.append);
        bind.put(at.0)?;
        bind.maybe(previous)?;
        bind.put(scope)?;
        bind.maybe(row.key.as_ref().map(Key::as_str))?;
        bind.put(row.event.as_str())?;
        bind.maybe(row.change.map(|change| change.from.as_str()))?;
        bind.maybe(row.change.map(|change| change.to.as_str()))?;
        bind.maybe(row.change.map(|change| UnsignedInteger(change.fence.0)))?;
        bind.maybe(row.change.map(|change| change.attempt))?;
        bind.maybe(row.reason.map(UnknownReason::as_str))?;
        bind.maybe(row.outcome.map(OutcomeKind::as_str))?;
        bind.maybe(row.by.as_deref())?;
        bind.maybe(shape.as_deref())?;
        bind.maybe(digest.as_ref().map(|digest| &digest[..]))?;
        bind.maybe(hints.as_deref())?;
        bind.maybe(
            duration.map(|duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)),
        )?;
        bind.maybe(note.as_deref())?;
        bind.maybe(row.via.map(ApprovalChannel::as_str))?;
        bind.maybe(row.why.as_deref())?;
        bind.maybe(error.as_ref().map(|error| error.code.as_str()))?;
        bind.maybe(error.as_ref().map(|error| error.message.as_str()))?;
        bind.statement.raw_execute()?;
        Ok(self.db.last_insert_rowid())
    }

    /// Counts the pending approval requests of a principal. It is rarely needed, so it is not prepared in advance.
    pub(super) fn waiting(&mut self, principal: &str, now: Moment) -> Result<u64> {
        self.db
            .prepare_cached(rows::COUNT_WAITING)?
            .query_row((principal, now.0), |row| UnsignedInteger::read(row, 0))
    }

    pub(super) fn put_grant(&mut self, grant: &Grant) -> Result<()> {
        let scope = self.scope(&grant.scope)?;
        grants::put(self.db, grant, scope)
    }

    pub(super) fn usage(&mut self, principal: &str) -> Result<Usage> {
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Usage {
                records: UnsignedInteger::read(row, 0)?,
                bytes: UnsignedInteger::read(row, 1)?,
                hour: row.get(2)?,
                fresh: UnsignedInteger::read(row, 3)?,
            })
        };
        self.usage.query_row([principal], read).optional().map(Option::unwrap_or_default)
    }

    pub(super) fn put_usage(&mut self, principal: &str, usage: Usage) -> Result<()> {
        let Usage { records, bytes, hour, fresh } = usage;
        let (records, bytes, fresh) =
            (UnsignedInteger(records), UnsignedInteger(bytes), UnsignedInteger(fresh));
        self.put_usage.execute((principal, records, bytes, hour, fresh)).map(drop)
    }
}
