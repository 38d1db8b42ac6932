//! What a host hears from a server: approvals among other questions, a call that waits for an operator, answers that do not fit.

mod common;

use std::convert::Infallible;
use std::future::IntoFuture as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use candor::prelude::*;
use candor::store::{MemoryStore, Options};
use candor::tool::JsonTool;
use candor_client::{AskLevel, Client, Connect, ElicitReply, Era, Error, Hints, Program, Trust};
use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use common::scripted::{Say, Scripted, events, modern, scripted, status, tool, tools};
use common::{everywhere, piped, soon};

fn form() -> Value {
    json!({"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}, "required": ["size"]})
}

/// One tool whose calls need approval, and one that asks something of its own.
fn server() -> Server {
    let schema = json!({"type": "object"});
    let wipe = |_: Arguments, _: Ctx| async { Ok::<_, ToolError>("wiped") };
    let ask = |_: Arguments, ctx: Ctx| async move {
        ctx.elicit(Elicit::form("Which size?", &form())).await?;
        Ok::<_, ToolError>("asked")
    };
    Server::new("files", "1")
        .ask(AskLevel::Destructive)
        .hold(Duration::from_millis(100))
        .ledger(Arc::new(MemoryStore::new(Options::default())))
        .tool(JsonTool::new("wipe", &schema, wipe).hints(Hints::DELETES))
        .tool(JsonTool::new("ask", &schema, ask).hints(Hints::READS))
}

fn accept(name: &str, value: Value) -> ElicitReply {
    ElicitReply::Accept(Map::from_iter([(name.to_owned(), value)]))
}

#[tokio::test]
async fn approval_question_is_recognized_from_a_trusted_server_only() {
    for era in [Era::Modern, Era::Legacy] {
        for trust in [Trust::Trusted, Trust::Untrusted] {
            let heard = Arc::new(Mutex::new(Vec::new()));
            let hears = heard.clone();
            let connect = piped(server()).era(era).trust(trust).on_elicit(move |asked| {
                hears.lock().unwrap().push((asked.is_approval(), asked.operation().is_some()));
                let approval = asked.schema["properties"]["decision"].is_object();
                std::future::ready(match approval {
                    true => accept("decision", json!("approve")),
                    false => accept("size", json!(3)),
                })
            });
            let client = soon(connect.into_future()).await.unwrap();
            let wiped = soon(client.call("wipe", json!({})).into_future()).await.unwrap();
            assert_eq!(wiped.text(), "wiped", "{era:?} {trust:?}");
            let asked = soon(client.call("ask", json!({})).into_future()).await.unwrap();
            assert_eq!(asked.text(), "asked", "{era:?} {trust:?}");
            let trusted = trust == Trust::Trusted;
            let heard = heard.lock().unwrap().clone();
            assert_eq!(heard, [(trusted, trusted), (false, false)], "{era:?} {trust:?}");
        }
    }
}

#[tokio::test]
async fn host_is_notified_once_of_a_pending_approval() {
    everywhere(server, async |way, connect| {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hears = heard.clone();
        let connect = connect.on_approval_wait(move |wait| hears.lock().unwrap().push(wait));
        let client = soon(connect.into_future()).await.expect(&way);
        let held = soon(client.call("wipe", json!({})).into_future()).await.expect(&way);
        assert_eq!(held.failure().unwrap().code, "approval_required", "{way}");
        let heard = heard.lock().unwrap().clone();
        assert_eq!(heard.len(), 1, "{way}: {heard:?}");
        assert_eq!(heard[0].tool, "wipe", "{way}");
        assert_eq!(heard[0].operation.as_ref().map(String::len), Some(12), "{way}: {heard:?}");
        soon(client.close()).await;
    })
    .await;
}

#[tokio::test]
async fn call_without_an_approval_wait_reports_none() {
    everywhere(server, async |way, connect| {
        let connect = connect.on_approval_wait(|wait| panic!("{wait:?}"));
        let connect = connect.on_elicit(|_| std::future::ready(accept("size", json!(1))));
        let client = soon(connect.into_future()).await.expect(&way);
        soon(client.call("ask", json!({})).into_future()).await.expect(&way);
        soon(client.close()).await;
    })
    .await;
}

/// A server of the legacy era that asks in the middle of a call, and knows nothing of this project. Its mode says what it does with an
/// error: `alone` and `echo` repeat it, `own` has words of its own. The last two ask when a second call runs, too.
const ASKS: &str = r#"
import json, sys
MODE = sys.argv[1]
def send(m): print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
def end(call, text, failed): send({"id": call, "result": {"content": [{"type": "text", "text": text}], "isError": failed}})
FORM = {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}, "required": ["size"]}
calls = {}
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        send({"id": m["id"], "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}})
    elif m.get("method") == "tools/list":
        send({"id": m["id"], "result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("ask", "other")]}})
    elif m.get("method") == "tools/call":
        calls[m["params"]["name"]] = m["id"]
        if MODE == "alone" or len(calls) == 2:
            send({"id": "q", "method": "elicitation/create", "params": {"message": "Which size?", "requestedSchema": FORM}})
    elif m.get("id") == "q":
        end(calls["ask"], "No size." if MODE == "own" else m["error"]["message"], True)
        if MODE != "alone":
            end(calls["other"], "disk full" if MODE == "echo" else "done", MODE == "echo")
    elif "id" in m:
        send({"id": m["id"], "error": {"code": -32601, "message": "Method not found"}})
"#;

fn asking_child(mode: &str) -> Connect {
    Client::start(Program::new("python3").args(["-c", ASKS, mode]))
}

/// The same over HTTP: it asks on the stream of the call, and both calls fail in words of its own.
async fn asking_site() -> Scripted {
    let (answer, answered) = watch::channel(false);
    scripted(move |asked| match asked.method.as_str() {
        "initialize" => Say::Result(json!({"protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}})),
        "GET" => Say::Whole(status(StatusCode::METHOD_NOT_ALLOWED, "")),
        "tools/list" => tools(&json!([tool("ask", &Value::Null), tool("other", &Value::Null)])),
        "tools/call" => {
            let asks = asked.params["name"] == "ask";
            let event = |message: &Value| Ok::<_, Infallible>(format!("data: {message}\n\n"));
            let question = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
                "params": {"message": "Which size?", "requestedSchema": form()}});
            let text = if asks { "No size." } else { "disk full" };
            let end = event(&json!({"jsonrpc": "2.0", "id": asked.id, "result":
                {"isError": true, "content": [{"type": "text", "text": text}]}}));
            let mut answered = answered.clone();
            let last = stream::once(async move {
                answered.wait_for(|answered| *answered).await.unwrap();
                end
            });
            let first = stream::iter(asks.then(|| event(&question)));
            Say::Whole(events(Body::from_stream(first.chain(last))))
        }
        "(answer)" => {
            answer.send_replace(true);
            Say::Whole(status(StatusCode::ACCEPTED, ""))
        }
        _ => Say::Error(-32601, "Method not found"),
    })
    .await
}

async fn invalid(connect: Connect, way: &str) {
    let connect = connect.trust(Trust::Trusted).on_elicit(|asked| async move {
        let answer = Map::from_iter([("size".to_owned(), json!("s3cret"))]);
        assert!(asked.check(&answer).await.is_err());
        let fits = Map::from_iter([("size".to_owned(), json!(3))]);
        assert!(asked.check(&fits).await.is_ok());
        ElicitReply::Accept(answer)
    });
    let client = soon(connect.into_future()).await.expect(way);
    let error = soon(client.call("ask", json!({})).into_future()).await.expect_err(way);
    assert!(error.may_have_run(), "{way}: {error}");
    let Error::InvalidAnswer(invalid) = &error else { panic!("{way}: {error:?}") };
    assert_eq!(invalid.violations[0].pointer, "/size", "{way}");
    assert!(error.to_string().contains("is invalid for the server's form"), "{way}: {error}");
    soon(client.close()).await;
}

#[tokio::test]
async fn invalid_elicitation_answer_is_not_sent() {
    everywhere(server, async |way, connect| invalid(connect, &way).await).await;
    invalid(asking_child("alone"), "legacy child").await;
    let server = modern(json!({"tools": {}}), |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([tool("ask", &Value::Null)])),
        _ => Say::Result(json!({"resultType": "input_required", "inputRequests": {"q": {
            "method": "elicitation/create",
            "params": {"message": "Which size?", "requestedSchema": form()}}}})),
    })
    .await;
    invalid(server.client(), "modern peer").await;
    assert_eq!(server.asked("tools/call").len(), 1, "nothing is sent after the question");
}

/// Both calls can change data. An error that is not about the question keeps its own text.
#[tokio::test]
async fn invalid_answer_ends_only_its_own_call_of_a_legacy_server() {
    let site = asking_site().await;
    for (way, connect, other_says) in [
        ("echo", asking_child("echo"), "disk full"),
        ("own words", asking_child("own"), "done"),
        ("stream", site.client(), "disk full"),
    ] {
        let connect = connect
            .parallel_writes()
            .on_elicit(|_| std::future::ready(accept("size", json!("s3cret"))));
        let client = soon(connect.into_future()).await.expect(way);
        let calling = client.clone();
        let other = tokio::spawn(async move { calling.call("other", json!({})).await });
        tokio::task::yield_now().await;
        let error = soon(client.call("ask", json!({})).into_future()).await.expect_err(way);
        assert!(matches!(error, Error::InvalidAnswer(_)), "{way}: {error:?}");
        let other = soon(other).await.unwrap().expect(way);
        assert_eq!(other.text(), other_says, "{way}");
        soon(client.close()).await;
    }
    let answer = &site.asked("(answer)")[0];
    assert!(answer.params.is_null() && answer.id == "q", "{answer:?}");
}

/// Any server can send the mark, so it counts only from a trusted one, in a question and in a result.
#[tokio::test]
async fn approved_result_counts_from_a_trusted_server_only() {
    let server = modern(json!({"tools": {}}), |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([tool("wipe", &Value::Null)])),
        _ => Say::Result(json!({"resultType": "complete", "content": [],
            "_meta": {"dev.candor/approval": {"approved": true}}})),
    })
    .await;
    for (trust, approved) in [(Trust::Trusted, true), (Trust::Untrusted, false)] {
        let client = soon(server.client().trust(trust).into_future()).await.unwrap();
        let result = soon(client.call("wipe", json!({})).into_future()).await.unwrap();
        assert_eq!(result.is_approved(), approved, "{trust:?}");
    }
}
