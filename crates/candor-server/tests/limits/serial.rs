//! Groups: calls that change something, one after another, in the order in which they came.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use candor_server::Ctx;
use candor_server::hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::testing::TestClient;
use candor_server::tool::{JsonTool, RateLimit, ToolError, code};
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::common::soon;
use crate::{deletes, reads, server};

/// What happened, and how many were at it at the same time.
#[derive(Clone)]
struct Log {
    entries: Arc<Mutex<Vec<u64>>>,
    inside: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    began: Arc<Semaphore>,
    go: Arc<Semaphore>,
}

impl Log {
    fn new(free: usize) -> Self {
        Self {
            entries: Arc::default(),
            inside: Arc::default(),
            most: Arc::default(),
            began: Arc::new(Semaphore::new(0)),
            go: Arc::new(Semaphore::new(free)),
        }
    }

    fn tool(&self, name: &str) -> JsonTool {
        let log = self.clone();
        JsonTool::open(name, move |args, _: Ctx| {
            let log = log.clone();
            async move {
                let now = log.inside.fetch_add(1, Ordering::SeqCst) + 1;
                log.most.fetch_max(now, Ordering::SeqCst);
                log.began.add_permits(1);
                log.go.acquire().await.unwrap().forget();
                log.entries.lock().unwrap().push(args["n"].as_u64().unwrap_or_default());
                log.inside.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, ToolError>(json!({"n": args["n"]}))
            }
        })
        .serial("ledger")
    }

    async fn began(&self) {
        soon(self.began.acquire()).await.unwrap().forget();
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    fn entries(&self) -> Vec<u64> {
        self.entries.lock().unwrap().clone()
    }
}

fn group(log: &Log) -> TestClient {
    let table = EffectTable::new()
        .row(EffectRow::when("n", Condition::equals(0)).then(Hints::READS))
        .row(EffectRow::otherwise(Hints::DELETES));
    server()
        .tool(log.tool("post").annotations(deletes()))
        .tool(log.tool("correct").annotations(deletes()))
        .tool(log.tool("look").annotations(reads()))
        .tool(log.tool("either").effects(table))
        .test()
        .deadline(Duration::from_secs(60))
}

#[tokio::test]
async fn concurrent_serial_calls_run_in_order_of_arrival() {
    for keyed in [false, true] {
        let log = Log::new(1000);
        let client = group(&log);
        // One task per call, as in transports. A single task for all would yield now and then.
        let calls = (0..1000_u64).map(|n| {
            let client = if keyed { client.keyed(&format!("k{n}")) } else { client.by("ada") };
            let tool = if n % 2 == 0 { "post" } else { "correct" };
            tokio::spawn(async move { client.call(tool, json!({"n": n})).await.is_error() })
        });
        let calls: Vec<_> = calls.collect();
        assert!(join_all(calls).await.into_iter().all(|failed| !failed.unwrap()));
        assert_eq!(log.most(), 1);
        assert_eq!(log.entries(), (0..1000).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn reading_call_does_not_wait_for_its_serial_group() {
    let log = Log::new(0);
    let client = group(&log);
    let post = client.call("post", json!({"n": 1}));
    let readers = async {
        log.began().await;
        let look = client.call("look", json!({"n": 2}));
        let either = client.call("either", json!({"n": 0}));
        let let_go = async {
            log.began().await;
            log.began().await;
            log.go.add_permits(3);
        };
        tokio::join!(look, either, let_go)
    };
    tokio::join!(post, readers);
    assert_eq!(log.most(), 3);
}

#[tokio::test]
async fn cancelled_call_leaves_the_serial_queue() {
    let log = Log::new(0);
    let client = group(&log);
    let mut first = Box::pin(client.call("post", json!({"n": 1})));
    assert!((&mut first).now_or_never().is_none());
    log.began().await;
    let mut second = Box::pin(client.call("post", json!({"n": 2})));
    let keyed = client.keyed("k");
    let mut third = Box::pin(keyed.call("post", json!({"n": 3})));
    let mut fourth = Box::pin(client.call("correct", json!({"n": 4})));
    for waiting in [&mut second, &mut fourth] {
        assert!(waiting.now_or_never().is_none());
    }
    assert!((&mut third).now_or_never().is_none());
    tokio::task::yield_now().await;
    drop(second);
    drop(third);
    log.go.add_permits(2);
    let (first, fourth) = tokio::join!(first, fourth);
    assert!(!first.is_error() && !fourth.is_error());
    assert_eq!(log.entries(), [1, 4]);
    let store = client.engine().store().unwrap();
    let records = store.records(Default::default(), Default::default()).await.unwrap();
    assert!(records.items.is_empty(), "a call that left the queue was never started");
}

#[tokio::test(start_paused = true)]
async fn deadline_ends_the_wait_in_a_serial_group() {
    let log = Log::new(0);
    let client = server()
        .tool(log.tool("post").annotations(deletes()).rate(RateLimit::per_day(3)))
        .limits(|limits| limits.deadline = Duration::from_secs(20))
        .test()
        .deadline(Duration::from_secs(600));
    // A call with a key keeps running after its deadline, so it keeps its turn.
    let held = client.keyed("first");
    let told = held.call("post", json!({"n": 1})).await;
    assert_eq!(told.code(), Some(code::IN_PROGRESS), "{}", told.text());
    for key in [None, Some("second")] {
        let waiting = key.map_or(client.by("tester"), |key| client.keyed(key));
        let began = tokio::time::Instant::now();
        let told = waiting.call("post", json!({"n": 2})).await;
        assert_eq!(told.code(), Some(code::BUSY), "{}", told.text());
        assert!(told.text().contains("not started"), "{}", told.text());
        assert_eq!(began.elapsed().as_secs(), 20);
    }
    log.go.add_permits(1);
    let joined = held.call("post", json!({"n": 1})).await;
    assert!(joined.is_replayed(), "{}", joined.text());
    log.go.add_permits(2);
    for waited in [3, 4] {
        let called = client.call("post", json!({"n": waited})).await;
        assert!(!called.is_error(), "a call that did not start was not charged: {}", called.text());
    }
    assert_eq!(client.call("post", json!({"n": 5})).await.code(), Some(code::RATE_LIMITED));
    assert_eq!(log.entries(), [1, 3, 4]);
}

#[tokio::test]
async fn retry_joins_a_waiting_or_running_call() {
    let log = Log::new(0);
    let client = group(&log);
    let (a, b) = (client.keyed("a"), client.keyed("b"));
    let calls = async {
        tokio::join!(
            a.call("post", json!({"n": 1})),
            b.call("post", json!({"n": 2})),
            a.call("post", json!({"n": 1})),
            b.call("post", json!({"n": 2})),
            b.call("post", json!({"n": 2})),
        )
    };
    let go = async {
        log.began().await;
        tokio::task::yield_now().await;
        log.go.add_permits(2);
    };
    let ((a1, b1, a2, b2, b3), ()) = tokio::join!(calls, go);
    let n = |called: &candor_server::testing::TestResult| -> Value {
        assert!(!called.is_error(), "{}", called.text());
        called.structured().unwrap()["n"].clone()
    };
    assert_eq!([&a1, &a2].map(n), [1, 1]);
    assert_eq!([&b1, &b2, &b3].map(n), [2, 2, 2]);
    assert_eq!(log.entries(), [1, 2]);
}
