//! The order of serial calls, over real transports: the order in which the process received them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use candor_server::AskLevel;
use candor_server::hints::Hints;
use candor_server::protocol::Principal;
use candor_server::tool::{JsonTool, ToolError, ToolSet, async_provider_fn, provider_fn};
use candor_server::transport::stdio;
use candor_server::{RunningServer, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, duplex};
use tokio::net::TcpStream;

use crate::common::{CAPABILITIES_KEY, Call, MODERN, Session, Site, VERSION_KEY, call, soon};
use crate::server;

const CALLS: u64 = 5;
const RUNS: usize = 50;

/// The calls in the order in which their handlers started.
#[derive(Clone, Default)]
struct Started(Arc<Mutex<Vec<u64>>>);

impl Started {
    /// A tool that notes its call, then takes `time`.
    fn tool(&self, name: &str, time: Duration) -> JsonTool {
        let started = self.clone();
        JsonTool::open(name, move |args, _| {
            started.0.lock().unwrap().push(args["n"].as_u64().unwrap());
            async move {
                tokio::time::sleep(time).await;
                Ok::<_, ToolError>("done")
            }
        })
        .hints(Hints::DELETES)
        .serial("ledger")
    }

    fn take(&self) -> Vec<u64> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn in_order() -> Vec<u64> {
    (0..CALLS).collect()
}

/// The numbers of a run's calls. The first arguments are large, so that reading them takes longer than reading the last.
fn arguments(n: u64) -> Value {
    json!({"n": n, "padding": "x".repeat(20_000 * usize::try_from(CALLS - n).unwrap())})
}

fn line(n: u64, modern: bool) -> String {
    let meta = json!({VERSION_KEY: MODERN, CAPABILITIES_KEY: {}});
    let mut params = json!({"name": "post", "arguments": arguments(n)});
    if modern {
        params["_meta"] = meta;
    }
    format!("{}\n", json!({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params}))
}

/// Sends all calls in one write over stdio and waits for all answers.
async fn pipeline_lines(engine: &RunningServer, modern: bool) {
    let ((mut input, server_input), (output, server_output)) = (duplex(1 << 20), duplex(1 << 20));
    let serving = engine.clone();
    let serving = tokio::spawn(async move {
        stdio::serve(&serving, Principal::new("tester"), server_input, server_output).await
    });
    let mut lines = BufReader::new(output).lines();
    let mut awaited = usize::try_from(CALLS).unwrap();
    let mut written = String::new();
    if !modern {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let hello =
            json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params});
        written = format!("{hello}\n");
        awaited += 1;
    }
    written.extend((0..CALLS).map(|n| line(n, modern)));
    input.write_all(written.as_bytes()).await.unwrap();
    for _ in 0..awaited {
        let answer = soon(lines.next_line()).await.unwrap().unwrap();
        assert!(!answer.contains("\"error\"") && !answer.contains("isError\":true"), "{answer}");
    }
    drop(input);
    soon(serving).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stdio_pipelined_serial_calls_run_in_order() {
    let started = Started::default();
    let engine = server().tool(started.tool("post", Duration::ZERO)).build().unwrap();
    for run in 0..RUNS {
        pipeline_lines(&engine, run % 2 == 0).await;
        assert_eq!(started.take(), in_order(), "run {run}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stdio_serial_calls_of_provided_tools_run_in_order() {
    let started = Started::default();
    let set =
        Arc::new(ToolSet::new([Arc::new(started.tool("post", Duration::ZERO)) as _]).unwrap());
    let provided = Server::new("limits", "1").tools_from(provider_fn(move |_| Ok(set.clone())));
    let engine = provided.build().unwrap();
    for run in 0..RUNS {
        pipeline_lines(&engine, true).await;
        assert_eq!(started.take(), in_order(), "run {run}");
    }
}

#[tokio::test]
async fn slow_preparation_of_a_serial_call_keeps_its_position() {
    let started = Started::default();
    let set =
        Arc::new(ToolSet::new([Arc::new(started.tool("post", Duration::ZERO)) as _]).unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let source = move |_: Principal| {
        let (set, is_first) = (set.clone(), asked.fetch_add(1, Ordering::SeqCst) == 0);
        async move {
            if is_first {
                tokio::time::sleep(Duration::from_millis(1200)).await;
            }
            Ok(set)
        }
    };
    let engine = Server::new("limits", "1").tools_from(async_provider_fn(source)).build().unwrap();
    pipeline_lines(&engine, true).await;
    assert_eq!(started.take(), in_order());
}

/// Reads `count` responses with a length from one connection.
async fn read_responses(connection: &mut BufReader<TcpStream>, count: u64) {
    for _ in 0..count {
        let (mut length, mut text) = (0, String::new());
        loop {
            text.clear();
            soon(connection.read_line(&mut text)).await.unwrap();
            if let Some(value) = text.to_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            if text == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        soon(connection.read_exact(&mut body)).await.unwrap();
        let body = String::from_utf8(body).unwrap();
        assert!(body.contains("done"), "{body}");
    }
}

async fn connect(site: &Site) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(site.address().await).await.unwrap();
    stream.set_nodelay(true).unwrap();
    BufReader::new(stream)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn http_pipelined_serial_calls_run_in_order() {
    let started = Started::default();
    let site = Site::of(server().tool(started.tool("post", Duration::ZERO)));
    let session = Session::open(&site, "2025-11-25").await;
    for run in 0..RUNS {
        let request = |n| match run % 2 {
            0 => call("post", &arguments(n)),
            _ => session.within(Call::post(&line(n, false))),
        };
        let requests: String = (0..CALLS).map(|n| request(n).to_wire()).collect();
        let mut connection = connect(&site).await;
        connection.write_all(requests.as_bytes()).await.unwrap();
        read_responses(&mut connection, CALLS).await;
        assert_eq!(started.take(), in_order(), "run {run}");
    }
}

// One thread, so the server reads the connections in the order in which they became readable.
#[tokio::test]
async fn http_serial_calls_of_many_connections_run_in_order_of_arrival() {
    let started = Started::default();
    let site = Site::of(server().tool(started.tool("post", Duration::from_millis(4))));
    for run in 0..20 {
        let mut connections = Vec::new();
        for _ in 0..CALLS {
            connections.push(connect(&site).await);
        }
        for (n, connection) in (0..CALLS).zip(&mut connections) {
            // The head of the first request arrives first; its body is the largest.
            let request = call("post", &arguments(n)).to_wire();
            connection.write_all(request.as_bytes()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        for connection in &mut connections {
            read_responses(connection, 1).await;
        }
        assert_eq!(started.take(), in_order(), "run {run}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn request_without_a_body_does_not_hold_later_serial_calls() {
    let started = Started::default();
    let site = Site::of(server().tool(started.tool("post", Duration::ZERO)));
    let mut stalled = connect(&site).await;
    let wire = call("post", &json!({"n": 0})).to_wire();
    let (head, _) = wire.split_once("\r\n\r\n").unwrap();
    stalled.write_all(format!("{head}\r\n\r\n").as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let began = std::time::Instant::now();
    site.send(call("post", &json!({"n": 1}))).await.result().await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(started.take(), [1]);
}

/// A client that waits for approval, is refused or disconnects gives its position up.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn call_that_waits_for_approval_does_not_hold_later_serial_calls() {
    let started = Started::default();
    let site = Site::of(
        server()
            .tool(started.tool("post", Duration::ZERO))
            .tool(started.tool("purge", Duration::ZERO).ask(AskLevel::Always)),
    );
    let mut waiting = connect(&site).await;
    let wire = call("purge", &json!({"n": 0})).to_wire();
    waiting.write_all(wire.as_bytes()).await.unwrap();
    // Not an object: refused after it was read.
    let refused = call("post", &json!("no")).to_wire();
    connect(&site).await.write_all(refused.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let began = std::time::Instant::now();
    for n in 1..=3 {
        site.send(call("post", &json!({"n": n}))).await.result().await;
    }
    assert!(began.elapsed() < Duration::from_millis(900), "{:?}", began.elapsed());
    assert_eq!(started.take(), [1, 2, 3]);
}
