//! Servers that mean no good, or know no better: nothing hangs, nothing is believed, every failure says what it is.

mod common;

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{StatusCode, header};
use candor_client::{Client, ClientLimits, Era, Error, Hints, HostPolicy, Program, Retry, Trust};
use serde_json::{Value, json};

use common::scripted::{Say, events, modern, said, scripted, status, tool, tools};
use common::{piped, soon};

/// What is answered to a call.
type Plain = fn() -> Say;
type Made = Box<dyn Fn() -> Say + Send + Sync>;

fn small() -> ClientLimits {
    let mut limits = ClientLimits::default();
    limits.answer = Duration::from_secs(2);
    limits.answer_at_most = Duration::from_secs(4);
    limits.probe = Duration::from_secs(1);
    limits.connect = Duration::from_secs(2);
    limits.max_message = 64 * 1024;
    limits.max_pages = 20;
    limits
}

#[tokio::test]
async fn invalid_answer_is_a_protocol_error() {
    let answers: Vec<(&str, Plain)> = vec![
        ("garbage", || Say::Whole(typed("application/json", "<html>"))),
        ("html", || Say::Whole(typed("text/html", "<html>"))),
        ("nothing", || Say::Whole(status(StatusCode::ACCEPTED, ""))),
        ("array", || Say::Whole(typed("application/json", "[]"))),
        ("other id", || {
            Say::Whole(typed("application/json", r#"{"jsonrpc":"2.0","id":"x","result":{}}"#))
        }),
        ("two keys", || {
            Say::Whole(typed("application/json", r#"{"jsonrpc":"2.0","id":1,"id":2,"result":{}}"#))
        }),
        ("result is a number", || Say::Result(json!(3))),
        ("content is a string", || Say::Result(json!({"resultType": "complete", "content": "x"}))),
        ("no content", || Say::Result(json!({"resultType": "complete"}))),
        ("unknown kind of result", || {
            Say::Result(json!({"resultType": "surprise", "content": []}))
        }),
        ("kind of result is a number", || Say::Result(json!({"resultType": 1, "content": []}))),
        ("question where there is none", || {
            Say::Result(json!({"resultType": "input_required", "inputRequests": 3}))
        }),
    ];
    for (name, answer) in answers {
        let server = modern(json!({"tools": {}}), move |asked| match asked.method.as_str() {
            "tools/list" => tools(&json!([tool("t", &Value::Null)])),
            "tools/call" => answer(),
            other => panic!("{other}"),
        })
        .await;
        let client = soon(server.client().limits(small()).into_future()).await.unwrap();
        let told = soon(client.call("t", json!({})).into_future()).await;
        assert!(matches!(told, Err(Error::Protocol(_))), "{name}: {told:?}");
        assert!(told.unwrap_err().may_have_run(), "{name}");
        assert_eq!(server.asked("tools/call").len(), 1, "{name}: not tried again");
    }
}

fn typed(kind: &'static str, body: &str) -> axum::response::Response {
    let mut response = status(StatusCode::OK, body);
    response.headers_mut().insert(header::CONTENT_TYPE, kind.parse().unwrap());
    response
}

#[tokio::test]
async fn oversized_or_endless_answer_ends_with_an_error() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let answers: Vec<(&str, Made)> = vec![
        ("too large", Box::new(|| said(&"x".repeat(100_000)))),
        (
            "too deep",
            Box::new(move || {
                Say::Whole(typed(
                    "application/json",
                    &format!(r#"{{"jsonrpc":"2.0","id":3,"result":{deep}}}"#),
                ))
            }),
        ),
        (
            "endless event",
            Box::new(|| Say::Whole(events(format!("data: {}", "x".repeat(100_000))))),
        ),
        ("events that end", Box::new(|| Say::Whole(events(": hello\n\n")))),
        ("never", Box::new(|| Say::Whole(events(Body::from_stream(never()))))),
    ];
    for (name, answer) in answers {
        let server = modern(json!({"tools": {}}), move |asked| match asked.method.as_str() {
            "tools/list" => tools(&json!([tool("t", &Value::Null)])),
            "tools/call" => answer(),
            other => panic!("{other}"),
        })
        .await;
        let client = soon(server.client().limits(small()).into_future()).await.unwrap();
        let told = soon(client.call("t", json!({})).into_future()).await.unwrap_err();
        assert!(
            matches!(
                told,
                Error::Protocol(_)
                    | Error::TooLarge { limit: 65_536, .. }
                    | Error::Lost { sent: true, .. }
                    | Error::TimedOut { .. }
            ),
            "{name}: {told:?}"
        );
        let large = matches!(name, "too large" | "endless event");
        assert_eq!(matches!(told, Error::TooLarge { .. }), large, "{name}: {told:?}");
        // The client is still of use.
        assert_eq!(soon(client.tools()).await.unwrap().len(), 1, "{name}");
    }
}

/// A schema that takes long to compile: patterns, none of them long.
fn costly(title: &str) -> Value {
    let pattern = |n: usize| json!({"pattern": format!("\\p{{L}}{{1,40}}x{{{n}}}")});
    let properties: serde_json::Map<_, _> =
        (1..12).map(|n| (format!("p{n}"), pattern(n))).collect();
    json!({"type": "object", "title": title, "properties": properties})
}

/// Everything here is on one thread.
#[tokio::test]
async fn slow_schema_does_not_block_other_tasks() {
    let begun = Instant::now();
    candor_schema::Schema::compile(&costly("ours").to_string()).unwrap();
    let alone = begun.elapsed();
    let server = modern(json!({"tools": {}}), |asked| match asked.method.as_str() {
        "tools/list" => {
            let mut tool = tool("t", &Value::Null);
            tool["inputSchema"] = costly("theirs");
            tools(&json!([tool]))
        }
        _ => said("done"),
    })
    .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    let mut longest = Duration::ZERO;
    let mut looked = Instant::now();
    let mut other = tokio::time::interval(Duration::from_millis(1));
    let call = client.call_safely("t", json!({})).confirm(|_| std::future::ready(true));
    let mut call = call.into_future();
    let result = loop {
        tokio::select! {
            biased;
            _ = other.tick() => {
                longest = longest.max(looked.elapsed());
                looked = Instant::now();
            }
            result = &mut call => break result,
        }
    };
    assert_eq!(result.unwrap().text(), "done");
    longest = longest.max(looked.elapsed());
    assert!(longest < alone / 2, "{longest:?} in one go, and it takes {alone:?}");
}

fn never() -> impl futures_util::Stream<Item = Result<String, std::convert::Infallible>> {
    use futures_util::StreamExt as _;
    futures_util::stream::once(async { Ok(": still here\n\n".to_owned()) })
        .chain(futures_util::stream::pending())
}

#[tokio::test]
async fn endless_list_is_an_error() {
    for again in [true, false] {
        let server = modern(json!({"tools": {}, "resources": {}, "prompts": {}}), move |asked| {
            let (_, member) = [
                ("tools/list", "tools"),
                ("resources/list", "resources"),
                ("prompts/list", "prompts"),
            ]
            .into_iter()
            .find(|(method, _)| *method == asked.method)
            .unwrap();
            let cursor = if again { "same".to_owned() } else { asked.nth.to_string() };
            Say::Result(json!({"resultType": "complete", member: [], "nextCursor": cursor,
                "ttlMs": 0, "cacheScope": "private"}))
        })
        .await;
        let client = soon(server.client().limits(small()).into_future()).await.unwrap();
        assert!(matches!(soon(client.tools()).await, Err(Error::Endless { list: "tools", .. })));
        assert!(matches!(soon(client.resources()).await, Err(Error::Endless { .. })));
        assert!(matches!(soon(client.prompts()).await, Err(Error::Endless { .. })));
        assert!(server.asked("tools/list").len() <= 20);
    }
}

#[tokio::test]
async fn invalid_tools_are_left_out_of_the_list() {
    // Unknown members are no reason to refuse a tool.
    let list = json!([
        tool("good", &json!({"readOnlyHint": true, "futureHint": {"x": 1}})),
        {"name": 3}, "text", {"name": "no schema"}, {"name": "odd", "inputSchema": "x"},
        {"name": "typed wrongly", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": "yes"}},
        tool("good", &Value::Null),
        {"name": "header", "inputSchema": {"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}}},
        {"name": "newer", "inputSchema": {"type": "object"}, "somethingNew": [1, 2]},
    ]);
    let server = modern(json!({"tools": {}}), move |_| tools(&list)).await;
    let client = soon(server.client().into_future()).await.unwrap();
    let tools = soon(client.tools()).await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names, ["good", "newer"]);
    assert_eq!(tools.left_out().len(), 7, "{:?}", tools.left_out());
    let newer = tools.get("newer").unwrap().definition();
    assert_eq!(newer.extra.get("somethingNew").unwrap().text(), "[1,2]", "nothing is lost");
}

#[tokio::test]
async fn result_that_violates_the_output_schema_is_an_error() {
    let mut promising = tool("t", &json!({"readOnlyHint": true}));
    promising["outputSchema"] =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let list = json!([promising]);
    let server = modern(json!({"tools": {}}), move |asked| match (asked.method.as_str(), asked.nth) {
        ("tools/list", _) => tools(&list),
        (_, 0) => Say::Result(json!({"resultType": "complete", "content": [], "structuredContent": {"n": "x"}})),
        (_, 1) => said("no structured content"),
        (_, 2) => Say::Result(json!({"resultType": "complete", "content": [], "isError": true})),
        _ => Say::Result(json!({"resultType": "complete", "content": [], "structuredContent": {"n": 1, "m": 2}})),
    })
    .await;
    let client = soon(server.client().into_future()).await.unwrap();
    for _ in 0..2 {
        let told = soon(client.call("t", json!({})).into_future()).await.unwrap_err();
        assert!(matches!(&told, Error::ResultInvalid { .. }) && told.may_have_run(), "{told}");
    }
    assert!(soon(client.call("t", json!({})).into_future()).await.unwrap().is_error());
    assert_eq!(
        soon(client.call("t", json!({})).into_future()).await.unwrap().value().unwrap()["n"],
        1
    );
}

#[tokio::test]
async fn remote_schema_references_are_not_followed() {
    let trap = scripted(|_| panic!("a schema reference was followed")).await;
    let mut tool = tool("t", &json!({"readOnlyHint": true}));
    tool["inputSchema"] = json!({"type": "object", "properties": {"a": {"$ref": trap.url}}});
    tool["outputSchema"] = json!({"$ref": trap.url});
    let list = json!([tool]);
    let server = modern(json!({"tools": {}}), move |asked| match asked.method.as_str() {
        "tools/list" => tools(&list),
        _ => Say::Result(json!({"resultType": "complete", "content": [], "structuredContent": {}})),
    })
    .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    let _ = soon(client.call_safely("t", json!({"a": 1})).into_future()).await;
    assert!(trap.methods().is_empty());
}

#[tokio::test]
async fn call_ends_after_too_many_input_rounds() {
    let server = modern(json!({"tools": {}}), |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([tool("t", &Value::Null)])),
        _ => Say::Result(
            json!({"resultType": "input_required", "requestState": format!("s{}", asked.nth)}),
        ),
    })
    .await;
    let client = soon(server.client().into_future()).await.unwrap();
    let told = soon(client.call("t", json!({"x": 1})).into_future()).await.unwrap_err();
    assert!(matches!(told, Error::TooManyRounds(10)), "{told}");
    assert!(told.may_have_run(), "what it did between its questions is unknown");
    let calls = server.asked("tools/call");
    assert_eq!(calls.len(), 11);
    for (nth, call) in calls.iter().enumerate().skip(1) {
        assert_eq!(call.params["requestState"], format!("s{}", nth - 1), "as it came");
        assert_eq!(call.params["arguments"], json!({"x": 1}));
    }
}

#[tokio::test]
async fn unsupported_question_ends_the_call() {
    let server = modern(json!({"tools": {}}), |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([tool("t", &Value::Null)])),
        _ => Say::Result(json!({"resultType": "input_required", "inputRequests": {"q": {
            "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}}})),
    })
    .await;
    for (trust, number) in [(Trust::Untrusted, 1), (Trust::Trusted, 2)] {
        let client = soon(server.client().trust(trust).into_future()).await.unwrap();
        let told = soon(client.call("t", json!({})).into_future()).await.unwrap_err();
        assert!(matches!(told.cause(), Error::Unsupported(_)), "{told}");
        assert!(told.may_have_run(), "the server had the call before it asked: {told}");
        assert_eq!(server.asked("tools/call").len(), number);
    }
    // A call that the host classifies as a read changes nothing.
    let policy = HostPolicy::default().classify("t", Hints::READS);
    let client = soon(server.client().policy(policy).into_future()).await.unwrap();
    let told = soon(client.call("t", json!({})).into_future()).await.unwrap_err();
    assert!(!told.may_have_run(), "{told}");
}

#[tokio::test]
async fn line_above_the_size_limit_is_an_error() {
    let script = r#"
import sys, json
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "server/discover":
        r = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}
    elif m.get("method") == "tools/list":
        r = {"resultType": "complete", "tools": [{"name": "t", "inputSchema": {"type": "object"}}], "ttlMs": 0, "cacheScope": "private"}
    else:
        r = {"resultType": "complete", "content": [], "padding": "x" * 100000}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"#;
    let program = Program::new("python3").args(["-c", script]);
    let client = soon(Client::start(program).limits(small()).into_future()).await.unwrap();
    let told = soon(client.call("t", json!({})).into_future()).await.unwrap_err();
    assert!(matches!(told, Error::TooLarge { limit: 65_536, .. }), "{told}");
    assert!(told.may_have_run());
    assert_eq!(soon(client.tools()).await.unwrap().len(), 1, "the client is still of use");
}

#[tokio::test]
async fn unreachable_and_unauthorized_are_different_errors() {
    let mut retry = Retry::default();
    retry.attempts = 1;
    let nobody = Client::connect("http://127.0.0.1:1/mcp").retry(retry).into_future();
    assert!(matches!(soon(nobody).await, Err(Error::Unreachable { .. })));
    for url in ["", "nonsense", "ftp://x", "http://", "http://user:pass@127.0.0.1/"] {
        let told = soon(Client::connect(url).into_future()).await;
        assert!(matches!(told, Err(Error::Unreachable { .. })), "{url}: {told:?}");
    }
    let closed = scripted(|_| Say::Whole(status(StatusCode::UNAUTHORIZED, ""))).await;
    assert!(matches!(
        soon(closed.client().into_future()).await,
        Err(Error::Unauthorized { status: 401, .. })
    ));
    assert_eq!(closed.methods(), ["server/discover"], "the legacy era would be refused too");
    let moved = scripted(|_| {
        let mut response = status(StatusCode::FOUND, "");
        response.headers_mut().insert(header::LOCATION, "http://127.0.0.1:9/".parse().unwrap());
        Say::Whole(response)
    })
    .await;
    let told = soon(moved.client().bearer("secret").into_future()).await.unwrap_err();
    assert!(told.to_string().contains("moved"), "{told}: no token goes to another address");
}

#[tokio::test]
async fn error_explains_why_a_program_is_no_server() {
    let told =
        soon(Client::start(Program::new("/nonexistent/program")).into_future()).await.unwrap_err();
    assert!(
        matches!(&told, Error::Unreachable { .. }) && told.to_string().contains("no program"),
        "{told}"
    );
    let dies = Program::new("sh").args(["-c", "echo 'no such database' >&2; exit 3"]);
    let told = soon(Client::start(dies).limits(small()).into_future()).await.unwrap_err();
    assert!(told.to_string().contains("no such database"), "{told}");
    assert!(told.to_string().contains("exit status: 3"), "{told}");
    let deaf = Program::new("sleep").arg("60");
    let told = soon(Client::start(deaf).limits(small()).into_future()).await.unwrap_err();
    assert!(matches!(told, Error::TimedOut { .. }), "{told}");
    let chatty = Program::new("yes");
    let told = soon(Client::start(chatty).limits(small()).into_future()).await.unwrap_err();
    assert!(told.to_string().contains("prints text"), "{told}");
}

#[tokio::test]
async fn banner_on_stdout_is_ignored() {
    let script = r#"
import sys, json
print("Welcome to the server", flush=True)
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        r = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "b", "version": "1"}}
    elif m.get("method") == "tools/list":
        r = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
    elif "id" not in m:
        continue
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": "?"}}), flush=True)
        continue
    print("debug: answering", flush=True)
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"#;
    let program = Program::new("python3").args(["-c", script]);
    let client = soon(Client::start(program).into_future()).await.unwrap();
    assert_eq!(client.revision().as_str(), "2025-06-18");
    assert_eq!(soon(client.tools()).await.unwrap().len(), 1);
    soon(client.close()).await;
}

#[tokio::test]
async fn program_that_exits_is_restarted() {
    let script = r#"
import sys, json, os
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "server/discover":
        r = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}
    elif m.get("method") == "tools/list":
        r = {"resultType": "complete", "tools": [{"name": "die", "inputSchema": {"type": "object"}}], "ttlMs": 0, "cacheScope": "private"}
    elif m.get("method") == "tools/call":
        os._exit(9)
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"#;
    let program = Program::new("python3").args(["-c", script]);
    let client = soon(Client::start(program).into_future()).await.unwrap();
    let told = soon(client.call("die", json!({})).into_future()).await.unwrap_err();
    assert!(matches!(&told, Error::Lost { sent: true, .. }), "{told}");
    assert!(told.to_string().contains("exit status: 9"), "{told}");
    assert_eq!(soon(client.tools()).await.unwrap().len(), 1, "the program runs again");
}

#[tokio::test]
async fn expired_session_is_reopened() {
    let server = scripted(|asked| {
        let session = asked.headers.get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
        match asked.method.as_str() {
            "server/discover" => Say::Whole(status(StatusCode::BAD_REQUEST, "no session")),
            "initialize" => {
                let answer = json!({"jsonrpc": "2.0", "id": asked.id, "result": {"protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}});
                let mut response = typed("application/json", &answer.to_string());
                let id = format!("session-{}", asked.nth);
                response.headers_mut().insert("mcp-session-id", id.parse().unwrap());
                Say::Whole(response)
            }
            "GET" => Say::Whole(status(StatusCode::METHOD_NOT_ALLOWED, "")),
            "tools/list" => Say::Result(json!({"tools": [tool("t", &Value::Null)]})),
            "tools/call" if session.as_deref() == Some("session-0") => Say::Whole(status(StatusCode::NOT_FOUND, "")),
            "tools/call" => Say::Result(json!({"content": [{"type": "text", "text": "done"}]})),
            _ => Say::Whole(status(StatusCode::ACCEPTED, "")),
        }
    })
    .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    assert_eq!(client.era(), Era::Legacy);
    // A trusted server reports that nothing was run, so the client may resend any call.
    let result = soon(client.call("t", json!({})).into_future()).await.unwrap();
    assert_eq!(result.text(), "done");
    assert_eq!(server.asked("initialize").len(), 2);
    for later in server.asked("tools/call") {
        assert_eq!(later.headers.get("mcp-protocol-version").unwrap(), "2025-11-25");
    }
}

#[tokio::test]
async fn dropped_call_is_cancelled() {
    use candor::prelude::*;
    use std::sync::Arc;
    use tokio::sync::Notify;

    #[derive(Clone, Default)]
    struct Signals(Arc<(Notify, Notify)>);

    /// Signals that a handler has ended or was dropped.
    struct Ends(Arc<(Notify, Notify)>);

    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.1.notify_one();
        }
    }

    /// Waits for ever
    #[tool(reads)]
    async fn wait(ctx: Ctx, signals: State<Signals>) -> String {
        let _ends = Ends(signals.0.clone());
        signals.0.0.notify_one();
        ctx.cancelled().await;
        String::new()
    }

    for era in [Era::Modern, Era::Legacy] {
        for pipes in [true, false] {
            let signals = Signals::default();
            let server = Server::new("w", "1").state(signals.clone()).tools(tools![wait]);
            let site;
            let connect = if pipes {
                piped(server)
            } else {
                site = common::Site::of(server).await;
                site.client()
            };
            let client = soon(connect.era(era).into_future()).await.unwrap();
            let call = tokio::spawn({
                let client = client.clone();
                async move { client.call("wait", json!({})).await }
            });
            soon(signals.0.0.notified()).await;
            call.abort();
            soon(signals.0.1.notified()).await;
            assert_eq!(soon(client.tools()).await.unwrap().len(), 1, "{era:?} {pipes}");
        }
    }
}

#[tokio::test]
async fn broken_legacy_stream_resumes_after_its_last_event() {
    let server = scripted(|asked| {
        let place = asked.headers.get("last-event-id").map(|id| id.to_str().unwrap().to_owned());
        let message = |value: Value| format!("id: {}\ndata: {value}\n\n", value["id"].as_str().unwrap_or("e2"));
        match asked.method.as_str() {
            "initialize" => Say::Result(json!({"protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}})),
            "tools/list" => Say::Result(json!({"tools": [tool("t", &Value::Null)]})),
            // An event id to resume from, and the end.
            "tools/call" => Say::Whole(events("retry: 10\nid: e1\ndata:\n\n")),
            "GET" => match place.as_deref() {
                None => Say::Whole(status(StatusCode::METHOD_NOT_ALLOWED, "")),
                // A notification first, and another break; then the answer.
                Some("e1") => Say::Whole(events(message(json!({"jsonrpc": "2.0",
                    "method": "notifications/message", "params": {"level": "info", "data": "half"}})))),
                Some("e2") => Say::Whole(events(format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": 3,
                    "result": {"content": [{"type": "text", "text": "whole"}]}})))),
                Some(other) => panic!("{other}"),
            },
            _ => Say::Whole(status(StatusCode::ACCEPTED, "")),
        }
    })
    .await;
    let (tell, told) = std::sync::mpsc::channel();
    let connect = server.client().era(Era::Legacy).on_notification(move |method, params| {
        tell.send((method.to_owned(), params.read::<String>("data").unwrap())).unwrap();
    });
    let client = soon(connect.into_future()).await.unwrap();
    let result = soon(client.call("t", json!({})).into_future()).await.unwrap();
    assert_eq!(result.text(), "whole");
    assert_eq!(
        told.try_recv().unwrap(),
        ("notifications/message".to_owned(), Some("half".to_owned()))
    );
    assert_eq!(server.asked("tools/call").len(), 1, "resumed, not resent");
}

#[tokio::test]
async fn progress_extends_the_timeout_up_to_a_limit() {
    use candor::prelude::*;

    /// Runs for the given number of steps
    #[tool(reads)]
    async fn toil(steps: u64, ctx: Ctx) -> String {
        for step in 0..steps {
            ctx.progress(step, None, None).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        "done".to_owned()
    }

    let site = common::Site::of(Server::new("w", "1").tools(tools![toil])).await;
    let mut limits = ClientLimits::default();
    (limits.answer, limits.answer_at_most) = (Duration::from_secs(1), Duration::from_secs(4));
    let client = soon(site.client().limits(limits).into_future()).await.unwrap();
    let listened = client.call("toil", json!({"steps": 40})).on_progress(|_| {});
    assert_eq!(
        soon(listened.into_future()).await.unwrap().text(),
        "done",
        "two seconds, none of them silent"
    );
    let silent = client.call("toil", json!({"steps": 40}));
    assert!(matches!(soon(silent.into_future()).await, Err(Error::TimedOut { .. })));
    let endless = client.call("toil", json!({"steps": 100_000})).on_progress(|_| {});
    assert!(matches!(soon(endless.into_future()).await, Err(Error::TimedOut { .. })));
}

#[tokio::test]
async fn input_round_with_too_many_questions_is_refused() {
    let server = modern(json!({"tools": {}}), |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([tool("t", &Value::Null)])),
        _ => {
            let ask = json!({"method": "roots/list"});
            let questions: serde_json::Map<_, _> =
                (0..17).map(|n| (n.to_string(), ask.clone())).collect();
            Say::Result(json!({"resultType": "input_required", "inputRequests": questions}))
        }
    })
    .await;
    let client = soon(server.client().roots([]).into_future()).await.unwrap();
    let told = soon(client.call("t", json!({})).into_future()).await.unwrap_err();
    assert!(
        matches!(&told, Error::Protocol(_)) && told.to_string().contains("17 questions"),
        "{told}"
    );
}

#[tokio::test]
async fn list_above_the_size_limit_is_an_error() {
    let server = modern(json!({"tools": {}}), |asked| {
        Say::Result(json!({"resultType": "complete", "tools": [], "padding": "x".repeat(10_000),
            "nextCursor": asked.nth.to_string(), "ttlMs": 0, "cacheScope": "private"}))
    })
    .await;
    let mut limits = ClientLimits::default();
    limits.max_list = 50_000;
    let client = soon(server.client().limits(limits).into_future()).await.unwrap();
    let told = soon(client.tools()).await.unwrap_err();
    assert!(matches!(told, Error::TooLarge { limit: 50_000, .. }), "{told}");
    assert_eq!(server.asked("tools/list").len(), 3);
    // The limit is on memory, not on text: here, every two bytes become a value.
    let server = modern(json!({"tools": {}}), |_| {
        let mut dense = tool("t", &Value::Null);
        dense["inputSchema"]["enum"] = json!(vec![1; 20_000]);
        tools(&json!([dense]))
    })
    .await;
    let mut limits = ClientLimits::default();
    limits.max_list = 1_000_000;
    let client = soon(server.client().limits(limits).into_future()).await.unwrap();
    assert!(matches!(soon(client.tools()).await, Err(Error::TooLarge { .. })));
}

#[tokio::test]
async fn answer_that_needs_too_much_memory_is_refused() {
    let server = modern(json!({"tools": {}}), |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([tool("t", &Value::Null)])),
        _ => Say::Result(json!({"resultType": "complete", "content": [],
            "structuredContent": {"all": vec![1; 200_000]}})),
    })
    .await;
    let mut limits = ClientLimits::default();
    limits.max_list = 10_000_000;
    let client = soon(server.client().limits(limits).into_future()).await.unwrap();
    let told = soon(client.call("t", json!({})).into_future()).await.unwrap_err();
    assert!(told.to_string().contains("needs more than 10 MB"), "{told}");
    assert!(told.may_have_run());
}

#[tokio::test]
async fn replies_to_a_server_that_does_not_read_are_limited() {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

    let (ours, theirs) = tokio::io::duplex(1024);
    let server = tokio::spawn(async move {
        let (input, mut output) = tokio::io::split(theirs);
        let mut lines = BufReader::new(input).lines();
        let opened: Value =
            serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        let hello = json!({"jsonrpc": "2.0", "id": opened["id"], "result": {"protocolVersion": "2025-11-25",
            "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}});
        output.write_all(format!("{hello}\n").as_bytes()).await.unwrap();
        lines.next_line().await.unwrap().unwrap();
        for id in 0..3000 {
            let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
            output.write_all(format!("{ping}\n").as_bytes()).await.unwrap();
        }
        // Only now the server reads: the client stored a limited number of replies.
        let mut answers = 0;
        while let Ok(Ok(Some(_))) =
            tokio::time::timeout(Duration::from_millis(500), lines.next_line()).await
        {
            answers += 1;
        }
        let ping = json!({"jsonrpc": "2.0", "id": "again", "method": "ping"});
        output.write_all(format!("{ping}\n").as_bytes()).await.unwrap();
        let answer = lines.next_line().await.unwrap().unwrap();
        (answers, answer)
    });
    let (input, output) = tokio::io::split(ours);
    let _client = soon(Client::over(input, output).era(Era::Legacy).into_future()).await.unwrap();
    let (answers, answer) = soon(server).await.unwrap();
    assert!(answers < 1000, "{answers} replies");
    assert!(answer.contains("again"), "later requests get replies: {answer}");
}

#[tokio::test]
async fn pending_questions_use_limited_memory() {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

    let (ours, theirs) = tokio::io::duplex(1024 * 1024);
    let server = tokio::spawn(async move {
        let (input, mut output) = tokio::io::split(theirs);
        let mut lines = BufReader::new(input).lines();
        let opened: Value =
            serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        let hello = json!({"jsonrpc": "2.0", "id": opened["id"], "result": {"protocolVersion": "2025-11-25",
            "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}});
        output.write_all(format!("{hello}\n").as_bytes()).await.unwrap();
        lines.next_line().await.unwrap().unwrap();
        for id in 0..6 {
            let params = json!({"message": "x".repeat(15_000_000), "requestedSchema": {"type": "object", "properties": {}}});
            let ask = json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params});
            output.write_all(format!("{ask}\n").as_bytes()).await.unwrap();
        }
        let mut refused = Vec::new();
        while refused.len() < 4 {
            let answer = lines.next_line().await.unwrap().unwrap();
            let answer: Value = serde_json::from_str(&answer).unwrap();
            refused.push((answer["id"].clone(), answer["error"]["code"].clone()));
        }
        refused
    });
    let (input, output) = tokio::io::split(ours);
    let connect = Client::over(input, output).era(Era::Legacy);
    let connect = connect.on_elicit(|_| std::future::pending());
    let _client = soon(connect.into_future()).await.unwrap();
    let refused = soon(server).await.unwrap();
    assert!(refused.iter().all(|(_, code)| *code == json!(4290)), "{refused:?}");
}

/// As after a panic: nothing is awaited any more.
#[cfg(target_os = "linux")]
#[test]
fn dropped_runtime_kills_the_whole_process_group() {
    let file = std::env::temp_dir().join(format!("candor-group-{}", std::process::id()));
    let script = format!(
        "(trap '' TERM; for n in $(seq 600); do sleep 0.1; done) & echo $! > {}; wait",
        file.display()
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let pid = runtime.block_on(async {
        let connecting = Client::start(Program::new("sh").args(["-c", &script])).into_future();
        let started = async {
            loop {
                match std::fs::read_to_string(&file) {
                    Ok(pid) if pid.ends_with('\n') => return pid.trim().to_owned(),
                    _ => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        };
        tokio::select! {
            pid = soon(started) => pid,
            client = connecting => panic!("{client:?}"),
        }
    });
    drop(runtime);
    let status = format!("/proc/{pid}/status");
    let runs =
        || std::fs::read_to_string(&status).is_ok_and(|status| !status.contains("State:\tZ"));
    let until = Instant::now() + Duration::from_secs(5);
    while runs() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!runs());
    std::fs::remove_file(file).unwrap();
}
