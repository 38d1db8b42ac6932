//! The server's side of the ledger: which calls are recorded, under which key, and what a retry receives.
//!
//! - `recorded`: a recorded call, and what its record answers.
//! - `join`: waits for a running attempt.
//! - `keyed`: starts a call in a task that outlives its caller, and records its outcome.
//! - `parked`: handlers that wait between two requests.
//! - `audit`: audit rows of calls. `replays`: those of replays, which do not wait for the disk.
//!
//! `candor_ledger` defines what a record is and how it changes.

mod audit;
pub(crate) mod join;
pub(crate) mod keyed;
pub(crate) mod parked;
pub(crate) mod recorded;
mod replays;

use std::sync::{Arc, Once, Weak};
use std::time::{Duration, Instant};

use candor_hints::{EffectiveHints, Hints};
use candor_ledger::{AuditRow, Fingerprint, OutcomeKind, Scope, Store, StoreError};
use candor_protocol::json::Object;
use futures_util::FutureExt as _;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::capacity::{Limits, SlotPool};
use crate::ctx::request::RequestScope;
use crate::error::{Refusal, log_replaced};
use crate::seal::Seal;
use crate::tool::{Arguments, RegisteredTool};

pub use audit::{Audit, KeepArguments};
use audit::{CallContext, Row};
use replays::ReplayRows;

/// Time between two sweeps of the store, and maximum number of records in one.
const SWEEP_EVERY: Duration = Duration::from_secs(60);
const SWEEP_MOST: usize = 1000;

/// How long stopped calls may take to record that they were stopped.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A server's ledger. Cloning shares it.
#[derive(Clone)]
pub(crate) struct ServerLedger(Arc<LedgerInner>);

struct LedgerInner {
    store: Arc<dyn Store>,
    /// The server's name, and the data that it serves.
    server: String,
    instance: String,
    /// Makes keyed digests of arguments. Only this server can compute them.
    digests: Seal,
    audit: Audit,
    keep_arguments: KeepArguments,
    replays: ReplayRows,
    recent: audit::RecentCalls,
    clients: audit::Clients,
    /// Calls that keep running if their callers disconnect.
    running: TaskTracker,
    room: SlotPool,
    /// Stops those calls.
    halt: CancellationToken,
    /// How long a retry waits for the first call to end.
    join: Duration,
    tended: Once,
}

/// The parts of a ledger.
pub(crate) struct Setup {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) server: String,
    pub(crate) instance: String,
    pub(crate) digests: Seal,
    pub(crate) audit: Audit,
    pub(crate) keep_arguments: KeepArguments,
}

/// A call whose effect is known.
pub(crate) struct EvaluatedCall<'a> {
    pub(crate) entry: &'a RegisteredTool,
    pub(crate) arguments: &'a Arguments,
    /// Its hints, without regard to its key.
    pub(crate) hints: Hints,
    pub(crate) has_key: bool,
    pub(crate) request: &'a RequestScope,
}

impl EvaluatedCall<'_> {
    /// Returns the effect that reviewers and history see. `tools/annotations` returns the same for this call.
    pub(crate) fn effect(&self) -> EffectiveHints {
        self.entry.of_keyed(self.entry.with_sources(self.hints), self.has_key)
    }
}

impl ServerLedger {
    pub(crate) fn new(setup: Setup, limits: &Limits) -> Self {
        let Setup { store, server, instance, digests, audit, keep_arguments } = setup;
        Self(Arc::new(LedgerInner {
            store,
            server,
            instance,
            digests,
            audit,
            keep_arguments,
            replays: ReplayRows::default(),
            recent: audit::RecentCalls::default(),
            clients: audit::Clients::default(),
            running: TaskTracker::new(),
            room: SlotPool::new(limits.keyed_calls),
            halt: CancellationToken::new(),
            join: limits.join,
            tended: Once::new(),
        }))
    }

    /// Returns the settings that clients receive.
    pub(crate) fn settings(&self) -> Object {
        let rules = self.0.store.rules();
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Object::new()
            .with("version", &1)
            .with("retentionMs", &millis(rules.retention))
            .with("refusedForMs", &millis(rules.retention + rules.tombstone))
            .with("keySources", &["_meta", "params", "header", "argument"])
            .with("maxKeyLength", &255)
    }

