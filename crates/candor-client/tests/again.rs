//! What is tried again and what is not; what may run at the same time and what waits.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use candor::prelude::*;
use candor_client::{Error, Key, Retry, SafeCall, Trust};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use common::scripted::{Asked, Say, Scripted, modern, said, status, tool, tools};
use common::{Site, soon};

fn quick() -> Retry {
    let mut retry = Retry::default();
    retry.base = Duration::from_millis(1);
    retry.failures = 100;
    retry
}

fn failed(code: &str, more: &Value) -> Say {
    let mut told = json!({"code": code});
    for (name, value) in more.as_object().into_iter().flatten() {
        told[name] = value.clone();
    }
    Say::Result(json!({"resultType": "complete", "isError": true,
        "content": [{"type": "text", "text": code}], "_meta": {"dev.candor/error": told}}))
}

/// Reads, adds, and changes without further effect; each fails as often as the script says.
async fn failing(keys: bool, script: impl Fn(&Asked) -> Say + Send + Sync + 'static) -> Scripted {
    let mut capabilities = json!({"tools": {}});
    if keys {
        capabilities["extensions"] = json!({"dev.candor/idempotency": {}});
    }
    modern(capabilities, move |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([
            tool("reads", &json!({"readOnlyHint": true})),
            tool(
                "adds",
                &json!({"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false})
            ),
            tool(
                "changes",
                &json!({"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true})
            ),
        ])),
        "tools/call" => script(asked),
        other => panic!("{other}"),
    })
    .await
}

fn overloaded() -> Say {
    Say::Whole(status(StatusCode::SERVICE_UNAVAILABLE, ""))
}

#[tokio::test]
async fn call_that_is_safe_to_retry_is_sent_up_to_four_times() {
    let server = failing(false, |_| overloaded()).await;
    let client =
        soon(server.client().trust(Trust::Trusted).retry(quick()).into_future()).await.unwrap();
    for (tool, attempts) in [("reads", 4), ("changes", 4), ("adds", 1)] {
        let before = server.asked("tools/call").len();
        let told = soon(client.call_safely(tool, json!({})).into_future()).await;
        assert!(matches!(told, Err(Error::Http { status: 503, .. })), "{told:?}");
        assert_eq!(server.asked("tools/call").len() - before, attempts, "{tool}");
    }
}

#[tokio::test]
async fn untrusted_hints_do_not_allow_a_retry() {
    let server = failing(false, |_| overloaded()).await;
    let client = soon(server.client().retry(quick()).into_future()).await.unwrap();
    let yes = |_| std::future::ready(true);
    soon(client.call_safely("reads", json!({})).confirm(yes).into_future()).await.unwrap_err();
    assert_eq!(server.asked("tools/call").len(), 1);
}

#[tokio::test]
async fn call_with_a_key_is_retried_under_the_same_key() {
    for (keys, attempts) in [(true, 3), (false, 1)] {
        let server =
            failing(keys, |asked| if asked.nth < 2 { overloaded() } else { said("done") }).await;
        let client =
            soon(server.client().trust(Trust::Trusted).retry(quick()).into_future()).await.unwrap();
        let call = client.call_safely("adds", json!({})).key(Key::new()).unsafe_key();
        let told = soon(call.into_future()).await;
        assert_eq!(told.is_ok(), keys);
        let calls = server.asked("tools/call");
        assert_eq!(calls.len(), attempts);
        let sent = |call: &Asked| call.params["_meta"]["dev.candor/idempotencyKey"].clone();
        assert!(calls.iter().all(|call| sent(call).is_string() && sent(call) == sent(&calls[0])));
        assert!(calls.iter().all(|call| call.headers.get("idempotency-key").is_some()));
        // A new request each time, as the protocol wants it.
        let ids: std::collections::HashSet<_> = calls.iter().map(|c| c.id.to_string()).collect();
        assert_eq!(ids.len(), calls.len());
    }
}

/// A caller that sends a key relies on it when the answer is lost.
#[tokio::test]
async fn key_for_a_server_without_keys_is_refused_before_sending() {
    let server = failing(false, |_| said("done")).await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    assert!(!client.has_keys());
    let told = soon(client.call("adds", json!({})).key("k").into_future()).await;
    assert!(matches!(told, Err(Error::KeysUnsupported)), "{told:?}");
    let told = soon(client.call_safely("adds", json!({})).key("k").into_future()).await;
    assert!(matches!(&told, Err(error @ Error::KeysUnsupported) if !error.may_have_run()));
    assert_eq!(server.asked("tools/call").len(), 0);
    soon(client.call("adds", json!({})).key("k").unsafe_key().into_future()).await.unwrap();
    assert_eq!(server.asked("tools/call").len(), 1);
}

#[tokio::test]
async fn confirmed_arguments_and_key_are_those_sent() {
    // A server that has keys gets it beside the arguments, or among them where the tool demands it. Others get none: an argument
    // of that name is the tool's own.
    for (keys, demanded) in [(true, false), (true, true), (false, false)] {
        let mut capabilities = json!({"tools": {}});
        if keys {
            capabilities["extensions"] = json!({"dev.candor/idempotency": {}});
        }
        let mut keyed = tool("keyed", &Value::Null);
        keyed["inputSchema"]["properties"] = json!({"idempotency_key": {"type": "string"}});
        if demanded {
            keyed["inputSchema"]["required"] = json!(["idempotency_key"]);
        }
        let list = json!([keyed]);
        let server = modern(capabilities, move |asked| match asked.method.as_str() {
            "tools/list" => tools(&list),
            _ => said("done"),
        })
        .await;
        let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
        let shown = Arc::new(Mutex::new(None));
        let ours = shown.clone();
        let call = client.call_safely("keyed", json!({})).confirm(move |proposal| {
            *ours.lock().unwrap() = Some(proposal);
            std::future::ready(true)
        });
        soon(call.into_future()).await.unwrap();
        let shown = shown.lock().unwrap().take().unwrap();
        let [call] = &server.asked("tools/call")[..] else { panic!("one call") };
        assert_eq!(call.params["arguments"], *shown.arguments);
        let sent = &call.params["_meta"]["dev.candor/idempotencyKey"];
        assert_eq!(sent.as_str(), shown.key.as_ref().map(Key::as_str), "{keys} {demanded}");
        assert_eq!(sent.is_string(), keys);
        let among = &call.params["arguments"]["idempotency_key"];
        assert_eq!(among.is_string(), demanded);
    }
}

#[tokio::test]
async fn on_send_reports_the_key_before_the_call_is_sent() {
    let server = failing(true, |_| said("done")).await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    for (tool, own) in [("adds", None), ("adds", Some("mine")), ("reads", None)] {
        let (heard, site) = (told.clone(), server.clone());
        let mut call = client.call_safely(tool, json!({})).on_send(move |key| {
            let before = site.asked("tools/call").len();
            heard.lock().unwrap().push((before, key.expect("a key").to_string()));
        });
        if let Some(key) = own {
            call = call.key(key);
        }
        soon(call.into_future()).await.unwrap();
    }
    let calls = server.asked("tools/call");
    let sent = |at: usize| calls[at].params["_meta"]["dev.candor/idempotencyKey"].clone();
    let told = told.lock().unwrap().clone();
    assert_eq!(told.len(), 2, "a read gets no key: {told:?}");
    assert_eq!((told[0].0, json!(told[0].1)), (0, sent(0)));
    assert_eq!((told[1].0, told[1].1.as_str()), (1, "mine"));
    assert_eq!(sent(2), Value::Null);
    // A second key beside one that is there already would be refused.
    let server =
        modern(json!({"tools": {}, "extensions": {"dev.candor/idempotency": {}}}), |asked| {
            match asked.method.as_str() {
                "tools/list" => {
                    let adds = json!({"readOnlyHint": false, "destructiveHint": false});
                    let mut derives = tool("derives", &adds);
                    derives["_meta"] = json!({"dev.candor/idempotency": {"key": "derived"}});
                    let mut takes = tool("takes", &adds);
                    takes["inputSchema"]["properties"] =
                        json!({"idempotency_key": {"type": "string"}});
                    tools(&json!([derives, takes]))
                }
                _ => said("done"),
            }
        })
        .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    for (tool, arguments) in
        [("derives", json!({})), ("takes", json!({"idempotency_key": "in the arguments"}))]
    {
        sent_without_a_key(client.call_safely(tool, arguments)).await;
    }
    for call in server.asked("tools/call") {
        assert_eq!(call.params["_meta"]["dev.candor/idempotencyKey"], Value::Null, "{call:?}");
    }
    // A server without keys gets none.
    let server = failing(false, |_| said("done")).await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    sent_without_a_key(client.call_safely("adds", json!({}))).await;
}

async fn sent_without_a_key(call: SafeCall<'_>) {
    let (tell, told) = tokio::sync::oneshot::channel();
    let mut tell = Some(tell);
    let call = call.on_send(move |key| tell.take().unwrap().send(key.cloned()).unwrap());
    soon(call.into_future()).await.unwrap();
    assert_eq!(told.await, Ok(None));
}

#[tokio::test]
async fn unknown_outcome_is_never_retried() {
    let server = failing(true, |_| failed("outcome_unknown", &json!({"retriable": true}))).await;
    let client =
        soon(server.client().trust(Trust::Trusted).retry(quick()).into_future()).await.unwrap();
    for tool in ["reads", "changes", "adds"] {
        let result =
            soon(client.call_safely(tool, json!({})).key("k").into_future()).await.unwrap();
        assert!(result.is_unknown());
    }
    assert_eq!(server.asked("tools/call").len(), 3);
}

#[tokio::test]
async fn refused_call_is_retried_after_the_servers_delay() {
    // Retry-After wins.
    let server = failing(false, |asked| match asked.nth {
        0 => failed(
            "rate_limited",
            &json!({"raisedBy": "server", "retriable": true, "retryAfterMs": 150}),
        ),
        1 => failed("busy", &json!({"raisedBy": "server", "retriable": true, "retryAfterMs": 1})),
        2 => Say::Error(4290, "Too many requests are running"),
        _ => said("done"),
    })
    .await;
    let client =
        soon(server.client().trust(Trust::Trusted).retry(quick()).into_future()).await.unwrap();
    let begun = Instant::now();
    let result = soon(client.call_safely("changes", json!({})).into_future()).await.unwrap();
    assert_eq!(result.text(), "done");
    assert!(begun.elapsed() >= Duration::from_millis(150));
    assert_eq!(server.asked("tools/call").len(), 4);
}

#[tokio::test]
async fn unsafe_call_is_resent_once_after_a_trusted_refusal() {
    let busy = json!({"raisedBy": "server", "retriable": true, "retryAfterMs": 1});
    let server = failing(false, move |_| failed("busy", &busy)).await;
    let client =
        soon(server.client().trust(Trust::Trusted).retry(quick()).into_future()).await.unwrap();
    let result = soon(client.call_safely("adds", json!({})).into_future()).await.unwrap();
    assert_eq!(result.failure().unwrap().code, "busy");
    assert_eq!(server.asked("tools/call").len(), 2);
}

/// A page that one must have seen as it is to write it.
#[derive(Clone)]
struct Page {
    version_and_text: Arc<Mutex<(u64, String)>>,
    /// Lets nobody write before two have come.
    two: Arc<tokio::sync::Barrier>,
    writes: Arc<AtomicUsize>,
}

/// Writes the page
#[tool(adds, closed_world)]
async fn write_page(seen: u64, text: String, page: State<Page>) -> Result<u64, ToolError> {
    page.writes.fetch_add(1, Ordering::SeqCst);
    if seen == 0 {
        page.two.wait().await;
    }
    let mut now = page.version_and_text.lock().unwrap();
    if seen != now.0 {
        let told = format!("Somebody else has written version {}.", now.0);
        return Err(ToolError::new(told).code("conflict"));
    }
    *now = (seen + 1, text);
    Ok(now.0)
}

#[tokio::test]
async fn conflict_between_two_writes_is_not_retried() {
    let page = Page {
        version_and_text: Arc::default(),
        two: Arc::new(tokio::sync::Barrier::new(2)),
        writes: Arc::default(),
    };
    let server = Server::new("wiki", "1").state(page.clone()).tools(tools![write_page]);
    let site = Site::of(server).await;
    let connect = || site.client().trust(Trust::Trusted).retry(quick()).into_future();
    let (ada, bob) = (soon(connect()).await.unwrap(), soon(connect()).await.unwrap());
    let write = |client: &candor_client::Client, seen: u64, text: &str| {
        let (client, arguments) = (client.clone(), json!({"seen": seen, "text": text}));
        async move { soon(client.call_safely("write_page", arguments).into_future()).await.unwrap() }
    };
    let (one, other) = tokio::join!(write(&ada, 0, "Ada"), write(&bob, 0, "Bob"));
    let (written, refused) = if one.is_error() { (other, one) } else { (one, other) };
    assert_eq!(written.value(), Some(&json!(1)));
    let failure = refused.failure().unwrap();
    assert_eq!(failure.code, "conflict");
    assert_eq!(page.writes.load(Ordering::SeqCst), 2, "the refused write is not resent");
    // A write after a new read keeps the text of the other.
    let seen = page.version_and_text.lock().unwrap().clone();
    let both = format!("{}, and me", seen.1);
    assert_eq!(write(&bob, seen.0, &both).await.value(), Some(&json!(2)));
    assert_eq!(*page.version_and_text.lock().unwrap(), (2, both));
}

/// Changes something, and says no more than that it does more than read.
fn half_said(name: &str, destructive: Option<bool>) -> JsonTool {
    let mut said = candor::protocol::types::ToolAnnotations::new();
    (said.read_only_hint, said.destructive_hint) = (Some(false), destructive);
    JsonTool::open(name, |_, _| async { Ok::<_, ToolError>("done") }).annotations(said)
}

#[tokio::test]
async fn missing_destructive_hint_needs_approval() {
    // A missing destructive hint counts as destructive.
    let store = candor::store::MemoryStore::new(candor::store::Options::default());
    let server = Server::new("s", "1")
        .ledger(Arc::new(store))
        .ask(candor::AskLevel::Destructive)
        .hold(Duration::ZERO)
        .tool(half_said("says_nothing", None))
        .tool(half_said("says_no", Some(false)));
    let site = Site::of(server).await;
    let client = soon(site.client().into_future()).await.unwrap();
    let refused = soon(client.call("says_nothing", json!({})).into_future()).await.unwrap();
    assert_eq!(refused.failure().unwrap().code, "approval_required");
    let done = soon(client.call("says_no", json!({})).into_future()).await.unwrap();
    assert_eq!(done.text(), "done");
}

#[tokio::test]
async fn error_code_of_a_tool_does_not_allow_a_retry() {
    let server = failing(false, |_| failed("rate_limited", &json!({"retriable": true}))).await;
    let client =
        soon(server.client().trust(Trust::Trusted).retry(quick()).into_future()).await.unwrap();
    let result = soon(client.call_safely("adds", json!({})).into_future()).await.unwrap();
    assert_eq!(result.failure().unwrap().code, "rate_limited");
    assert_eq!(server.asked("tools/call").len(), 1);
}

#[tokio::test]
async fn http_retry_after_is_waited_for_unless_too_long() {
    let answer = |after: &str| {
        let mut response = status(StatusCode::TOO_MANY_REQUESTS, "");
        response.headers_mut().insert("retry-after", after.parse().unwrap());
        Say::Whole(response)
    };
    let server = failing(false, move |asked| match asked.nth {
        0 => answer("1"),
        1 => said("done"),
        _ => answer("86400"),
    })
    .await;
    let client =
        soon(server.client().trust(Trust::Trusted).retry(quick()).into_future()).await.unwrap();
    let begun = Instant::now();
    soon(client.call_safely("reads", json!({})).into_future()).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1));
    let told = soon(client.call_safely("reads", json!({})).into_future()).await;
    assert!(matches!(told, Err(Error::Http { status: 429, .. })));
    assert_eq!(server.asked("tools/call").len(), 3);
}

