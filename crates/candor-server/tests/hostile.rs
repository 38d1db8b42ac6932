//! Whatever arrives gets a protocol error or a closed connection: never a hang, a crash or growing memory.

#![allow(missing_docs)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use candor_server::store::{MemoryStore, Options};
use candor_server::tool::{JsonTool, ToolError};
use candor_server::transport::http::{Http, endpoint, serve};
use candor_server::{Limits, RunningServer, Server};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tower::ServiceExt;

const SOON: Duration = Duration::from_secs(10);

fn engine(limits: impl FnOnce(&mut Limits)) -> RunningServer {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    let echo = JsonTool::new("echo", &schema, |args, _| async move { Ok(args.to_string()) });
    let flood = JsonTool::new("flood", &json!({"type": "object"}), |_, ctx| async move {
        for step in 0..1_000_000 {
            ctx.progress(step, None, "a long message that fills the pipe a little faster").await;
        }
        Ok("done")
    });
    let large = JsonTool::new("large", &json!({"type": "object"}), |_, _| async {
        Ok::<_, ToolError>("a".repeat(16 * 1024 * 1024))
    });
    let stuck = JsonTool::new("stuck", &json!({"type": "object"}), |_, _| async {
        std::future::pending::<()>().await;
        Ok::<_, ToolError>("never")
    });
    let server = Server::new("hostile", "1").tool(echo).tool(flood).tool(large).tool(stuck);
    server.limits(limits).build().unwrap()
}

fn app(engine: &RunningServer) -> Router {
    Router::new().route("/mcp", endpoint(engine.clone(), Http::default()))
}

fn call(tool: &str) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}, "_meta": {
        "progressToken": 1,
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }}})
    .to_string()
}

