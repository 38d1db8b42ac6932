//! Sweeps: any replica applies what time alone changes. A sweep uses its own connection beside the writer, so no call waits
//! for it.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::error::explain;
use super::grants;
use super::line::{PgConnection, PgSession};
use super::rows;
use super::transaction::{self, Failure, LockMode, PgWork, StoreContext};
use crate::audit::AuditContext;
use crate::event::Event;
use crate::id::{Moment, RecordId};
use crate::store::{StoreError, SweepReport};
use crate::watchers::Watchers;

/// The maximum number of records per transaction, so that other writers do not wait long for the usage of these principals.
const PART: usize = 64;

pub(super) struct Sweeper {
    pub(super) line: PgConnection,
    /// One sweep at a time, because a connection has one transaction.
    pub(super) turn: Mutex<()>,
    pub(super) judge: Arc<StoreContext>,
}

impl Sweeper {
    pub(super) async fn sweep(
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
                let age = i64::try_from(self.judge.rules.audit.as_millis()).unwrap_or(i64::MAX);
                let forget = now.0.saturating_sub(age);
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
