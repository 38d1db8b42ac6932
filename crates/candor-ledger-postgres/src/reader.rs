//! Connections that only read.
//!
//! A list from the oldest on ends before the oldest of the ledger's transactions that still run. Below it, no more rows
//! appear, so a reader that continues there misses nothing (see `schema`). A list waits briefly for transactions that began
//! before it. A list from the newest on has all that is committed.

use std::sync::Arc;
use std::time::Duration;

use candor_ledger::{
    AuditRow, DigestPrefix, Filter, Grant, Moment, Order, Page, PageOf, PendingApprovals, Record,
    RecordDigest, RecordEntry, RecordId, Scope, StateKind, StoreError,
};
use tokio::time::{Instant, sleep};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use crate::error::explain;
use crate::grants;
use crate::line::{PgConnection, PgSession};
use crate::rows;
use crate::schema::SHIFT;
use crate::transaction::StoreContext;

/// How long a list from the oldest on waits for running transactions. They take milliseconds.
const OTHERS: Duration = Duration::from_secs(1);

pub(crate) struct Reader {
    /// For single records: many short reads.
    pub(crate) records: PgConnection,
    /// For lists.
    pub(crate) lists: PgConnection,
    pub(crate) judge: Arc<StoreContext>,
}

impl Reader {
    /// Returns the records as stored, and the time. Leaves out records that do not exist.
    pub(crate) async fn find_all(
        &self,
        digests: &[RecordDigest],
    ) -> Result<Vec<(RecordDigest, Record, Moment)>, StoreError> {
        let names: Vec<&[u8]> = digests.iter().map(|digest| &digest.0[..]).collect();
        let names = &names;
        let find = async |session: Arc<PgSession>| {
            let statement = session.prepared(rows::FIND).await?;
            session.client.query(&statement, &[names]).await
        };
        let found = self
            .records
            .ask(async |session: Arc<PgSession>| match find(Arc::clone(&session)).await {
                Ok(found) => Ok(found),
                // The connection was lost, just now or while it was idle. Reading changes nothing, so read again.
                Err(_) if session.is_over() => {
                    let session = self.records.session().await?;
                    find(session).await.map_err(|error| explain(&error))
                }
                Err(error) => Err(explain(&error)),
            })
            .await?;
        let given = self.judge.clock.given();
        found
            .iter()
            .map(|row| {
                let (digest, now) = rows::name_and_number(row)?;
                Ok((digest, rows::record(row)?, given.unwrap_or(Moment(now))))
            })
            .collect()
    }

    pub(crate) async fn find(
        &self,
        digest: &RecordDigest,
    ) -> Result<Option<(Record, Moment)>, StoreError> {
        let found = self.find_all(&[*digest]).await?;
        Ok(found.into_iter().next().map(|(_, record, now)| (record, now)))
    }

    pub(crate) async fn records(
        &self,
        filter: Filter,
        page: Page,
    ) -> Result<PageOf<RecordEntry>, StoreError> {
        let mut query = PgQuery::new(rows::LIST, "row", page);
        query.scope(&filter, "touched");
        if let Some(state) = filter.state {
            query.one_of("state", state.stored_as());
        }
        self.entries(query, filter).await
    }

    pub(crate) async fn waiting(
        &self,
        filter: Filter,
        page: Page,
    ) -> Result<PageOf<RecordEntry>, StoreError> {
        let filter = Filter { state: Some(StateKind::Waiting), ..filter };
        let mut query = PgQuery::new(rows::WAITING, "last_row", page);
        // Exactly as in the index, so that PostgreSQL uses it.
        query.sql += " AND state = 'waiting'";
        query.scope(&filter, "touched");
        self.entries(query, filter).await
    }

