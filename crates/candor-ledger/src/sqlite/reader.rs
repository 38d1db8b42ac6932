//! Connections that only read, beside the writer and without waiting for it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use super::connect::connect;
use super::error::explain;
use super::opened::OpenedFiles;
use super::unsigned::UnsignedInteger;
use super::{grants, rows};
use crate::audit::{AuditRow, Filter, Order, Page, PageOf, RecordEntry};
use crate::grant::Grant;
use crate::id::{DigestPrefix, Moment, RecordDigest, RecordId, Scope};
use crate::record::{Record, StateKind};
use crate::rules::LedgerLimits;
use crate::store::{Clock, StoreError};
use crate::turns::PendingApprovals;

/// The maximum number of idle connections that are kept for later reads.
const KEPT: usize = 4;

pub(super) struct Readers {
    path: PathBuf,
    opened: Arc<OpenedFiles>,
    idle: Mutex<Vec<Connection>>,
    pub(super) rules: LedgerLimits,
    clock: Clock,
}

impl Readers {
    pub(super) fn new(
        path: PathBuf,
        opened: Arc<OpenedFiles>,
        rules: LedgerLimits,
        clock: Clock,
    ) -> Self {
        Self { path, opened, idle: Mutex::default(), rules, clock }
    }

    fn with<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().pop();
        let db = match kept {
            Some(db) => db,
            None => {
                let db = connect(&self.path)?;
                // A new connection would read another ledger than the writer has. Older ones may continue: what they find did
                // happen.
                self.opened.check()?;
                db.pragma_update(None, "query_only", true).map_err(|error| explain(&error))?;
                db
            }
        };
        let found = read(&db).map_err(|error| explain(&error));
        let mut idle = idle();
        if idle.len() < KEPT {
            idle.push(db);
        }
        found
    }

    /// Returns a record as stored, and the time.
    pub(super) fn find(
        &self,
        digest: &RecordDigest,
    ) -> Result<Option<(Record, Moment)>, StoreError> {
        let found = self.with(|db| rows::find(&mut *db.prepare_cached(rows::FIND)?, digest))?;
        Ok(found.map(|found| (found.record, self.clock.given().unwrap_or(found.now))))
    }

    fn now(&self, db: &Connection) -> rusqlite::Result<Moment> {
        match self.clock.given() {
            Some(now) => Ok(now),
            None => {
                db.query_row(&format!("SELECT {}", rows::NOW), [], |row| row.get(0)).map(Moment)
            }
        }
    }

    pub(super) fn records(
        &self,
        filter: &Filter,
        page: Page,
    ) -> Result<PageOf<RecordEntry>, StoreError> {
        let mut query = SqliteQuery::new(rows::LIST, "row", page);
        query.scope(filter, "touched");
        if let Some(state) = filter.state {
            query.one_of("state", state.stored_as());
        }
        self.entries(query, filter)
    }

    pub(super) fn waiting(
        &self,
        filter: &Filter,
        page: Page,
    ) -> Result<PageOf<RecordEntry>, StoreError> {
        let filter = Filter { state: Some(StateKind::Waiting), ..filter.clone() };
        self.entries(waiting(&filter, page), &filter)
    }

    pub(super) fn turns(&self, most: usize) -> Result<PendingApprovals, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.with(|db| {
            let mut statement = db.prepare_cached(rows::TURNS)?;
            PendingApprovals::of_rows(statement.query_map((self.now(db)?.0, most), rows::waits)?)
        })
    }

    fn entries(
        &self,
        query: SqliteQuery,
        filter: &Filter,
    ) -> Result<PageOf<RecordEntry>, StoreError> {
        self.with(|db| {
            let now = self.now(db)?;
            query.run(db, |row| {
                let stored = rows::record(row)?;
                let (scope, key) = rows::id(row, rows::BEHIND + 1)?;
                let entry = key
                    .map(|key| RecordEntry::new(RecordId { scope, key }, stored, now, &self.rules));
                let entry = entry.filter(|entry| filter.has_seen(entry));
                Ok((UnsignedInteger::read(row, rows::BEHIND)?, entry))
            })
        })
    }

    pub(super) fn grants(&self, filter: &Filter, page: Page) -> Result<PageOf<Grant>, StoreError> {
        let filter = Filter { key: None, ..filter.clone() };
        let mut query = SqliteQuery::new(grants::LIST, "number", page);
        query.scope(&filter, "since");
        self.with(|db| {
            query.run(db, |row| {
                let (number, grant) = grants::read(row)?;
                Ok((number, Some(grant)))
            })
        })
    }

    pub(super) fn grants_in_force(&self, scope: &Scope) -> Result<Vec<Grant>, StoreError> {
        self.with(|db| grants::in_force(db, scope, self.now(db)?))
    }

    pub(super) fn beginning(
        &self,
        prefix: &DigestPrefix,
        most: usize,
    ) -> Result<Vec<RecordEntry>, StoreError> {
        let page = Page { from: None, most, order: Order::Newest };
        // The plus keeps SQLite from walking all rows in this order: it uses the index on `short` instead. `short` is signed,
        // but digests that begin with the same digit have the same sign.
        let mut query = SqliteQuery::new(rows::LIST, "+row", page);
        let (first, last) = prefix.bounds();
        query.and("short >= ?", rows::short(first));
        query.and("short <= ?", rows::short(last));
        query.and("records.id >= ?", first.0.to_vec());
        query.and("records.id <= ?", last.0.to_vec());
        Ok(self.entries(query, &Filter::default())?.items)
    }

    pub(super) fn rows(&self, filter: &Filter, page: Page) -> Result<PageOf<AuditRow>, StoreError> {
        let mut query = SqliteQuery::new(rows::AUDIT, "seq", page);
        query.scope(filter, "at");
        if let Some(state) = filter.state {
            query.one_of("came_to", [state].to_vec());
        }
        self.with(|db| {
            query.run(db, |row| {
                let row = rows::audit_row(row)?;
                Ok((row.seq, Some(row)))
            })
        })
    }

    pub(super) fn story(&self, id: &RecordId) -> Result<Vec<AuditRow>, StoreError> {
        self.with(|db| rows::story(db, id))
    }
}

