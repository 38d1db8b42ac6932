//! What the tests of keys share: a tool that counts its starts, ledgers, and what is read of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use candor_server::store::{
    AuditRow, Clock, Filter, Key, LedgerLimits, MemoryStore, Options, Order, Page, RecordId, Scope,
    SqliteStore, StateKind, Store,
};
use candor_server::testing::TestClient;
use candor_server::tool::{JsonTool, ToolError};
use candor_server::{Ctx, RunningServer, Server};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::common::soon;

/// Where the mark of a record stands in a result, and of the extension elsewhere.
pub(crate) const MARK: &str = "dev.candor/idempotency";

/// Where a key stands in `_meta`.
pub(crate) const KEY: &str = "dev.candor/idempotencyKey";

/// What a tool does that is tested: it is counted, and it may have to wait.
#[derive(Clone)]
pub(crate) struct Work {
    starts: Arc<AtomicUsize>,
    ends: Arc<AtomicUsize>,
    began: Arc<Semaphore>,
    go: Arc<Semaphore>,
}

impl Work {
    pub(crate) fn new() -> Self {
        let closed = || Arc::new(Semaphore::new(0));
        Self { starts: Arc::default(), ends: Arc::default(), began: closed(), go: closed() }
    }

    /// Starts: the number of this start.
    pub(crate) fn start(&self) -> usize {
        let number = self.starts.fetch_add(1, Ordering::SeqCst) + 1;
        self.began.add_permits(1);
        number
    }

    /// How often it was started.
    pub(crate) fn starts(&self) -> usize {
        self.starts.load(Ordering::SeqCst)
    }

    /// How often it came to its end, and was not dropped on the way.
    pub(crate) fn ends(&self) -> usize {
        self.ends.load(Ordering::SeqCst)
    }

    /// Waits until it was started once more.
    pub(crate) async fn began(&self) {
        soon(self.began.acquire()).await.unwrap().forget();
    }

    /// Lets one start of a tool that waits come to its end.
    pub(crate) fn let_go(&self) {
        self.go.add_permits(1);
    }

    /// Waits to be let go.
    pub(crate) async fn wait(&self) {
        self.go.acquire().await.unwrap().forget();
        self.ends.fetch_add(1, Ordering::SeqCst);
    }

    /// A tool that ends at once, with the number of its start. Of what it does the worst must be expected.
    pub(crate) fn tool(&self, name: &str) -> JsonTool {
        let work = self.clone();
        JsonTool::open(name, move |_, ctx: Ctx| {
            let number = work.start();
            work.ends.fetch_add(1, Ordering::SeqCst);
            async move { Ok::<_, ToolError>(json!({"number": number, "key": ctx.key()})) }
        })
    }

    /// The same, but it waits to be let go.
    pub(crate) fn waiting(&self, name: &str) -> JsonTool {
        let work = self.clone();
        JsonTool::open(name, move |_, ctx: Ctx| {
            let work = work.clone();
            async move {
                let number = work.start();
                work.wait().await;
                let cancelled = ctx.is_cancelled();
                Ok::<_, ToolError>(json!({"number": number, "cancelled": cancelled}))
            }
        })
    }
}

pub(crate) fn server() -> Server {
    Server::new("invoices", "1")
}

/// A server that remembers until its engine is dropped.
pub(crate) fn remembering() -> Server {
    server().ledger(memory(LedgerLimits::default()))
}

pub(crate) fn memory(rules: LedgerLimits) -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Options { rules, ..Options::default() }))
}

/// A ledger in memory whose time the test tells.
pub(crate) struct Timed {
    pub(crate) store: Arc<dyn Store>,
    clock: Arc<AtomicI64>,
}

impl Timed {
    pub(crate) fn new(rules: LedgerLimits) -> Self {
        let clock = Arc::new(AtomicI64::new(1_700_000_000_000));
        let time = clock.clone();
        let given = Clock::Given(Arc::new(move || time.load(Ordering::SeqCst)));
        let options = Options { rules, clock: given, ..Options::default() };
        Self { store: Arc::new(MemoryStore::new(options)), clock }
    }

    pub(crate) fn later(&self, time: Duration) {
        self.clock.fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

/// A file that several servers may share; gone with this value.
pub(crate) struct File(std::path::PathBuf);

impl File {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        let name = format!("candor-once-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// As another process would open it.
    pub(crate) fn open(&self) -> Arc<dyn Store> {
        Arc::new(SqliteStore::open(self.0.join("ledger.db"), Options::default()).unwrap())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Where the record of a key of the test client stands.
pub(crate) async fn state(engine: &RunningServer, tool: &str, key: &str) -> StateKind {
    let store = engine.store().expect("a ledger");
    let found = store.find(&id("tester", tool, key)).await.unwrap();
    let seen = found.and_then(|entry| entry.seen);
    seen.map_or(StateKind::Absent, |record| record.state.kind())
}

/// Waits until the record stands there.
pub(crate) async fn comes_to(engine: &RunningServer, tool: &str, key: &str, wanted: StateKind) {
    soon(async {
        while state(engine, tool, key).await != wanted {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

/// The record of a key in [`server`].
pub(crate) fn id(principal: &str, tool: &str, key: &str) -> RecordId {
    let [principal, server, instance, tool] =
        [principal, "invoices", "", tool].map(ToOwned::to_owned);
    RecordId { scope: Scope { principal, server, instance, tool }, key: Key::new(key).unwrap() }
}

/// All rows of the audit, the earliest first.
pub(crate) async fn rows(engine: &RunningServer) -> Vec<AuditRow> {
    let page = Page { from: None, most: 10_000, order: Order::Oldest };
    engine.store().expect("a ledger").rows(Filter::default(), page).await.unwrap().items
}

/// The mark of a result.
pub(crate) fn mark(result: &Value) -> &Value {
    &result["_meta"][MARK]
}

/// A result without what differs from answer to answer: its mark, and what an era stamps on it.
pub(crate) fn bare(result: &Value) -> Value {
    let mut result = result.clone();
    if let Some(members) = result.as_object_mut() {
        members.shift_remove("resultType");
        if let Some(meta) = members.get_mut("_meta").and_then(Value::as_object_mut) {
            meta.shift_remove(MARK);
            meta.shift_remove("io.modelcontextprotocol/serverInfo");
            if meta.is_empty() {
                members.shift_remove("_meta");
            }
        }
    }
    result
}

/// Calls a tool with whatever stands in `params` besides its name, as a raw request.
pub(crate) async fn raw(client: &TestClient, tool: &str, mut params: Value) -> Value {
    params["name"] = tool.into();
    match client.request("tools/call", params).await {
        Ok(result) => result,
        Err(error) => json!({"protocolError": error.code(), "message": error.message}),
    }
}