fn post(tool: &str) -> String {
    let body = call(tool);
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A server on a socket, stopped with the test.
async fn listen(engine: &RunningServer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (app, limits) = (app(engine), engine.limits().clone());
    tokio::spawn(async move { serve(listener, app, &limits, std::future::pending()).await });
    address
}

/// Sends bytes and reads until the other side closes.
async fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = timeout(SOON, stream.read_to_end(&mut answer))
        .await
        .expect("the connection was not closed");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn body_that_never_ends_times_out() {
    let address = listen(&engine(|limits| limits.body_time = Duration::from_millis(200))).await;
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";
    let answer = exchange(address, head.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[tokio::test]
async fn head_that_never_ends_times_out() {
    let address = listen(&engine(|limits| limits.head_time = Duration::from_millis(200))).await;
    let answer = exchange(address, b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ").await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[tokio::test]
async fn overlong_head_is_refused() {
    let address = listen(&engine(|_| {})).await;
    let head = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Long: {}", "a".repeat(80_000));
    let answer = exchange(address, head.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test]
async fn oversized_body_is_refused_unread() {
    let address = listen(&engine(|limits| limits.message_bytes = 1000)).await;
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 100000000\r\n\r\n";
    let answer = exchange(address, &[head.as_bytes(), &[b' '; 5000]].concat()).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

/// A request in this process whose body comes in pieces of 32 KiB and does not say how many there will be; and how many were taken.
/// It ends after `pieces`, or never.
fn in_pieces(pieces: Option<usize>) -> (Request<Body>, Arc<AtomicUsize>) {
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = taken.clone();
    let stream = futures_util::stream::unfold(0, move |at| {
        let counted = counted.clone();
        async move {
            match pieces {
                Some(pieces) if at == pieces => return None,
                None if at == 4 => std::future::pending::<()>().await,
                _ => {}
            }
            counted.fetch_add(1, Ordering::SeqCst);
            Some((Ok::<_, std::io::Error>(vec![b' '; 32 * 1024]), at + 1))
        }
    });
    let request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Body::from_stream(stream))
        .unwrap();
    (request, taken)
}

/// Unfinished bodies share a bound on bytes, whatever their number. Small bodies do not wait for them.
#[tokio::test]
async fn large_body_waits_for_body_capacity() {
    let app = app(&engine(|limits| {
        limits.message_bytes = 1024 * 1024;
        limits.body_bytes = 1024 * 1024;
        limits.body_time = Duration::from_secs(3600);
    }));
    let ((unfinished, held), (waits, taken)) = (in_pieces(None), in_pieces(Some(8)));
    let mut unfinished = Box::pin(app.clone().oneshot(unfinished));
    assert!(futures_util::poll!(&mut unfinished).is_pending());
    assert_eq!(held.load(Ordering::SeqCst), 4, "it is read as far as it arrived");
    let mut waits = Box::pin(app.clone().oneshot(waits));
    for _ in 0..10 {
        assert!(futures_util::poll!(&mut waits).is_pending());
        tokio::task::yield_now().await;
    }
    assert_eq!(taken.load(Ordering::SeqCst), 3, "a small part, and the piece that exceeds it");
    // A small body needs no capacity.
    let (small, _) = in_pieces(Some(1));
    let answer = timeout(SOON, app.clone().oneshot(small)).await.unwrap().unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "the body was read, and is not a message");
    drop(unfinished);
    let answer = timeout(SOON, waits).await.expect("capacity is free").unwrap();
    assert_eq!((answer.status(), taken.load(Ordering::SeqCst)), (StatusCode::BAD_REQUEST, 8));
}

/// A call of so many bytes that no other of its kind finds room beside it.
fn large(tool: &str) -> String {
    let (head, body) = (post(tool).replace("Host:", "Connection: close\r\nHost:"), call(tool));
    let head = head.split_once("Content-Length").unwrap().0;
    let (body, padding) = (body.trim_end(), " ".repeat(255 * 1024 - body.len()));
    format!("{head}Content-Length: {}\r\n\r\n{body}{padding}", body.len() + padding.len())
}

fn room_for_one(limits: &mut Limits) {
    limits.message_bytes = 256 * 1024;
    limits.body_bytes = 256 * 1024;
    limits.body_time = Duration::from_millis(200);
}

/// A body stays in memory while its request runs, so it holds capacity. A body that gets none in time is refused for now.
#[tokio::test]
async fn large_body_holds_capacity_while_its_request_runs() {
    let address = listen(&engine(room_for_one)).await;
    let mut stuck = TcpStream::connect(address).await.unwrap();
    stuck.write_all(large("stuck").as_bytes()).await.unwrap();
    let until = async |status: &str| loop {
        let answer = exchange(address, large("echo").as_bytes()).await;
        if answer.starts_with(status) {
            return answer;
        }
    };
    let refused = timeout(SOON, until("HTTP/1.1 503 ")).await.expect("all capacity is in use");
    assert!(refused.to_ascii_lowercase().contains("retry-after: 1\r\n"), "{refused}");
    let small = post("echo").replace("Host:", "Connection: close\r\nHost:");
    assert!(exchange(address, small.as_bytes()).await.starts_with("HTTP/1.1 200 "));
    drop(stuck);
    timeout(SOON, until("HTTP/1.1 200 ")).await.expect("the capacity is released");
}

/// A call with a key keeps running, and keeps its arguments, after its caller disconnects.
#[tokio::test]
async fn large_body_holds_capacity_after_its_caller_disconnects() {
    let (begun, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (begins, goes) = (begun.clone(), go.clone());
    let tool = JsonTool::open("held", move |_, _| {
        let (begins, goes) = (begins.clone(), goes.clone());
        async move {
            begins.add_permits(1);
            goes.acquire().await.unwrap().forget();
            Ok::<_, ToolError>("done")
        }
    });
    let echo = JsonTool::open("echo", |_, _| async { Ok::<_, ToolError>("echo") });
    let ledger = Arc::new(MemoryStore::new(Options::default()));
    let server = Server::new("hostile", "1").tool(tool).tool(echo).ledger(ledger);
    let address = listen(&server.limits(room_for_one).build().unwrap()).await;
    let mut caller = TcpStream::connect(address).await.unwrap();
    let keyed = large("held").replacen("Host:", "Idempotency-Key: k\r\nHost:", 1);
    caller.write_all(keyed.as_bytes()).await.unwrap();
    timeout(SOON, begun.acquire()).await.expect("it runs").unwrap().forget();
    drop(caller);
    for _ in 0..3 {
        let answer = exchange(address, large("echo").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    }
    go.add_permits(1);
    let freed = async {
        while !exchange(address, large("echo").as_bytes()).await.starts_with("HTTP/1.1 200 ") {}
    };
    timeout(SOON, freed).await.expect("the capacity is released");
}

#[tokio::test]
async fn absolute_target_of_another_host_is_refused() {
    let address = listen(&engine(|_| {})).await;
    let named = |target: &str| {
        let request = post("echo").replace("Host:", "Connection: close\r\nHost:");
        request.replacen("POST /mcp", &format!("POST {target}"), 1)
    };
    let evil = exchange(address, named("http://evil.example.com/mcp").as_bytes()).await;
    assert!(evil.starts_with("HTTP/1.1 403 "), "{evil}");
    let ours = exchange(address, named("http://localhost/mcp").as_bytes()).await;
    assert!(ours.starts_with("HTTP/1.1 200 "), "{ours}");
}

#[tokio::test]
async fn peer_that_never_reads_is_dropped_and_frees_its_slot() {
    let engine = engine(|limits| {
        limits.write_time = Duration::from_millis(300);
        limits.http_requests = 1;
    });
    let address = listen(&engine).await;
    let mut deaf = TcpStream::connect(address).await.unwrap();
    deaf.write_all(post("flood").as_bytes()).await.unwrap();

    // The only slot is in use until the server drops the connection of the peer.
    let freed = async {
        loop {
            let answer = exchange(
                address,
                post("echo").replace("Host:", "Connection: close\r\nHost:").as_bytes(),
            )
            .await;
            if answer.starts_with("HTTP/1.1 200 ") {
                return;
            }
            assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(SOON, freed).await.expect("the slot was never released");
}

/// Otherwise every connection could hold a large response, whatever the limit on requests.
#[tokio::test]
async fn unread_large_response_holds_the_slot_of_its_request() {
    let address = listen(&engine(|limits| limits.http_requests = 1)).await;
    let echo = post("echo").replace("Host:", "Connection: close\r\nHost:");
    let mut deaf = TcpStream::connect(address).await.unwrap();
    deaf.write_all(post("large").as_bytes()).await.unwrap();
    // The response has begun, and is larger than the socket buffers.
    let mut begun = [0; 12];
    timeout(SOON, deaf.read_exact(&mut begun)).await.unwrap().unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200");
    let refused = exchange(address, echo.as_bytes()).await;
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    // A small response holds no slot, although its connection is open.
    drop(deaf);
    let mut kept = TcpStream::connect(address).await.unwrap();
    let freed = async {
        loop {
            kept.write_all(post("echo").as_bytes()).await.unwrap();
            let mut status = [0; 12];
            kept.read_exact(&mut status).await.unwrap();
            if &status == b"HTTP/1.1 200" {
                return;
            }
            kept = TcpStream::connect(address).await.unwrap();
        }
    };
    timeout(SOON, freed).await.expect("a disconnect releases the slot");
    let served = exchange(address, echo.as_bytes()).await;
    assert!(served.starts_with("HTTP/1.1 200 "), "{served}");
}

/// Otherwise a few callers that do not read could use all memory with few requests.
#[tokio::test]
async fn large_response_beyond_the_byte_capacity_is_omitted() {
    // One response has 16 MiB.
    let address = listen(&engine(|limits| limits.answer_bytes = 20 * 1024 * 1024)).await;
    let close = |tool: &str| post(tool).replace("Host:", "Connection: close\r\nHost:");
    let mut deaf = TcpStream::connect(address).await.unwrap();
    deaf.write_all(post("large").as_bytes()).await.unwrap();
    let mut begun = [0; 12];
    timeout(SOON, deaf.read_exact(&mut begun)).await.unwrap().unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200");
    let told = exchange(address, close("large").as_bytes()).await;
    assert!(told.len() < 2000 && told.contains(r#""code":"result_too_large""#), "{told}");
    assert!(told.contains("The call ran."), "{told}");
    let small = exchange(address, close("echo").as_bytes()).await;
    assert!(!small.contains("result_too_large") && small.contains(r#""result":"#), "{small}");
    drop(deaf);
    let freed = async { while exchange(address, close("large").as_bytes()).await.len() < 2000 {} };
    timeout(SOON, freed).await.expect("a disconnect releases the capacity");
}

#[tokio::test]
async fn connections_beyond_the_limit_are_closed_at_once() {
    let address = listen(&engine(|limits| limits.connections = 2)).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(post("echo").as_bytes()).await.unwrap();
        let mut first = [0; 12];
        timeout(SOON, stream.read_exact(&mut first)).await.unwrap().unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        held.push(stream);
    }
    assert_eq!(exchange(address, post("echo").as_bytes()).await, "");
}

#[tokio::test]
async fn handler_that_never_ends_is_stopped_at_the_deadline() {
    let engine = engine(|limits| limits.deadline = Duration::from_millis(200));
    let address = listen(&engine).await;
    let answer =
        exchange(address, post("stuck").replace("Host:", "Connection: close\r\nHost:").as_bytes())
            .await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains(r#""isError":true"#) && answer.contains("took too long"), "{answer}");
}

#[tokio::test]
async fn shutdown_waits_for_a_running_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (started, running) = tokio::sync::oneshot::channel();
    let started = std::sync::Mutex::new(Some(started));
    let slow = JsonTool::new("slow", &json!({"type": "object"}), move |_, _| {
        if let Some(started) = started.lock().unwrap().take() {
            let _ = started.send(());
        }
        async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            Ok::<_, ToolError>("finished")
        }
    });
    let engine = Server::new("slow", "1").tool(slow).build().unwrap();
    let (app, limits) = (app(&engine), engine.limits().clone());
    let server = tokio::spawn(async move {
        serve(listener, app, &limits, async {
            let _ = running.await;
        })
        .await
    });
    let answer = exchange(address, post("slow").as_bytes()).await;
    assert!(answer.contains("finished"), "{answer}");
    timeout(SOON, server).await.expect("the server did not stop").unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "the listener is closed");
}

#[tokio::test]
async fn malformed_body_gets_the_matching_error_code() {
    let app = app(&engine(|_| {}));
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    for (body, code) in [
        (b"{".to_vec(), -32700),
        (b"\xff\xfe".to_vec(), -32700),
        (deep.into_bytes(), -32700),
        (br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#.to_vec(), -32700),
        (br#"{"jsonrpc":"1.0","id":1,"method":"x"}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":1}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"x"}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":3}}"#.to_vec(), -32602),
        (b"[]".to_vec(), -32600),
        (b"42".to_vec(), -32600),
        (Vec::new(), -32700),
    ] {
        let request = Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .body(Body::from(body.clone()))
            .unwrap();
        let response = timeout(SOON, app.clone().oneshot(request)).await.unwrap().unwrap();
        assert_eq!(
            response.status(),
            StatusCode::BAD_REQUEST,
            "{}",
            String::from_utf8_lossy(&body)
        );
        let answer: Value =
            serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes())
                .unwrap();
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
}

/// Bodies that are nearly right, which is where parsers break.
fn nearly_a_message() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(r#""jsonrpc":"2.0""#.to_owned()),
        Just(r#""id":1"#.to_owned()),
        Just(r#""id":{}"#.to_owned()),
        Just(r#""method":"tools/call""#.to_owned()),
        Just(r#""method":"tools/list""#.to_owned()),
        Just(r#""method":"subscriptions/listen""#.to_owned()),
        Just(r#""params":{"name":"echo","arguments":{"text":"x"}}"#.to_owned()),
        Just(r#""params":{"name":"echo","arguments":{"text":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#.to_owned()),
        Just(r#""params":{"cursor":"x","requestState":"y","inputResponses":{"a":1},"name":"echo"}"#.to_owned()),
        Just(r#""params":null"#.to_owned()),
        Just(r#""result":{}"#.to_owned()),
        Just(r#""error":{"code":1e999,"message":"m"}"#.to_owned()),
        "\"[a-z]{1,4}\":[0-9]{1,30}(\\.[0-9]{1,30})?",
        ".{0,8}",
    ];
    let message =
        prop::collection::vec(piece, 0..6).prop_map(|pieces| format!("{{{}}}", pieces.join(",")));
    prop_oneof![
        message.clone().prop_map(String::into_bytes),
        prop::collection::vec(message.clone(), 0..3)
            .prop_map(|m| format!("[{}]", m.join(",")).into_bytes()),
        (message, any::<prop::sample::Index>(), any::<u8>()).prop_map(|(message, at, byte)| {
            let mut bytes = message.into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes
        }),
        prop::collection::vec(any::<u8>(), 0..64),
    ]
}

fn headers() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = prop_oneof![
        Just("host"),
        Just("origin"),
        Just("accept"),
        Just("content-type"),
        Just("mcp-session-id"),
        Just("mcp-method"),
        Just("mcp-name"),
        Just("mcp-protocol-version"),
        Just("last-event-id"),
        Just("authorization"),
        Just("mcp-param-x"),
    ];
    let value = prop_oneof![
        Just("localhost"),
        Just("application/json"),
        Just("*/*"),
        Just("text/event-stream"),
        Just("2026-07-28"),
        Just("2025-11-25"),
        Just("tools/call"),
        Just("echo"),
        Just("=?base64?!!?="),
        Just("null"),
        Just("session.0"),
        Just(""),
    ];
    prop::collection::vec((name.prop_map(str::to_owned), value.prop_map(str::to_owned)), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_request_gets_a_well_formed_response(
        method in prop_oneof![4 => Just("POST"), 1 => Just("GET"), 1 => Just("DELETE"), 1 => Just("PUT"), 1 => Just("OPTIONS")],
        usual in any::<bool>(),
        headers in headers(),
        body in nearly_a_message(),
    ) {
        thread_local! {
            static SERVER: (tokio::runtime::Runtime, Router) = {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let app = runtime.block_on(async { app(&engine(|limits| limits.keep_alive = Duration::from_millis(20))) });
                (runtime, app)
            };
        }
        SERVER.with(|(runtime, app)| runtime.block_on(async {
            let mut request = Request::builder().method(method).uri("/mcp");
            if usual {
                request = request.header("host", "localhost").header("content-type", "application/json");
            }
            for (name, value) in &headers {
                request = request.header(name, value);
            }
            let response = timeout(SOON, app.clone().oneshot(request.body(Body::from(body)).unwrap()))
                .await
                .expect("no answer")
                .unwrap();
            let status = response.status();
            prop_assert!(status.is_success() || status.is_client_error(), "{}", status);
            if response.headers().get("content-type").is_some_and(|t| t == "application/json") {
                let bytes = response.into_body().collect().await.unwrap().to_bytes();
                let answer: Value = serde_json::from_slice(&bytes).expect("an answer that is JSON");
                let one = answer.as_array().map_or(&answer, |answers| &answers[0]);
                prop_assert_eq!(&one["jsonrpc"], "2.0");
                prop_assert!(one.get("result").is_some() != one.get("error").is_some());
            }
            Ok(())
        }))?;
    }
}
