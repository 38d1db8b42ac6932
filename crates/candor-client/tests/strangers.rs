//! Servers that do things in their own way: slow, forgetful, deaf, or of two minds.

mod common;

use std::future::IntoFuture as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::http::{Response, StatusCode};
use candor_client::{Client, ClientLimits, ElicitReply, Era, Error, Program, Revision, Trust};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use common::scripted::{Asked, Say, Scripted, events, said, scripted, status, tool, tools};
use common::soon;

fn answer(asked: &Asked) -> Say {
    match asked.method.as_str() {
        "tools/list" => tools(&json!([tool("look", &json!({"readOnlyHint": true}))])),
        _ => said("seen"),
    }
}

fn discovered() -> Say {
    Say::Result(json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
    }))
}

fn json_with(code: StatusCode, headers: &[(&str, &str)], body: &Value) -> Say {
    let mut response = Response::builder().status(code);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    let response = response.header("content-type", "application/json");
    Say::Whole(response.body(body.to_string().into()).unwrap())
}

/// The answer to a legacy handshake, with a session of this name.
fn welcome(asked: &Asked, session: &str, tells_of_changes: bool) -> Say {
    json_with(
        StatusCode::OK,
        &[("mcp-session-id", session)],
        &json!({"jsonrpc": "2.0", "id": asked.id, "result": {
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": tells_of_changes}},
            "serverInfo": {"name": "old", "version": "1"}}}),
    )
}

#[tokio::test]
async fn revision_refusal_that_lists_the_revision_is_retried() {
    let server = scripted(|asked| match (asked.method.as_str(), asked.nth) {
        ("server/discover", 0) => json_with(
            StatusCode::BAD_REQUEST,
            &[],
            &json!({"jsonrpc": "2.0", "id": asked.id, "error": {
                "code": -32022, "message": "Unsupported protocol version",
                "data": {"supported": ["2026-07-28"], "requested": "2026-07-28"}}}),
        ),
        ("server/discover", _) => discovered(),
        _ => answer(asked),
    })
    .await;

    let client = soon(server.client().into_future()).await.unwrap();

    assert_eq!(client.revision(), Revision::V2026_07_28);
    assert_eq!(server.methods(), ["server/discover", "server/discover"]);
}

#[tokio::test]
async fn repeated_revision_refusal_is_an_error() {
    let server = scripted(|asked| {
        json_with(
            StatusCode::BAD_REQUEST,
            &[],
            &json!({"jsonrpc": "2.0", "id": asked.id, "error": {
                "code": -32022, "message": "Unsupported", "data": {"supported": ["2026-07-28"]}}}),
        )
    })
    .await;

    let outcome = soon(server.client().into_future()).await;

    assert!(matches!(outcome, Err(Error::Server(_))), "{outcome:?}");
    assert_eq!(server.methods().len(), 2);
}

/// In every format in which servers refuse an unknown session.
#[tokio::test]
async fn expired_session_is_reopened_for_every_refusal_format() {
    fn refused(code: StatusCode, id: &Value, error: i64, message: &str) -> Say {
        let error = json!({"code": error, "message": message});
        json_with(code, &[], &json!({"jsonrpc": "2.0", "id": id, "error": error}))
    }
    let forgotten: [fn(&Asked) -> Say; 6] = [
        |_| Say::Whole(status(StatusCode::NOT_FOUND, "")),
        |_| Say::Whole(status(StatusCode::NOT_FOUND, "session not found")),
        |asked| {
            let message = "Bad Request: No valid session ID provided";
            refused(StatusCode::BAD_REQUEST, &asked.id, -32000, message)
        },
        // As a server of this project, and the TypeScript SDK.
        |asked| refused(StatusCode::NOT_FOUND, &asked.id, -32600, "no such session"),
        |_| refused(StatusCode::NOT_FOUND, &Value::Null, -32001, "Session not found"),
        |_| refused(StatusCode::NOT_FOUND, &json!("server-error"), -32601, "Session terminated"),
    ];
    for forgotten in forgotten {
        let sessions = Arc::new(AtomicUsize::new(0));
        let opened = sessions.clone();
        let server = scripted(move |asked| {
            let current = format!("session-{}", sessions.load(Ordering::SeqCst));
            let session = asked.headers.get("mcp-session-id").and_then(|id| id.to_str().ok());
            match (asked.method.as_str(), session) {
                ("server/discover", _) => Say::Error(-32601, "Method not found"),
                ("initialize", _) => {
                    let next = sessions.fetch_add(1, Ordering::SeqCst) + 1;
                    welcome(asked, &format!("session-{next}"), false)
                }
                ("GET", _) => Say::Whole(status(StatusCode::METHOD_NOT_ALLOWED, "")),
                (_, Some(session)) if session == current => answer(asked),
                _ => forgotten(asked),
            }
        })
        .await;
        let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
        soon(client.tools()).await.unwrap();

        // The server has started anew.
        opened.fetch_add(1, Ordering::SeqCst);

        assert_eq!(soon(client.tools()).await.unwrap().len(), 1);
        opened.fetch_add(1, Ordering::SeqCst);
        let result = soon(client.call("look", json!({})).into_future()).await.unwrap();
        assert_eq!(result.text(), "seen");
        assert_eq!(server.asked("tools/call").len(), 2, "one that was refused, one that was not");
        assert_eq!(server.asked("initialize").len(), 3);
    }
}

