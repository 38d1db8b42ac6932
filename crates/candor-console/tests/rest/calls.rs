//! Calling tools over HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candor_console::Console;
use candor_server::tool::{JsonTool, Output, ToolError};
use candor_server::{Ctx, Elicit};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::site::{Site, delete_record, sample, server, weather};

#[tokio::test]
async fn call_result_matches_mcp() {
    let site = Site::of(sample());
    let called = site.post("/tools/get_weather/call", json!({"city": "Oslo"})).await;
    let content = json!([{"type": "text", "text": "Sunny in Oslo"}]);
    assert_eq!(called.ok(), json!({"content": content, "isError": false}));
    assert_eq!(called.header("cache-control"), "no-store");
    assert_eq!(called.header("idempotent-replayed"), "");
}

#[tokio::test]
async fn structured_content_keeps_large_integers() {
    let tool = JsonTool::open("t", |_, _| async {
        Ok::<_, ToolError>(Output::structured(
            json!({"n": 18_446_744_073_709_551_615_u64, "x": 0.1}),
        ))
    });
    let site = Site::of(server().tool(tool));
    let called = site.post("/tools/t/call", json!({})).await;
    assert_eq!(called.ok()["structuredContent"]["n"], 18_446_744_073_709_551_615_u64);
    assert!(called.ok().get("_meta").is_none(), "no metadata, no member: {}", called.body);
}

#[tokio::test]
async fn calls_are_disabled_by_default() {
    let site = Site::with(sample(), |console| console);
    for verb in ["call", "preview"] {
        for tool in ["get_weather", "nothing"] {
            let reply = site.post(&format!("/tools/{tool}/{verb}"), json!({"city": "Oslo"})).await;
            let said = reply.problem(403, "execution_disabled");
            assert_eq!(said["error"], "Tool execution is disabled.");
        }
    }
}

/// The order of the checks: the caller (anonymous ones learn nothing about tools), whether calls are enabled, whether the tool
/// exists, whether its arguments can be read.
#[tokio::test]
async fn call_refusals_follow_a_fixed_order() {
    let off = Site::with(sample(), |console| console);
    let on = Site::of(sample());
    for site in [&off, &on] {
        for tool in ["get_weather", "nothing"] {
            let path = format!("/tools/{tool}/call");
            let reply = site.ask("POST", &path).text("text/plain", "{").send().await;
            reply.problem(401, "unauthorized");
            assert!(reply.header("www-authenticate").starts_with("Bearer"));
            assert!(!reply.body.contains("not found"), "anonymous callers learn nothing");
            let wrong = site.ask("POST", &path).header("authorization", "Bearer wrong");
            wrong.json(&json!({})).send().await.problem(401, "unauthorized");
        }
    }
    let off = off.ask("POST", "/tools/nothing/call").known().text("text/plain", "{").send().await;
    off.problem(403, "execution_disabled");
    let gone = on.ask("POST", "/tools/nothing/call").known().text("text/plain", "{").send().await;
    assert_eq!(gone.status, 404);
    let text =
        on.ask("POST", "/tools/get_weather/call").known().text("text/plain", "{").send().await;
    text.problem(415, "unsupported_media_type");
    let bad = on.ask("POST", "/tools/get_weather/call").known().text("application/json", "{");
    bad.send().await.problem(400, "bad_request");
    let unfit = on.post("/tools/get_weather/call", json!({})).await;
    unfit.problem(422, "invalid_arguments");
}