    pub(crate) fn recent(&self) -> Vec<Arc<AuditRow>> {
        self.0.recent.rows(&self.0.server, &self.0.instance)
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// Waits for calls that run without their callers. After `patience`, stops them, and their records say so.
    pub(crate) async fn settle(&self, patience: Duration) {
        self.0.running.close();
        if tokio::time::timeout(patience, self.0.running.wait()).await.is_err() {
            self.0.halt.cancel();
            let _ = tokio::time::timeout(LAST_WORDS, self.0.running.wait()).await;
        }
        self.0.running.reopen();
    }

    fn scope(&self, call: &EvaluatedCall<'_>) -> Scope {
        Scope {
            principal: call.request.caller.principal.as_str().to_owned(),
            server: self.0.server.clone(),
            instance: self.0.instance.clone(),
            tool: call.entry.name().to_owned(),
        }
    }

    fn known(&self, call: &EvaluatedCall<'_>) -> CallContext {
        CallContext::of(call, &self.0.clients)
    }

    /// Adds an audit row for a call that ended and has no record. `permitted` names the grant that replaced an approval.
    pub(crate) async fn note_end(
        &self,
        call: &EvaluatedCall<'_>,
        ended: AuditEnd,
        permitted: Option<String>,
    ) {
        let row = Row::of(call, self.known(call).permitted(permitted), ended);
        let canonical = self.stays(call.hints).then(|| canonical(call));
        self.note(row, canonical.as_deref()).await;
    }

    /// Adds an audit row for a call that was refused and has no record.
    pub(crate) async fn note_refusal(&self, call: &EvaluatedCall<'_>, refusal: &Refusal) {
        let row = Row::of(call, self.known(call), AuditEnd::of("refused"));
        let canonical = self.keeps(refusal).then(|| canonical(call));
        self.note(row, canonical.as_deref()).await;
    }

    /// Returns a guard for a call that starts. If it is dropped before the call ends, it adds an audit row.
    pub(crate) fn watch<'a>(&'a self, call: &'a EvaluatedCall<'a>) -> WatchedCall<'a> {
        WatchedCall { ledger: self, call, begun: Instant::now(), ended: false }
    }

    /// Returns the arguments that a record stores of a call with an approval request.
    pub(crate) fn reviewed_arguments(&self, call: &EvaluatedCall<'_>) -> Option<Arc<[u8]>> {
        (self.0.keep_arguments != KeepArguments::None).then(|| stored(call))
    }

    /// Returns the arguments that a record stores of a call that starts.
    fn started_arguments(&self, call: &EvaluatedCall<'_>) -> Option<Arc<[u8]>> {
        (self.0.keep_arguments == KeepArguments::All).then(|| stored(call))
    }

    /// Returns true if a call with these hints leaves a durable row.
    fn stays(&self, hints: Hints) -> bool {
        self.0.audit == Audit::All || !hints.is_read_only()
    }

    /// Refuses a call whose row must be durable if it is known that no row can be written.
    pub(crate) fn check(&self, hints: Hints) -> Result<(), Refusal> {
        // A call that only reads does not pay for the file check.
        if !self.stays(hints) {
            return Ok(());
        }
        self.0.store.check().map_err(|error| Refusal::of_store(&error))
    }

    /// Returns true if the row of a refusal is durable. An attempt at something that is not allowed is always worth storing. A
    /// refusal that only means "retry later" is not: it tells nothing about the caller, and honest callers retry.
    fn keeps(&self, refusal: &Refusal) -> bool {
        self.0.audit == Audit::All || !refusal.is_passing()
    }

    /// Adds an audit row. With the call's canonical arguments, the row is durable when this returns. If the write fails, the log
    /// reports it, because the call has already happened. Without them, the row is in memory only and is dropped later.
    async fn note(&self, row: Row, canonical: Option<&str>) {
        let Some(canonical) = canonical else { return self.0.recent.push(row) };
        self.start_sweeper();
        let mut note = row.note(&self.0.server, &self.0.instance);
        note.circumstances.digest = Some(self.digest(canonical));
        let tool = note.scope.tool.clone();
        match self.0.store.note(note).await {
            Ok(()) => {}
            Err(error @ StoreError::Replaced(_)) => log_replaced(&error),
            Err(error) => tracing::error!(%error, tool, "a call could not be written down"),
        }
    }

    fn digest(&self, canonical: &str) -> [u8; 32] {
        self.0.digests.digest(canonical.as_bytes())
    }

    /// Starts the sweeper, once: time alone changes records.
    fn start_sweeper(&self) {
        self.0.tended.call_once(|| {
            let ledger = Arc::downgrade(&self.0);
            tokio::spawn(sweep(ledger));
        });
    }
}

/// How a call without a record ended.
#[derive(Clone, Copy)]
pub(crate) struct AuditEnd {
    pub(crate) event: &'static str,
    pub(crate) outcome: Option<OutcomeKind>,
    pub(crate) duration: Option<Duration>,
}