#[tokio::test]
async fn breaker_stops_retries_to_a_failing_server() {
    let server = failing(false, |_| overloaded()).await;
    let mut retry = quick();
    (retry.failures, retry.attempts) = (5, 10);
    let client =
        soon(server.client().trust(Trust::Trusted).retry(retry).into_future()).await.unwrap();
    let last = soon(client.call_safely("reads", json!({})).into_future()).await.err();
    assert!(matches!(last, Some(Error::Resting { .. })), "{last:?}");
    assert_eq!(server.asked("tools/call").len(), 5);
    assert!(!last.unwrap().may_have_run());
}

/// Counts who is inside at the same time.
#[derive(Default, Clone)]
struct Inside(Arc<Mutex<(usize, usize)>>);

impl Inside {
    async fn stay(&self) {
        {
            let mut inside = self.0.lock().unwrap();
            inside.0 += 1;
            inside.1 = inside.1.max(inside.0);
        }
        tokio::time::sleep(Duration::from_millis(400)).await;
        self.0.lock().unwrap().0 -= 1;
    }

    fn most(&self) -> usize {
        self.0.lock().unwrap().1
    }
}

/// Looks
#[tool(reads, closed_world)]
async fn look(inside: State<Inside>) -> String {
    inside.stay().await;
    "seen".to_owned()
}

