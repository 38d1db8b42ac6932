//! Sweeps: any replica applies what time alone changes. A sweep uses its own connection beside the writer, so no call waits
//! for it.

use std::sync::Arc;

use candor_ledger::storage::Watchers;
use candor_ledger::{AuditContext, Event, Moment, RecordId, StoreError, SweepReport};
use tokio::sync::Mutex;

use crate::error::explain;
use crate::grants;
use crate::line::{PgConnection, PgSession};
use crate::rows;
use crate::transaction::{self, Failure, LockMode, PgWork, StoreContext};

/// The maximum number of records per transaction, so that other writers do not wait long for the usage of these principals.
const PART: usize = 64;

pub(crate) struct Sweeper {
    pub(crate) line: PgConnection,
    /// One sweep at a time, because a connection has one transaction.
    pub(crate) turn: Mutex<()>,
    pub(crate) judge: Arc<StoreContext>,
}

impl Sweeper {
    pub(crate) async fn sweep(
        &self,
        most: usize,
        watchers: &Watchers,
    ) -> Result<SweepReport, StoreError> {
        let _turn = self.turn.lock().await;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let given = self.judge.clock.given();
        let due: Vec<PgWork> = self
            .line
            .ask(async |session: Arc<PgSession>| {
                let due = session.prepared(rows::DUE).await.map_err(|error| explain(&error))?;
                let given = given.map(|now| now.0);
                let due = session.client.query(&due, &[&given, &most]).await;
                due.map_err(|error| explain(&error))?
                    .iter()
                    .filter_map(|row| to_do(row).transpose())
                    .collect()
            })
            .await?;

        let mut swept = SweepReport::default();
        for part in due.chunks(PART) {
            let session = self.line.session().await?;
            let done = transaction::run(&session, &self.judge, part, LockMode::Skip).await;
            let done = done.map_err(|failure| match failure {
                Failure::LostBefore(error)
                | Failure::Lost(error)
                | Failure::Refused { error, .. } => error,
            })?;
            swept.records += done.changed.len();
            done.changed.iter().for_each(|record| watchers.changed(record));
        }

        swept.rows = self
            .line
            .ask(async |session: Arc<PgSession>| {
                let now = match given {
                    Some(now) => Ok(now.0),
                    None => session
                        .client
                        .query_one(rows::NOW, &[])
                        .await
                        .and_then(|row| row.try_get(0)),
                };
                let now = Moment(now.map_err(|error| explain(&error))?);
                let forget = self.judge.rules.audit_since(now).0;
                let statement =
                    session.prepared(rows::FORGET).await.map_err(|error| explain(&error))?;
                let forgotten = session.client.execute(&statement, &[&forget, &most]).await;
                let statement =
                    session.prepared(grants::FORGET).await.map_err(|error| explain(&error))?;
                let ended = session.client.execute(&statement, &[&forget, &most]).await;
                ended.and(forgotten).map_err(|error| explain(&error))
            })
            .await
            .map(|rows| usize::try_from(rows).unwrap_or(usize::MAX))?;
        Ok(swept)
    }
}

fn to_do(row: &tokio_postgres::Row) -> Result<Option<PgWork>, StoreError> {
    let (scope, key) = rows::id(row, 0)?;
    Ok(key.map(|key| {
        let id = RecordId { scope, key };
        let digest = id.digest();
        PgWork::Apply { id, digest, event: Event::Sweep, circumstances: AuditContext::default() }
    }))
}