impl AuditEnd {
    /// Returns an end without an outcome.
    const fn of(event: &'static str) -> Self {
        Self { event, outcome: None, duration: None }
    }
}

/// A running call without a key. Its handler stops if its caller disconnects, and what it has done by then is unknown.
pub(crate) struct WatchedCall<'a> {
    ledger: &'a ServerLedger,
    call: &'a EvaluatedCall<'a>,
    begun: Instant,
    ended: bool,
}

impl WatchedCall<'_> {
    /// Marks the call as ended by itself, and returns its duration.
    pub(crate) fn ended(mut self) -> Duration {
        self.ended = true;
        self.begun.elapsed()
    }
}

impl Drop for WatchedCall<'_> {
    fn drop(&mut self) {
        if !self.ended {
            drop(self.owned(None));
        }
    }
}

impl WatchedCall<'_> {
    /// Returns a guard that outlives the request, for a handler that is parked.
    pub(crate) fn park(mut self, permitted: Option<String>) -> ParkedNote {
        self.ended = true;
        self.owned(permitted)
    }

    fn owned(&self, permitted: Option<String>) -> ParkedNote {
        let known = self.ledger.known(self.call).permitted(permitted);
        let row = Row::of(self.call, known, AuditEnd::of("left"));
        let canonical = self.ledger.stays(self.call.hints).then(|| canonical(self.call));
        ParkedNote { ledger: self.ledger.clone(), row: Some((row, canonical)), begun: self.begun }
    }
}

/// The audit row of a call without a record whose handler may outlive its request. If it is dropped before the call ends, the row
/// says that the caller left.
pub(crate) struct ParkedNote {
    ledger: ServerLedger,
    row: Option<(Row, Option<String>)>,
    begun: Instant,
}

impl ParkedNote {
    /// Adds the row of a call that ended.
    pub(crate) async fn end(mut self, outcome: Option<OutcomeKind>) {
        let Some((mut row, canonical)) = self.row.take() else { return };
        row.ended = AuditEnd { event: "called", outcome, duration: Some(self.begun.elapsed()) };
        self.ledger.note(row, canonical.as_deref()).await;
    }
}

impl Drop for ParkedNote {
    fn drop(&mut self) {
        let (Some((mut row, canonical)), Ok(runtime)) = (self.row.take(), Handle::try_current())
        else {
            return;
        };
        row.ended.duration = Some(self.begun.elapsed());
        let ledger = self.ledger.clone();
        // A server that shuts down waits for this task.
        let noted = async move { ledger.note(row, canonical.as_deref()).await };
        self.ledger.0.running.spawn_on(noted, &runtime);
    }
}

async fn sweep(ledger: Weak<LedgerInner>) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        let Some(ledger) = ledger.upgrade() else { return };
        // Sweep everything, but in batches, so that calls can run in between.
        loop {
            match ledger.store.sweep(SWEEP_MOST).await {
                Ok(swept) if swept.records >= SWEEP_MOST || swept.rows >= SWEEP_MOST => {}
                Ok(_) => break,
                Err(error @ StoreError::Replaced(_)) => {
                    log_replaced(&error);
                    break;
                }
                Err(error) => {
                    tracing::warn!(%error, "the ledger could not be swept");
                    break;
                }
            }
        }
    }
}

/// Returns the call's arguments without its key, in canonical form.
pub(crate) fn canonical(call: &EvaluatedCall<'_>) -> String {
    candor_schema::canonical(call.entry.without_key(call.arguments).as_value())
}

fn stored(call: &EvaluatedCall<'_>) -> Arc<[u8]> {
    readable(call).to_string().into_bytes().into()
}

/// Returns the arguments as an operator may see them: secrets are redacted.
pub(crate) fn readable(call: &EvaluatedCall<'_>) -> Value {
    call.entry.covered(call.entry.without_key(call.arguments).as_value())
}

fn fingerprint(canonical: &str) -> Fingerprint {
    let mut hash = Sha256::new();
    hash.update(b"candor/arguments/1");
    hash.update(canonical.as_bytes());
    Fingerprint(hash.finalize().into())
}

/// How long a store may take for one read or write.
const STORE_TIME: Duration = Duration::from_secs(30);

/// Waits for a store. One that panics or does not answer in time counts as unavailable, so that no call starts because of it.
pub(crate) async fn guarded<T>(
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let answer = std::panic::AssertUnwindSafe(answer).catch_unwind();
    match tokio::time::timeout(STORE_TIME, answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(panic)) => {
            let reason = crate::trace::panic_reason(&*panic);
            Err(StoreError::Unavailable(format!("the store panicked: {reason}")))
        }
        Err(_) => Err(StoreError::Unavailable("the store did not answer in time".to_owned())),
    }
}