#[tokio::test]
async fn unreadable_body_never_becomes_a_call() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let tool = JsonTool::open("t", move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok::<_, ToolError>("ran") }
    });
    let site = Site::of(server().tool(tool));
    for body in [
        &b""[..],
        b"{",
        b"[1,2]",
        b"null",
        b"{}x",
        b"\xff\xfe",
        b"{\"a\":\"\xff\"}",
        b"{\"a\":1,\"a\":2}",
    ] {
        let ask = site.ask("POST", "/tools/t/call").known().text("application/json", body.to_vec());
        ask.send().await.problem(400, "bad_request");
    }
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json", ""]
    {
        let ask = site.ask("POST", "/tools/t/call").known().text(kind, "{}");
        ask.send().await.problem(415, "unsupported_media_type");
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    site.post("/tools/t/call", json!({})).await.ok();
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn tool_error_is_a_result_without_internal_details() {
    let tools = [
        JsonTool::open("own", |_, _| async {
            Err::<&str, _>(ToolError::new("No paper").code("rate_limited"))
        }),
        JsonTool::open("leaks", |_, _| async {
            Err::<&str, _>(ToolError::internal("secret path /etc/shadow leaked"))
        }),
        JsonTool::open("panics", |_, _| async {
            if true {
                panic!("secret path /etc/shadow leaked")
            }
            Ok::<_, ToolError>("")
        }),
    ];
    let site = Site::of(tools.into_iter().fold(server(), candor_server::Server::tool));
    for (tool, code) in [("own", "rate_limited"), ("leaks", "internal"), ("panics", "internal")] {
        let reply = site.post(&format!("/tools/{tool}/call"), json!({})).await;
        let said = reply.ok();
        assert_eq!(said["isError"], true, "{tool}");
        assert_eq!(said["_meta"]["dev.candor/error"]["code"], code);
        assert!(!reply.body.contains("shadow"), "{}", reply.body);
    }
}

#[tokio::test]
async fn retry_with_the_same_key_is_replayed() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let tool = JsonTool::open("pay", move |_, _| {
        let run = counted.fetch_add(1, Ordering::SeqCst);
        async move { Ok::<_, ToolError>(format!("paid {run}")) }
    });
    let site = Site::of(server().tool(tool));
    let pay = |key: &'static str| {
        let ask = site.ask("POST", "/tools/pay/call").known().header("idempotency-key", key);
        ask.json(&json!({"to": "bob"})).send()
    };
    let first = pay("k").await;
    assert_eq!(first.header("idempotent-replayed"), "");
    // A key in quotes, as in the draft, is the same key.
    for key in ["k", "\"k\""] {
        let again = pay(key).await;
        assert_eq!(again.header("idempotent-replayed"), "true");
        assert_eq!(again.ok()["content"], first.ok()["content"]);
        assert_eq!(again.ok()["_meta"]["dev.candor/idempotency"]["replayed"], true);
    }
    assert_eq!(pay("other").await.ok()["content"][0]["text"], "paid 1");
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn handler_sees_the_principal_and_problems_name_the_trace() {
    let tool = JsonTool::open("who", |_, ctx: Ctx| async move {
        Ok::<_, ToolError>(ctx.principal().to_string())
    });
    let site = Site::of(server().tool(tool).tool(weather()));
    let who = site.post("/tools/who/call", json!({})).await.ok();
    assert_eq!(who["content"][0]["text"], "operator");
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let ask = site.ask("POST", "/tools/get_weather/call").known();
    let ask = ask.header("traceparent", &format!("00-{trace}-00f067aa0ba902b7-01"));
    let refused = ask.json(&json!({})).send().await;
    assert_eq!(refused.problem(422, "invalid_arguments")["trace_id"], trace);
}

#[tokio::test]
async fn unsupported_elicitation_is_a_problem() {
    let tool = JsonTool::open("asks", |_, ctx: Ctx| async move {
        ctx.elicit(Elicit::url("Sure?", "https://example.org")).await?;
        Ok::<_, ToolError>("done")
    });
    let site = Site::of(server().tool(tool));
    site.post("/tools/asks/call", json!({})).await.problem(422, "elicitation_unsupported");
}

#[tokio::test]
async fn preview_takes_the_arguments_of_the_call() {
    let tool = delete_record().preview(|args, _| async move {
        Ok::<_, ToolError>(format!("Would delete {}.", args["id"]))
    });
    let site = Site::of(server().tool(tool).tool(weather()));
    let shown = site.post("/tools/delete_record/preview", json!({"id": 7})).await.ok();
    assert_eq!(shown["content"][0]["text"], "Would delete 7.");
    assert!(shown["_meta"]["dev.candor/plan"]["token"].is_string(), "{shown}");
    site.post("/tools/delete_record/preview", json!({})).await.problem(422, "invalid_arguments");
    site.post("/tools/get_weather/preview", json!({"city": "x"})).await.problem(404, "no_preview");
}