/// Writes
#[tool(adds, closed_world)]
async fn write(inside: State<Inside>) -> String {
    inside.stay().await;
    "written".to_owned()
}

#[tokio::test]
async fn reads_run_in_parallel_while_writes_run_one_at_a_time() {
    let most = async |tool: &str, parallel: bool| {
        let inside = Inside::default();
        let server = Server::new("w", "1").state(inside.clone()).tools(tools![look, write]);
        let site = Site::of(server).await;
        let mut connect = site.client().trust(Trust::Trusted);
        if parallel {
            connect = connect.parallel_writes();
        }
        let client = soon(connect.into_future()).await.unwrap();
        soon(client.tools()).await.unwrap();
        let calls = (0..5).map(|_| client.call_safely(tool, json!({})).into_future());
        for result in soon(futures_util::future::join_all(calls)).await {
            assert!(!result.unwrap().is_error());
        }
        inside.most()
    };
    assert_eq!(most("look", false).await, 5);
    assert_eq!(most("write", false).await, 1);
    assert!(most("write", true).await > 1);
}

/// Charges somebody
#[tool(adds, closed_world, idempotency = argument)]
async fn charge(cents: u64, charges: State<Arc<AtomicUsize>>) -> u64 {
    charges.fetch_add(1, Ordering::SeqCst);
    cents
}