#[tokio::test]
async fn method_not_found_with_404_keeps_the_session() {
    let server = scripted(|asked| match asked.method.as_str() {
        "initialize" => welcome(asked, "one", false),
        "GET" => Say::Whole(status(StatusCode::METHOD_NOT_ALLOWED, "")),
        "tools/list" => answer(asked),
        _ if asked.id.is_null() => Say::Whole(status(StatusCode::ACCEPTED, "")),
        _ => {
            let error = json!({"code": -32601, "message": "Method not found"});
            let message = json!({"jsonrpc": "2.0", "id": asked.id, "error": error});
            json_with(StatusCode::NOT_FOUND, &[], &message)
        }
    })
    .await;
    let client = soon(server.client().era(Era::Legacy).into_future()).await.unwrap();
    let told = soon(client.request("some/method", &json!({}))).await.unwrap_err();
    assert!(matches!(&told, Error::Server(error) if error.code() == -32601), "{told:?}");
    soon(client.tools()).await.unwrap();
    assert_eq!(server.asked("some/method").len(), 1, "asked once");
    assert_eq!(server.asked("initialize").len(), 1, "in one session");
}

#[tokio::test]
async fn tool_list_is_not_cached_without_a_change_stream() {
    let server = scripted(|asked| match asked.method.as_str() {
        "server/discover" => Say::Error(-32601, "Method not found"),
        "initialize" => welcome(asked, "s", true),
        // An HTML page, not a stream.
        "GET" => Say::Whole(
            Response::builder()
                .header("content-type", "text/html")
                .body("<p>Hello".into())
                .unwrap(),
        ),
        _ => answer(asked),
    })
    .await;
    let client = soon(server.client().into_future()).await.unwrap();
    soon(listed(&client, &server, 3)).await;

    assert_eq!(server.asked("GET").len(), 1, "the stream is not requested again");
}