    pub(crate) async fn turns(&self, most: usize) -> Result<PendingApprovals, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let given = self.judge.clock.given().map(|now| now.0);
        let found = self
            .lists
            .ask(async |session: Arc<PgSession>| {
                let explain = |error: tokio_postgres::Error| explain(&error);
                let statement = session.prepared(rows::TURNS).await.map_err(explain)?;
                session.client.query(&statement, &[&given, &most]).await.map_err(explain)
            })
            .await?;
        PendingApprovals::of_rows(found.iter().map(rows::waits))
    }

    pub(crate) async fn grants(
        &self,
        filter: Filter,
        page: Page,
    ) -> Result<PageOf<Grant>, StoreError> {
        let filter = Filter { key: None, ..filter };
        let mut query = PgQuery::new(grants::LIST, "number", page);
        query.scope(&filter, "since");
        self.lists
            .ask(async |session: Arc<PgSession>| {
                query
                    .run(&session.client, self.judge.names.writing(), |row| {
                        grants::read(row).map(|(number, grant)| (number, Some(grant)))
                    })
                    .await
            })
            .await
    }

    pub(crate) async fn grants_in_force(&self, scope: &Scope) -> Result<Vec<Grant>, StoreError> {
        grants::in_force(&self.records, &self.judge, scope).await
    }

    async fn entries(
        &self,
        query: PgQuery,
        filter: Filter,
    ) -> Result<PageOf<RecordEntry>, StoreError> {
        self.lists
            .ask(async |session: Arc<PgSession>| {
                let now = self.now(&session.client).await?;
                query
                    .run(&session.client, self.judge.names.writing(), |row| {
                        let (_, number) = rows::name_and_number(row)?;
                        let entry = self.entry(row, now)?;
                        Ok((number, entry.filter(|entry| filter.has_seen(entry))))
                    })
                    .await
            })
            .await
    }

    /// Returns the record of a row of a list. Returns `None` if the row has no key.
    fn entry(&self, row: &Row, now: Moment) -> Result<Option<RecordEntry>, StoreError> {
        let stored = rows::record(row)?;
        let (scope, key) = rows::id(row, rows::BEHIND + 2)?;
        let rules = &self.judge.rules;
        Ok(key.map(|key| RecordEntry::new(RecordId { scope, key }, stored, now, rules)))
    }

    async fn now(&self, client: &Client) -> Result<Moment, StoreError> {
        match self.judge.clock.given() {
            Some(now) => Ok(now),
            None => now_of(client).await,
        }
    }

    pub(crate) async fn beginning(
        &self,
        prefix: &DigestPrefix,
        most: usize,
    ) -> Result<Vec<RecordEntry>, StoreError> {
        let (first, last) = prefix.bounds();
        let (first, last) = (&first.0[..], &last.0[..]);
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.lists
            .ask(async |session: Arc<PgSession>| {
                let explain = |error: tokio_postgres::Error| explain(&error);
                let now = self.now(&session.client).await?;
                let statement = session.prepared(rows::BETWEEN).await.map_err(explain)?;
                let found = session.client.query(&statement, &[&first, &last, &most]).await;
                let entries = found.map_err(explain)?;
                entries.iter().filter_map(|row| self.entry(row, now).transpose()).collect()
            })
            .await
    }

    pub(crate) async fn rows(
        &self,
        filter: Filter,
        page: Page,
    ) -> Result<PageOf<AuditRow>, StoreError> {
        let mut query = PgQuery::new(rows::AUDIT, "seq", page);
        query.scope(&filter, "at");
        if let Some(state) = filter.state {
            query.one_of("came_to", vec![state]);
        }
        self.lists
            .ask(async |session: Arc<PgSession>| {
                query
                    .run(&session.client, self.judge.names.writing(), |row| {
                        let row = rows::audit_row(row)?;
                        Ok((i64::try_from(row.seq).unwrap_or(i64::MAX), Some(row)))
                    })
                    .await
            })
            .await
    }

    pub(crate) async fn story(&self, digest: RecordDigest) -> Result<Vec<AuditRow>, StoreError> {
        let name = &digest.0[..];
        self.lists
            .ask(async |session: Arc<PgSession>| {
                let explain = |error: tokio_postgres::Error| explain(&error);
                let chain = session.prepared(rows::CHAIN).await.map_err(explain)?;
                let mut found = session.client.query(&chain, &[&name]).await.map_err(explain)?;
                if found.is_empty() {
                    let all = session.prepared(rows::AMONG_ALL).await.map_err(explain)?;
                    found = session.client.query(&all, &[&name]).await.map_err(explain)?;
                }
                found.iter().map(rows::audit_row).collect()
            })
            .await
    }
}

async fn now_of(client: &Client) -> Result<Moment, StoreError> {
    let now = client.query_one(rows::NOW, &[]).await.and_then(|row| row.try_get(0));
    now.map(Moment).map_err(|error| explain(&error))
}

/// A query for a list.
struct PgQuery {
    sql: String,
    values: Vec<Box<dyn ToSql + Sync + Send>>,
    number: &'static str,
    page: Page,
    /// True if the query asks for a text that no row can have.
    is_vain: bool,
}

impl PgQuery {
    fn new(select: &str, number: &'static str, page: Page) -> Self {
        let sql = format!("{select} WHERE true");
        Self { sql, values: Vec::new(), number, page, is_vain: false }
    }

    fn and(&mut self, test: &str, value: impl ToSql + Sync + Send + 'static) {
        self.values.push(Box::new(value));
        self.sql += &format!(" AND {test} ${}", self.values.len());
    }

    fn scope(&mut self, filter: &Filter, time: &str) {
        if let Some(since) = filter.since {
            self.and(&format!("{time} >="), since.0);
        }
        if let Some(before) = filter.before {
            self.and(&format!("{time} <"), before.0);
        }
        for (column, wanted) in
            [("principal", &filter.principal), ("tool", &filter.tool), ("key", &filter.key)]
        {
            if let Some(wanted) = wanted {
                self.is_vain |= wanted.contains('\0');
                self.and(&format!("{column} ="), wanted.clone());
            }
        }
    }

