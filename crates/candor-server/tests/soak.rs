//! Hours in the life of a server, in a hurry: whatever clients do, memory stays flat, and no task, session or file
//! descriptor is left behind.
//!
//! Runs for a few seconds; `CANDOR_SOAK_SECONDS` makes it longer (`cargo xtask soak` sets it).

#![allow(missing_docs)]
#![cfg(target_os = "linux")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use candor_server::tool::JsonTool;
use candor_server::transport::http::{Http, endpoint, serve};
use candor_server::{Elicit, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

const SOON: Duration = Duration::from_secs(20);
const WORKERS: u64 = 8;

fn server() -> Server {
    let any = json!({"type": "object"});
    let echo = JsonTool::new("echo", &any, |args, _| async move { Ok(args.to_string()) });
    let steps = JsonTool::new("steps", &any, |_, ctx| async move {
        for step in 0..20 {
            ctx.progress(step, 20, "working").await;
            sleep(Duration::from_millis(1)).await;
        }
        Ok("done")
    });
    let ask = JsonTool::new("ask", &any, |_, ctx| async move {
        let form = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}});
        Ok(ctx.elicit(Elicit::form("Sure?", &form).key("sure")).await?.action())
    });
    let touch = JsonTool::new("touch", &any, |_, ctx| async move {
        ctx.changes().tools();
        Ok("touched")
    });
    let set = Arc::new(
        candor_server::tool::ToolSet::new([
            Arc::new(echo) as Arc<dyn candor_server::tool::Tool>,
            Arc::new(steps),
            Arc::new(ask),
            Arc::new(touch),
        ])
        .unwrap(),
    );
    Server::new("soak", "1")
        .tools_from(candor_server::tool::provider_fn(move |_| Ok(set.clone())))
        .limits(|limits| {
            limits.sessions_per_peer = 50;
            limits.session_idle = Duration::from_millis(500);
            limits.head_time = Duration::from_secs(1);
        })
}

/// One request on a connection of its own; reads the whole answer, or only some bytes and hangs up.
async fn post(address: SocketAddr, headers: &str, body: &str, read_only: Option<usize>) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; read_only.unwrap_or(0)];
    let read = async {
        match read_only {
            Some(_) => stream.read(&mut answer).await.map(|n| answer.truncate(n)),
            None => stream.read_to_end(&mut answer).await.map(drop),
        }
    };
    let _ = timeout(SOON, read).await.expect("an answer in time");
    String::from_utf8_lossy(&answer).into_owned()
}

async fn modern(
    address: SocketAddr,
    method: &str,
    mut params: Value,
    read_only: Option<usize>,
) -> String {
    params["_meta"] = json!({
        "progressToken": 1,
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    let name = params["name"].as_str().map_or(String::new(), |n| format!("Mcp-Name: {n}\r\n"));
    let headers = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    post(address, &headers, &body, read_only).await
}

async fn initialize(address: SocketAddr) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}});
    let answer = post(address, "", &body.to_string(), None).await;
    let id = answer.split("mcp-session-id: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    format!("Mcp-Session-Id: {}\r\n", id.expect("a session"))
}

async fn legacy(
    address: SocketAddr,
    session: &str,
    tool: &str,
    read_only: Option<usize>,
) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "_meta": {"progressToken": 1}}});
    post(address, session, &body.to_string(), read_only).await
}

async fn end_session(address: SocketAddr, session: &str) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request =
        format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{session}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(SOON, stream.read_to_end(&mut answer)).await.unwrap();
}

/// What clients do, well-behaved and not.
async fn something(address: SocketAddr, n: u64) {
    let call = |tool: &str| json!({"name": tool, "arguments": {"n": n}});
    match n % 9 {
        0 => assert!(modern(address, "tools/call", call("echo"), None).await.contains("200 OK")),
        1 => assert!(modern(address, "tools/call", call("steps"), None).await.contains("done")),
        2 => drop(modern(address, "tools/call", call("steps"), Some(100)).await),
        3 => {
            let session = initialize(address).await;
            assert!(legacy(address, &session, "echo", None).await.contains("200 OK"));
            assert!(legacy(address, &session, "steps", None).await.contains("done"));
            end_session(address, &session).await;
        }
        4 => {
            // Never ended, and its stream left halfway.
            let session = initialize(address).await;
            drop(legacy(address, &session, "steps", Some(100)).await);
        }
        5 => drop(
            modern(
                address,
                "subscriptions/listen",
                json!({"notifications": {"toolsListChanged": true}}),
                Some(200),
            )
            .await,
        ),
        6 => assert!(post(address, "", "{\"jsonrpc\":", None).await.contains("400 Bad Request")),
        7 => assert!(
            modern(address, "tools/call", call("ask"), None).await.contains("input_required")
        ),
        _ => assert!(modern(address, "tools/call", call("touch"), None).await.contains("touched")),
    }
}

/// What this process holds: resident kilobytes, open file descriptors, live tasks.
#[derive(Debug, Clone, Copy)]
struct Held {
    kilobytes: u64,
    descriptors: usize,
    tasks: usize,
}

fn held() -> Held {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    Held {
        kilobytes: resident.trim().trim_end_matches(" kB").parse().unwrap(),
        descriptors: std::fs::read_dir("/proc/self/fd").unwrap().count(),
        tasks: tokio::runtime::Handle::current().metrics().num_alive_tasks(),
    }
}

/// Waits until everything that was only slow to end has ended.
async fn settle(address: SocketAddr, baseline: Held) -> Held {
    let begun = Instant::now();
    loop {
        sleep(Duration::from_millis(600)).await;
        // Opening a session sweeps those that have been silent for too long.
        let session = initialize(address).await;
        end_session(address, &session).await;
        sleep(Duration::from_millis(50)).await;
        let now = held();
        let settled = now.tasks <= baseline.tasks && now.descriptors <= baseline.descriptors;
        if settled || begun.elapsed() > SOON {
            return now;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn load_leaves_no_tasks_descriptors_or_memory_behind() {
    let seconds =
        std::env::var("CANDOR_SOAK_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(4);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let engine = server().build().unwrap();
    let (app, limits) = (
        Router::new().route("/mcp", endpoint(engine.clone(), Http::default())),
        engine.limits().clone(),
    );
    tokio::spawn(async move { serve(listener, app, &limits, std::future::pending()).await });

    // Warm-up: allocators and caches grow to their usual size.
    for n in 0..200 {
        something(address, n).await;
    }
    let baseline = settle(address, Held { kilobytes: 0, descriptors: usize::MAX, tasks: 1 }).await;

    let (count, until) =
        (Arc::new(AtomicU64::new(0)), Instant::now() + Duration::from_secs(seconds));
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let count = count.clone();
            tokio::spawn(async move {
                let mut n = worker;
                while Instant::now() < until {
                    something(address, n).await;
                    n += 1;
                    count.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    let after = settle(address, baseline).await;
    let count = count.load(Ordering::Relaxed);
    eprintln!("{count} exchanges in {seconds} s: before {baseline:?}, after {after:?}");
    assert!(count > 100, "the server is too slow for this to mean anything");
    assert!(after.tasks <= baseline.tasks, "tasks were left behind: {baseline:?}, {after:?}");
    assert!(
        after.descriptors <= baseline.descriptors,
        "descriptors were left behind: {baseline:?}, {after:?}"
    );
    assert!(after.kilobytes < baseline.kilobytes + 20_000, "memory grew: {baseline:?}, {after:?}");
}
