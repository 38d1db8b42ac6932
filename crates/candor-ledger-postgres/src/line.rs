//! One connection that several callers share, and that reconnects by itself.
//!
//! The driver pipelines: it sends the statements of many callers one after the other, without waiting for answers. So there
//! is no need for a pool. Each kind of work has its own connection, so that a long list does not delay a claim.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use candor_ledger::StoreError;
use tokio::sync::Mutex;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use tokio_postgres::{Client, Error, Statement};

use crate::address::{Address, CONNECT};
use crate::error::explain;
use crate::schema;

/// How long the server waits for a lock. Its timeout for a quick statement is one second longer.
const LOCK: Duration = Duration::from_secs(4);

/// The oldest supported server: `pg_current_xact_id` needs it.
const OLDEST: u32 = 13;

pub(crate) struct PgConnection {
    address: Arc<Address>,
    /// The server's timeout for a statement.
    statement: Duration,
    slot: Mutex<PgSlot>,
}

#[derive(Default)]
struct PgSlot {
    session: Option<Arc<PgSession>>,
    /// The last attempt to connect, if it failed.
    failed: Option<(Instant, StoreError)>,
}

pub(crate) struct PgSession {
    pub(crate) client: Client,
    /// The task that sends and receives.
    task: AbortHandle,
    /// Set at once, because the driver needs a moment to notice that its task is gone.
    given_up: AtomicBool,
    prepared: StdMutex<HashMap<&'static str, Statement>>,
    /// How long this process waits for an answer: longer than the server works on it.
    patience: Duration,
}

impl PgConnection {
    /// Creates a connection for short work that a caller waits for.
    pub(crate) fn quick(address: Arc<Address>) -> Self {
        Self { address, statement: LOCK + Duration::from_secs(1), slot: Mutex::default() }
    }

    /// Creates a connection for work that may read many rows.
    pub(crate) fn slow(address: Arc<Address>) -> Self {
        Self { address, statement: Duration::from_secs(30), slot: Mutex::default() }
    }

    /// Returns the connection, and reconnects if it is lost. A caller that waits while another connects shares the result.
    pub(crate) async fn session(&self) -> Result<Arc<PgSession>, StoreError> {
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
                // Users of the client see that the connection has ended.
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

    /// Runs a query and waits for the answer, up to a timeout.
    pub(crate) async fn ask<T, F>(
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
        // - A bare name finds only our own tables.
        // - A reply must be durable, whatever the default of this server. A stricter default stays.
        // - If this process disappears in the middle of a transaction, the server soon releases its locks.
        // - Every statement finds a few rows by key. A plan that was made while the tables were small must not stay.
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

    /// Prepares a statement, once per connection.
    pub(crate) async fn prepared(&self, sql: &'static str) -> Result<Statement, Error> {
        let known =
            || self.prepared.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned();
        if let Some(statement) = known() {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner).insert(sql, statement.clone());
        Ok(statement)
    }

    /// Waits for work that was sent together, and gives up the connection if that takes too long.
    pub(crate) async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, StoreError> {
        match timeout(self.patience, work).await {
            Ok(done) => Ok(done),
            Err(_) => {
                self.give_up();
                Err(silent(self.patience))
            }
        }
    }

    /// Gives up the connection. The next caller reconnects.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
        self.task.abort();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.given_up.load(Ordering::Relaxed) || self.client.is_closed()
    }
}