/// Passes everything on, but cuts the connection instead of passing on the first answers to calls.
async fn cutting(target: String, cuts: usize) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let left = Arc::new(AtomicUsize::new(cuts));
    let ours = left.clone();
    tokio::spawn(async move {
        loop {
            let (mut down, _) = listener.accept().await.unwrap();
            let (target, left) = (target.clone(), ours.clone());
            tokio::spawn(async move {
                let mut up = TcpStream::connect(&target).await.unwrap();
                let (mut from_client, mut from_server) = ([0; 16 * 1024], [0; 16 * 1024]);
                let mut is_call = false;
                loop {
                    tokio::select! {
                        n = down.read(&mut from_client) => {
                            let n = n.unwrap_or(0);
                            if n == 0 { return; }
                            is_call |= String::from_utf8_lossy(&from_client[..n]).contains("mcp-method: tools/call");
                            up.write_all(&from_client[..n]).await.unwrap();
                        }
                        n = up.read(&mut from_server) => {
                            let n = n.unwrap_or(0);
                            if n == 0 { return; }
                            // The effect is there, the answer never arrives.
                            if is_call && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok() {
                                return;
                            }
                            down.write_all(&from_server[..n]).await.unwrap();
                        }
                    }
                }
            });
        }
    });
    (url, left)
}

#[tokio::test]
async fn lost_answer_is_replayed_without_a_second_run() {
    let charges = Arc::new(AtomicUsize::new(0));
    let server = Server::new("bank", "1")
        .state(charges.clone())
        .ledger(Arc::new(candor::store::MemoryStore::new(candor::store::Options::default())))
        .tools(tools![charge]);
    let site = Site::of(server).await;
    let target = site.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let (url, left) = cutting(target, 2).await;
    let connect = candor_client::Client::connect(url).trust(Trust::Trusted).retry(quick());
    let client = soon(connect.into_future()).await.unwrap();
    let result =
        soon(client.call_safely("charge", json!({"cents": 500})).into_future()).await.unwrap();
    assert_eq!(left.load(Ordering::SeqCst), 0, "both answers were lost");
    assert_eq!(result.value(), Some(&json!(500)));
    assert!(result.is_replayed());
    assert_eq!(charges.load(Ordering::SeqCst), 1);
}
