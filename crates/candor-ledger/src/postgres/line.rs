//! One connection that several callers share, and that mends itself.
//!
//! The driver pipelines: statements of many callers go out one after the other without waiting for answers. So a pool is not
//! needed; a line for each sort of work is, so that a long list holds up no claim.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use tokio_postgres::{Client, Error, Statement};

use super::address::Address;
use super::error::explain;
use super::schema;
use crate::store::StoreError;

/// To connect takes no longer.
pub(super) const CONNECT: Duration = Duration::from_secs(5);

/// The server gives up waiting for a lock after this, and on a statement after a second more.
const LOCK: Duration = Duration::from_secs(4);

/// The oldest server that has all that is used: `pg_current_xact_id`.
const OLDEST: u32 = 13;

pub(super) struct PgConnection {
    address: Arc<Address>,
    /// The server gives up on a statement after this.
    statement: Duration,
    slot: Mutex<PgSlot>,
}

#[derive(Default)]
struct PgSlot {
    session: Option<Arc<PgSession>>,
    /// The last attempt to connect, if it failed.
    failed: Option<(Instant, StoreError)>,
}

pub(super) struct PgSession {
    pub(super) client: Client,
    /// What moves the bytes.
    task: AbortHandle,
    /// It takes a moment until the driver notices that its task is gone.
    given_up: AtomicBool,
    prepared: StdMutex<HashMap<&'static str, Statement>>,
    /// How long an answer is waited for: longer than the server works on it.
    patience: Duration,
}

impl PgConnection {
    /// For what somebody waits for.
    pub(super) fn quick(address: Arc<Address>) -> Self {
        Self { address, statement: LOCK + Duration::from_secs(1), slot: Mutex::default() }
    }

    /// For what may have to read a long way.
    pub(super) fn slow(address: Arc<Address>) -> Self {
        Self { address, statement: Duration::from_secs(30), slot: Mutex::default() }
    }

    /// The connection, made anew if it is lost. Who waits while another connects shares what comes of it.
    pub(super) async fn session(&self) -> Result<Arc<PgSession>, StoreError> {
        let asked = Instant::now();
        let mut slot = self.slot.lock().await;
        if let Some(session) = &slot.session
            && !session.is_over()
        {
            return Ok(Arc::clone(session));
        }
        slot.session = None;
        if let Some((at, error)) = &slot.failed
            && *at >= asked
        {
            return Err(error.clone());
        }
        match self.connect().await {
            Ok(session) => {
                let session = Arc::new(session);
                *slot = PgSlot { session: Some(Arc::clone(&session)), failed: None };
                Ok(session)
            }
            Err(error) => {
                slot.failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    async fn connect(&self) -> Result<PgSession, StoreError> {
        let Address { config, tls, schema, .. } = &*self.address;
        let connecting = async {
            let (client, connection) =
                config.connect(tls.clone()).await.map_err(|error| explain(&error))?;
            let task = tokio::spawn(async move {
                // Its end is seen by whoever uses the client.
                let _ = connection.await;
            });
            let session = PgSession {
                client,
                task: task.abort_handle(),
                given_up: AtomicBool::new(false),
                prepared: StdMutex::default(),
                patience: self.statement + Duration::from_secs(3),
            };
            session.set_up(schema, self.statement).await?;
            Ok(session)
        };
        timeout(CONNECT, connecting).await.unwrap_or_else(|_| {
            Err(StoreError::Unavailable(format!("no connection within {} s", CONNECT.as_secs())))
        })
    }

    /// Asks the server something and waits for the answer, but not for ever.
    pub(super) async fn ask<T, F>(
        &self,
        question: impl FnOnce(Arc<PgSession>) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let session = self.session().await?;
        let patience = session.patience;
        match timeout(patience, question(Arc::clone(&session))).await {
            Ok(answer) => answer,
            Err(_) => {
                session.give_up();
                Err(silent(patience))
            }
        }
    }
}

fn silent(patience: Duration) -> StoreError {
    StoreError::Unavailable(format!("the server did not answer within {} s", patience.as_secs()))
}

impl PgSession {
    async fn set_up(&self, schema: &str, statement: Duration) -> Result<(), StoreError> {
        // - Nothing but our own tables is found by a bare name.
        // - What is answered must be durable, whatever is usual on this server; more than that is welcome.
        // - Whoever loses us in the middle of a transaction lets go of its locks soon.
        // - Every statement is of a few rows by their keys: plans made while the tables were small must not stay.
        let set = format!(
            "SET search_path = \"{schema}\", pg_temp;
             SET statement_timeout = {};
             SET lock_timeout = {};
             SET idle_in_transaction_session_timeout = {};
             SET plan_cache_mode = force_generic_plan;
             SET enable_seqscan = off;
             SET jit = off;
             SET client_min_messages = warning;
             SELECT set_config('synchronous_commit', 'on', false)
              WHERE current_setting('synchronous_commit') = 'off'",
            statement.as_millis(),
            LOCK.as_millis(),
            LOCK.as_millis(),
        );
        self.client.batch_execute(&set).await.map_err(|error| explain(&error))?;
        let version: i32 = self
            .client
            .query_one("SELECT current_setting('server_version_num')::int / 10000", &[])
            .await
            .and_then(|row| row.try_get(0))
            .map_err(|error| explain(&error))?;
        if u32::try_from(version).is_ok_and(|version| version < OLDEST) {
            return Err(StoreError::Unavailable(format!(
                "it is PostgreSQL {version}, and {OLDEST} or later is needed"
            )));
        }
        schema::check(&self.client, schema).await
    }

    /// Prepared once for this connection.
    pub(super) async fn prepared(&self, sql: &'static str) -> Result<Statement, Error> {
        let known =
            || self.prepared.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned();
        if let Some(statement) = known() {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner).insert(sql, statement.clone());
        Ok(statement)
    }

    /// What goes out together must come back in time, or the connection is given up.
    pub(super) async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, StoreError> {
        match timeout(self.patience, work).await {
            Ok(done) => Ok(done),
            Err(_) => {
                self.give_up();
                Err(silent(self.patience))
            }
        }
    }

    /// Nothing more is expected of it: the next who asks connects anew.
    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
        self.task.abort();
    }

    pub(super) fn is_over(&self) -> bool {
        self.given_up.load(Ordering::Relaxed) || self.client.is_closed()
    }
}