#[tokio::test]
async fn stream_that_ends_at_once_is_reopened_after_a_delay() {
    let server = scripted(|asked| match asked.method.as_str() {
        "server/discover" => Say::Error(-32601, "Method not found"),
        "initialize" => welcome(asked, "s", true),
        "GET" => Say::Whole(events("")),
        _ => answer(asked),
    })
    .await;
    let client = soon(server.client().into_future()).await.unwrap();

    // A change between two streams is missed, so nothing stays cached.
    soon(listed(&client, &server, 10)).await;
    assert!(server.asked("GET").len() <= 1, "not again before a second has passed");
    soon(async {
        while server.asked("GET").len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// The server sets `retry`, but it cannot remove the backoff.
#[tokio::test]
async fn stream_backs_off_even_with_retry_zero() {
    let server = scripted(|asked| match asked.method.as_str() {
        "server/discover" => Say::Error(-32601, "Method not found"),
        "initialize" => welcome(asked, "s", true),
        "GET" => Say::Whole(events("retry: 0\n\n")),
        _ => answer(asked),
    })
    .await;
    let _client = soon(server.client().into_future()).await.unwrap();
    let reached = async |times: usize| {
        while server.asked("GET").len() < times {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Instant::now()
    };
    let first = soon(reached(1)).await;
    let second = soon(reached(2)).await;
    let third = soon(reached(3)).await;
    let (once, twice) = (second - first, third - second);
    assert!(once > Duration::from_millis(900), "{once:?}");
    assert!(twice > once + Duration::from_secs(1), "less and less often: {once:?}, {twice:?}");
}

/// Servers send their questions on this stream, and only once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_that_answers_questions_listens_before_the_first_call() {
    let listens = AtomicUsize::new(0);
    let server = scripted(move |asked| match asked.method.as_str() {
        "server/discover" => Say::Error(-32601, "Method not found"),
        "initialize" => welcome(asked, "s", false),
        "GET" => {
            std::thread::sleep(Duration::from_millis(100));
            listens.fetch_add(1, Ordering::SeqCst);
            Say::Whole(events(""))
        }
        "tools/call" if listens.load(Ordering::SeqCst) == 0 => {
            Say::Error(-32000, "no stream for a question")
        }
        _ => answer(asked),
    })
    .await;
    let client = server.client().trust(Trust::Trusted).on_elicit(|_| async { ElicitReply::Cancel });
    let client = soon(client.into_future()).await.unwrap();
    let result = soon(client.call("look", json!({})).into_future()).await.unwrap();
    assert_eq!(result.text(), "seen");
}

/// Looks at the tools until the server was asked so often.
async fn listed(client: &Client, server: &Scripted, times: usize) {
    while server.asked("tools/list").len() < times {
        client.tools().await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A pair of pipes, and a server that takes one line after the other.
fn lines(
    mut server: impl FnMut(&Value) -> Option<Value> + Send + 'static,
) -> candor_client::Connect {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    tokio::spawn(async move {
        let (input, mut output) = tokio::io::split(theirs);
        let mut input = BufReader::new(input).lines();
        while let Ok(Some(line)) = input.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            if let Some(mut answer) = server(&message) {
                answer["jsonrpc"] = json!("2.0");
                answer["id"] = message["id"].clone();
                output.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
            }
        }
    });
    let (input, output) = tokio::io::split(ours);
    Client::over(input, output)
}

fn quick_probe() -> ClientLimits {
    let mut limits = ClientLimits::default();
    limits.probe = Duration::from_millis(100);
    limits
}

#[tokio::test]
async fn legacy_server_gets_initialize_right_after_the_probe() {
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let hears = heard.clone();
    // The server does not answer unknown methods.
    let server = lines(move |message| {
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let answer = (method == "initialize").then(|| {
            json!({"result": {"protocolVersion": "2025-11-25", "capabilities": {},
                              "serverInfo": {"name": "old", "version": "1"}}})
        });
        hears.lock().unwrap().push(method);
        answer
    });

    let client = soon(server.limits(quick_probe()).into_future()).await.unwrap();

    assert_eq!(client.era(), Era::Legacy);
    let heard = heard.lock().unwrap().clone();
    assert_eq!(heard[..2], ["server/discover", "initialize"], "{heard:?}");
}

#[tokio::test]
async fn slow_modern_only_server_is_probed_again() {
    let mut probed = 0;
    let server = lines(move |message| match message["method"].as_str() {
        Some("server/discover") => {
            probed += 1;
            (probed > 1).then(|| {
                json!({"result": {"resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}})
            })
        }
        Some("initialize") => {
            Some(json!({"error": {"code": -32601, "message": "Method not found"}}))
        }
        _ => None,
    });

    let client = soon(server.limits(quick_probe()).into_future()).await.unwrap();

    assert_eq!(client.era(), Era::Modern);
    assert!(client.capabilities().tools.is_some());
}

/// Its pipe is full, and it ignores the end of its input.
#[cfg(unix)]
#[tokio::test]
async fn server_that_stops_reading_does_not_block_close() {
    let says = json!({"jsonrpc": "2.0", "id": 1, "result": {
        "resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": {}, "ttlMs": 0, "cacheScope": "private"}});
    let script = format!("read line; echo '{says}'; exec sleep 1000");
    let program = Program::new("sh").args(["-c", &script]);
    let client = soon(Client::start(program).into_future()).await.unwrap();
    let asking = client.clone();
    let asked = tokio::spawn(async move {
        asking.request("example/large", &json!({"text": "x".repeat(1 << 20)})).await
    });
    tokio::task::yield_now().await;

    soon(client.close()).await;

    let outcome = soon(asked).await.unwrap();
    assert!(matches!(outcome, Err(Error::Lost { .. })), "{outcome:?}");
}