    fn one_of(&mut self, column: &str, states: Vec<StateKind>) {
        let words: Vec<&'static str> = states.into_iter().map(StateKind::as_str).collect();
        self.values.push(Box::new(words));
        self.sql += &format!(" AND {column} = ANY (${})", self.values.len());
    }

    /// Runs the query. `read` returns the number of a row and its item, or no item if the row does not match after all.
    async fn run<T>(
        &self,
        client: &Client,
        writing: i64,
        read: impl Fn(&Row) -> Result<(i64, Option<T>), StoreError>,
    ) -> Result<PageOf<T>, StoreError> {
        if self.is_vain {
            return Ok(PageOf { items: Vec::new(), next: None });
        }
        if self.page.order == Order::Newest {
            return self.once(client, None, &read).await;
        }
        let asked = Instant::now();
        let mut ran_then = None;
        loop {
            let Horizon { below, next } = horizon(client, writing).await?;
            let paged = self.once(client, Some(below), &read).await?;
            let until = *ran_then.get_or_insert(next);
            if paged.next.is_some() || below >= until || asked.elapsed() > OTHERS {
                return Ok(paged);
            }
            // The list ends at a transaction that still runs. Read again until those that ran at the first look have ended.
            sleep(Duration::from_millis(5)).await;
        }
    }

    async fn once<T>(
        &self,
        client: &Client,
        below: Option<i64>,
        read: &impl Fn(&Row) -> Result<(i64, Option<T>), StoreError>,
    ) -> Result<PageOf<T>, StoreError> {
        let number = self.number;
        let (compare, direction) = match self.page.order {
            Order::Newest => ("<=", "DESC"),
            Order::Oldest => (">=", "ASC"),
        };
        let end = below.map_or(String::new(), |below| format!(" AND {number} < {below}"));
        let mut from = self.page.from.map(|from| i64::try_from(from).unwrap_or(i64::MAX));
        let mut paged = PageOf { items: Vec::new(), next: None };
        // Some rows may not match after all, so one part may not be enough.
        let part =
            i64::try_from(self.page.most.saturating_add(1)).unwrap_or(i64::MAX).clamp(64, 1_000);
        loop {
            let sql = match from {
                Some(from) => format!(
                    "{} AND {number} {compare} {from}{end} ORDER BY {number} {direction} LIMIT {part}",
                    self.sql
                ),
                None => format!("{}{end} ORDER BY {number} {direction} LIMIT {part}", self.sql),
            };
            let values: Vec<&(dyn ToSql + Sync)> =
                self.values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
            let found = client.query(&sql, &values).await.map_err(|error| explain(&error))?;
            for row in &found {
                let (number, item) = read(row)?;
                from = Some(if self.page.order == Order::Newest { number - 1 } else { number + 1 });
                let Some(item) = item else { continue };
                if paged.items.len() == self.page.most {
                    paged.next = u64::try_from(number).ok();
                    return Ok(paged);
                }
                paged.items.push(item);
            }
            if (found.len() as i64) < part {
                return Ok(paged);
            }
        }
    }
}

/// How far the numbers of rows are final.
struct Horizon {
    /// No more rows appear below it.
    below: i64,
    /// Above all that was committed.
    next: i64,
}

/// Reads the horizon.
///
/// A transaction that writes takes the lock `writing` before it gets its number. It holds the lock until it ends, and it ends
/// only after its commit is visible. A transaction that the statement's snapshot does not know yet has a number of `next` or
/// more. The table of locks is read after the snapshot. So a transaction that the snapshot knows and that is not in this
/// table has ended, and the following statement sees its rows.
async fn horizon(client: &Client, writing: i64) -> Result<Horizon, StoreError> {
    let [high, low] = [writing >> 32 & 0xFFFF_FFFF, writing & 0xFFFF_FFFF];
    // The table of locks has the lower 32 bits of a transaction's number, which may be slightly above `next`.
    let sql = format!(
        "SELECT (base + least(next, (SELECT min(next - ((next - xid.transactionid::text::bigint + 2147483648) & 4294967295) + 2147483648) \
         FROM pg_locks AS held JOIN pg_locks AS xid ON xid.pid = held.pid \
         WHERE held.locktype = 'advisory' AND held.objsubid = 1 AND held.granted \
         AND held.classid::bigint = {high} AND held.objid::bigint = {low} \
         AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
         AND xid.locktype = 'transactionid' AND xid.mode = 'ExclusiveLock' AND xid.granted))) << {SHIFT}, \
         (base + next) << {SHIFT} \
         FROM candor_ledger, (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next) AS now"
    );
    let row = client.query_one(&sql, &[]).await.map_err(|error| explain(&error))?;
    let number = |at: usize| row.try_get(at).map_err(|error| explain(&error));
    Ok(Horizon { below: number(0)?, next: number(1)? })
}