/// Builds the query for pending approval requests. Its index has no other records.
fn waiting(filter: &Filter, page: Page) -> SqliteQuery {
    let mut query = SqliteQuery::new(rows::WAITING, "last_row", page);
    query.sql += " AND state = 'waiting'";
    query.scope(filter, "touched");
    query
}

/// A query for a list.
struct SqliteQuery {
    sql: String,
    values: Vec<Value>,
    number: &'static str,
    page: Page,
}

impl SqliteQuery {
    fn new(select: &str, number: &'static str, page: Page) -> Self {
        let mut query = Self { sql: format!("{select} WHERE 1"), values: Vec::new(), number, page };
        if let Some(from) = page.from {
            let compare = if page.order == Order::Newest { "<=" } else { ">=" };
            let from = i64::try_from(from).unwrap_or(i64::MAX);
            query.and(&format!("{number} {compare} ?"), from);
        }
        query
    }

    fn and(&mut self, test: &str, value: impl Into<Value>) {
        self.sql += " AND ";
        self.sql += test;
        self.values.push(value.into());
    }

    fn scope(&mut self, filter: &Filter, time: &str) {
        if let Some(since) = filter.since {
            self.and(&format!("{time} >= ?"), since.0);
        }
        if let Some(before) = filter.before {
            self.and(&format!("{time} < ?"), before.0);
        }
        // Find the few scopes first. Then one comparison of numbers rules out most rows.
        for (column, wanted) in [("principal", &filter.principal), ("tool", &filter.tool)] {
            if let Some(wanted) = wanted {
                let test = format!("scope IN (SELECT id FROM scopes WHERE {column} = ?)");
                self.and(&test, wanted.clone());
            }
        }
        if let Some(wanted) = &filter.key {
            self.and("key = ?", wanted.clone());
        }
    }

    fn one_of(&mut self, column: &str, states: Vec<StateKind>) {
        let places = vec!["?"; states.len()].join(", ");
        self.sql += &format!(" AND {column} IN ({places})");
        self.values.extend(states.into_iter().map(|state| Value::from(state.as_str().to_owned())));
    }

    /// Runs the query. `read` returns the number of a row and its item, or no item if the row does not match after all.
    fn run<T>(
        mut self,
        db: &Connection,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<(u64, Option<T>)>,
    ) -> rusqlite::Result<PageOf<T>> {
        let direction = if self.page.order == Order::Newest { "DESC" } else { "ASC" };
        self.sql += &format!(" ORDER BY {} {direction}", self.number);
        let mut statement = db.prepare(&self.sql)?;
        let mut found = statement.query(params_from_iter(self.values))?;
        let mut paged = PageOf { items: Vec::new(), next: None };
        while let Some(row) = found.next()? {
            let (number, item) = read(row)?;
            let Some(item) = item else { continue };
            if paged.items.len() == self.page.most {
                paged.next = Some(number);
                break;
            }
            paged.items.push(item);
        }
        Ok(paged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    /// Returns SQLite's plan for a list.
    fn steps(db: &Connection, mut query: SqliteQuery) -> String {
        query.sql = format!("EXPLAIN QUERY PLAN {} ORDER BY {} DESC", query.sql, query.number);
        let mut statement = db.prepare(&query.sql).unwrap();
        let steps = statement
            .query_map(params_from_iter(query.values), |row| row.get::<_, String>(3))
            .unwrap();
        steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn history_lists_are_read_by_row_number_without_sorting() {
        let mut db = Connection::open_in_memory().unwrap();
        schema::migrate(&mut db).unwrap();
        let wanted = || Some("x".to_owned());
        let filters = [
            Filter::default(),
            Filter { principal: wanted(), ..Filter::default() },
            Filter { principal: wanted(), tool: wanted(), key: wanted(), ..Filter::default() },
            Filter { since: Some(Moment(1)), before: Some(Moment(2)), ..Filter::default() },
        ];
        for filter in filters {
            for (select, number, time, table) in
                [(rows::AUDIT, "seq", "at", "audit"), (rows::LIST, "row", "touched", "records")]
            {
                let page = Page { from: Some(100), ..Page::default() };
                let mut query = SqliteQuery::new(select, number, page);
                query.scope(&filter, time);
                let steps = steps(&db, query);
                let by_number = format!("SEARCH {table} USING INTEGER PRIMARY KEY");
                assert!(steps.starts_with(&by_number), "{steps}");
                assert!(steps.contains("SEARCH scopes USING INTEGER PRIMARY KEY"), "{steps}");
                assert!(!steps.contains("ORDER BY"), "{steps}");
            }
        }
    }

    #[test]
    fn pending_requests_are_read_by_index_in_order() {
        let mut db = Connection::open_in_memory().unwrap();
        schema::migrate(&mut db).unwrap();
        for tool in [None, Some("x".to_owned())] {
            let filter = Filter { tool, ..Filter::default() };
            let steps = steps(&db, waiting(&filter, Page::default()));
            assert!(steps.contains("records USING INDEX records_waiting;"), "{steps}");
            assert!(!steps.contains("ORDER BY"), "{steps}");
        }
    }
}