fn steps() -> JsonTool {
    JsonTool::open("steps", |_, ctx: Ctx| async move {
        ctx.progress(1, 2, "half").await;
        Ok::<_, ToolError>("a\nb")
    })
}

/// The events of a stream: their names and data.
fn events(text: &str) -> Vec<(String, Value)> {
    text.split("\n\n")
        .filter(|event| event.starts_with("event: "))
        .map(|event| {
            let (name, data) = event.split_once('\n').unwrap();
            let data: Vec<&str> =
                data.lines().map(|line| line.strip_prefix("data: ").unwrap()).collect();
            let name = name.strip_prefix("event: ").unwrap().to_owned();
            (name, serde_json::from_str(&data.join("\n")).unwrap())
        })
        .collect()
}

#[tokio::test]
async fn event_stream_sends_progress_before_the_result() {
    let site = Site::of(server().tool(steps()).tool(weather()));
    let ask = |tool: &str| {
        let ask = site.ask("POST", &format!("/tools/{tool}/call")).known();
        ask.header("accept", "text/event-stream").json(&json!({})).send()
    };
    let reply = ask("steps").await;
    assert_eq!((reply.status.as_u16(), reply.header("content-type")), (200, "text/event-stream"));
    let said = events(&reply.body);
    assert_eq!(said.len(), 2, "{}", reply.body);
    let progress = &said[0].1;
    assert_eq!(
        (said[0].0.as_str(), &progress["progress"], &progress["message"]),
        ("progress", &json!(1), &json!("half"))
    );
    let plain = site.post("/tools/steps/call", json!({})).await.ok();
    assert_eq!(said[1], ("result".to_owned(), plain));
    let refused = events(&ask("get_weather").await.body);
    assert_eq!(refused.len(), 1);
    assert_eq!(
        (refused[0].0.as_str(), &refused[0].1["code"]),
        ("problem", &json!("invalid_arguments"))
    );
    let unknown = ask("nothing").await;
    assert_eq!(unknown.status, 404, "an error before the call is a status");
}

/// A handler that says when it runs and when it was dropped.
fn hanging(runs: Arc<Notify>, ended: Arc<Notify>) -> JsonTool {
    struct OnDrop(Arc<Notify>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    JsonTool::open("hangs", move |_, _| {
        let (runs, ended) = (runs.clone(), OnDrop(ended.clone()));
        async move {
            let _ended = ended;
            runs.notify_one();
            std::future::pending::<()>().await;
            Ok::<_, ToolError>("never")
        }
    })
}

#[tokio::test]
async fn disconnect_cancels_the_call() {
    let (runs, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let engine = server().tool(hanging(runs.clone(), ended.clone())).build().unwrap();
    let console = Console::of(engine).allow_execute();
    let token = console.launch_token().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = tokio::spawn(async move { axum::serve(listener, console.router()).await });
    for accept in ["application/json", "text/event-stream"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!(
            "POST /tools/hangs/call HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Accept: {accept}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        runs.notified().await;
        drop(stream);
        ended.notified().await;
    }
    served.abort();
}

#[tokio::test]
async fn real_connection_serves_the_same_answers() {
    let console = Console::of(sample().build().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = tokio::spawn(async move { axum::serve(listener, console.router()).await });
    let ask = async |line: &str, host: &str| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        reply
    };
    let here = address.to_string();
    let got = ask("GET /tools/get_weather", &here).await;
    assert!(got.starts_with("HTTP/1.1 200 OK\r\n"), "{got}");
    assert!(got.contains("\"inputSchema\""), "{got}");
    let head = ask("HEAD /tools/get_weather", &here).await;
    let length = got.split("\r\n\r\n").nth(1).unwrap().len();
    assert!(head.contains(&format!("content-length: {length}\r\n")), "{head}");
    assert!(head.ends_with("\r\n\r\n"), "no body: {head}");
    let dots = ask("GET /tools/../tools/%2e%2e", &here).await;
    assert!(dots.contains(r#"{"error":"Tool not found: ../tools/.."}"#), "{dots}");
    let rebound = ask("GET /tools", "evil.test").await;
    assert!(rebound.starts_with("HTTP/1.1 403"), "{rebound}");
    served.abort();
}
