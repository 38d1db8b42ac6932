//! Answers that a client keeps, and what ends that: the server's word that its tools have changed, and nothing else.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use candor::hints::{Condition, EffectRow, EffectTable};
use candor::prelude::Principal;
use candor::tool::{JsonTool, Tool, ToolError};
use candor::transport::http::{Http, endpoint};
use candor::{RunningServer, Server};
use candor_client::{
    Change, Client, Connect, EffectSource, Era, Hints, HostPolicy, Interest, Trust,
};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use common::{serve, soon};

/// How often a server was asked what a call would do.
type Asked = Arc<AtomicUsize>;

fn count(asked: &Asked, message: &str) {
    if message.contains(r#""method":"tools/annotations""#) {
        asked.fetch_add(1, Ordering::SeqCst);
    }
}

/// A tool whose effects are a table. It is always the same, whoever says that it has changed.
fn manage() -> Arc<dyn Tool> {
    let schema = json!({"type": "object", "required": ["action"], "properties": {
        "action": {"enum": ["read", "delete"]},
    }});
    let is = |value: &str| EffectRow::when("/action", Condition::OneOf(vec![value.into()]));
    let table = EffectTable::new()
        .row(is("read").then(Hints::READS))
        .row(is("delete").then(Hints::DELETES))
        .exhaustive();
    let tool = JsonTool::new("manage", &schema, |_, _| async { Ok::<_, ToolError>("done") });
    Arc::new(tool.effects(table))
}

fn engine() -> RunningServer {
    Server::new("s", "1").tools_from(|| vec![manage()]).build().unwrap()
}

/// Over HTTP, with somebody who counts on the way.
async fn over_http(engine: RunningServer, asked: &Asked) -> Connect {
    let asked = asked.clone();
    let counted = from_fn(move |request: Request, next: Next| {
        let asked = asked.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap();
            count(&asked, std::str::from_utf8(&body).unwrap());
            next.run(Request::from_parts(head, Body::from(body))).await
        }
    });
    let mcp = endpoint(engine, Http::default());
    let address = serve(axum::Router::new().route("/mcp", mcp).layer(counted)).await;
    Client::connect(format!("http://{address}/mcp"))
}

/// The same over pipes.
fn over_pipes(engine: RunningServer, asked: &Asked) -> Connect {
    let (asked, room) = (asked.clone(), 64 * 1024);
    let (passed_on, client_writes) = tokio::io::simplex(room);
    let (server_reads, mut to_server) = tokio::io::simplex(room);
    let (client_reads, server_writes) = tokio::io::simplex(room);
    tokio::spawn(async move {
        let mut lines = BufReader::new(passed_on).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            count(&asked, &line);
            to_server.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
    });
    tokio::spawn(async move {
        let who = Principal::new("me");
        candor::transport::stdio::serve(&engine, who, server_reads, server_writes).await
    });
    Client::over(client_reads, client_writes)
}

#[tokio::test]
async fn cached_answer_is_dropped_when_the_tools_change() {
    for era in [Era::Modern, Era::Legacy] {
        for piped in [false, true] {
            let way = format!("{era:?}, {}", if piped { "pipes" } else { "HTTP" });
            let (engine, asked) = (engine(), Asked::default());
            let changes = engine.changes().clone();
            let connect = match piped {
                false => over_http(engine, &asked).await,
                true => over_pipes(engine, &asked),
            };
            let connect = connect.era(era).trust(Trust::Trusted);
            let connect = connect.policy(HostPolicy::default().cache_evaluations());
            let client = soon(connect.into_future()).await.expect(&way);
            let mut listening = soon(client.listen(Interest::new().lists())).await.expect(&way);
            let mut changed = async || {
                changes.tools();
                assert_eq!(soon(listening.next()).await, Change::Tools, "{way}");
            };
            // A new stream empties the cache, because it may have missed a change. From here on, the stream is open.
            changed().await;
            let read = json!({"action": "read"});
            for asked_by_now in [1, 2] {
                for again in 0..3 {
                    let explanation = soon(client.explain("manage", &read)).await.expect(&way);
                    assert_eq!(
                        (explanation.basis, explanation.hints),
                        (EffectSource::Asked, Hints::READS)
                    );
                    let times = asked.load(Ordering::SeqCst);
                    assert_eq!(times, asked_by_now, "{way}, {again}: cached until the change");
                }
                changed().await;
            }
            soon(client.close()).await;
        }
    }
}
