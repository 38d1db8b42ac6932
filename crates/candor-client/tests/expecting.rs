//! Who asks before a destructive call: the server, if it promises that with every call; otherwise the host.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use candor::hints::{Condition, EffectRow, EffectTable};
use candor::operator::ArgumentPattern;
use candor::store::{Filter, Grant, MemoryStore, NewGrant, Options, Page, Store};
use candor::tool::{JsonTool, ToolError};
use candor::transport::http::{Http, endpoint};
use candor::{Arguments, Ctx, RunningServer, Server};
use candor_client::{
    AskLevel, Client, Connect, Era, Error, Hints, HostPolicy, RefusalSource, Trust, Verdict,
};
use serde_json::{Value, json};

use common::scripted::{modern, said, tool, tools};
use common::{serve, soon};

const TOOLS: [&str; 2] = ["fixed", "dynamic"];
const ERAS: [Era; 2] = [Era::Modern, Era::Legacy];

struct World {
    engine: RunningServer,
    runs: Arc<AtomicUsize>,
}

impl World {
    fn new() -> Self {
        let runs = Arc::new(AtomicUsize::new(0));
        let ran = || {
            let runs = runs.clone();
            move |_: Arguments, _: Ctx| {
                runs.fetch_add(1, Ordering::SeqCst);
                async move { Ok::<_, ToolError>("done") }
            }
        };
        let schema = json!({"type": "object", "properties": {
            "path": {"type": "string"}, "action": {"enum": ["read", "delete"]},
        }});
        let is = |value: &str| EffectRow::when("/action", Condition::OneOf(vec![value.into()]));
        let table = EffectTable::new()
            .row(is("read").then(Hints::READS))
            .row(is("delete").then(Hints::DELETES));
        let server = Server::new("files", "1")
            .ask(AskLevel::Destructive)
            .hold(Duration::from_millis(20))
            .ledger(Arc::new(MemoryStore::new(Options::default())))
            .tool(JsonTool::new("fixed", &schema, ran()).hints(Hints::DELETES))
            .tool(JsonTool::new("dynamic", &schema, ran()).effects(table));
        Self { engine: server.build().unwrap(), runs }
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// A way to the server over HTTP; before each call arrives there, `before` is awaited.
    async fn reached<F>(&self, before: impl Fn() -> F + Clone + Send + Sync + 'static) -> Connect
    where
        F: Future<Output = ()> + Send,
    {
        let watched = from_fn(move |request: Request, next: Next| {
            let before = before.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = to_bytes(body, usize::MAX).await.unwrap();
                let text = std::str::from_utf8(&body).unwrap();
                if text.contains(r#""method":"tools/call""#) && text.contains(r#""expect":"ask""#) {
                    before().await;
                }
                next.run(Request::from_parts(head, Body::from(body))).await
            }
        });
        let mcp = endpoint(self.engine.clone(), Http::default());
        let address = serve(axum::Router::new().route("/mcp", mcp).layer(watched)).await;
        Client::connect(format!("http://{address}/mcp")).trust(Trust::Trusted)
    }

    async fn plainly(&self) -> Connect {
        self.reached(|| std::future::ready(())).await
    }

    /// Makes a request for approval wait, for [`grant`] to begin with.
    async fn ask_for(&self, tool: &str) {
        let client = soon(self.plainly().await.into_future()).await.unwrap();
        let waits = soon(client.call(tool, delete("waits")).into_future()).await.unwrap();
        assert_eq!(waits.failure().unwrap().code, "approval_required");
    }
}

/// Lets deletions of any path by this tool run without approval.
async fn grant(store: &dyn Store) -> Grant {
    let waiting = store.waiting(Filter::default(), Page::default()).await.unwrap().items;
    let entry = &waiting[0];
    let granting = NewGrant {
        scope: entry.id.scope.clone(),
        binding: entry.stored.question().unwrap().binding,
        pattern: ArgumentPattern::like(&delete("waits"), &["path"], &[]).unwrap().to_string(),
        by: "olga".to_owned(),
        lasts: Duration::from_secs(60),
    };
    store.grant(granting).await.unwrap()
}

fn delete(path: &str) -> Value {
    json!({"path": path, "action": "delete"})
}

#[tokio::test]
async fn host_defers_to_a_server_that_needs_approval() {
    for era in ERAS {
        for tool in TOOLS {
            let world = World::new();
            let client = soon(world.plainly().await.era(era).into_future()).await.unwrap();
            let explained = soon(client.explain(tool, &delete("a"))).await.unwrap();
            assert_eq!((explained.server, explained.defers), (Some(Verdict::Ask), true));
            let call =
                client.call_safely(tool, delete("a")).confirm(async |_| panic!("asked twice"));
            let waits = soon(call.into_future()).await.unwrap();
            assert_eq!(waits.failure().unwrap().code, "approval_required", "{era:?} {tool}");
            assert_eq!(world.runs(), 0);
        }
    }
}

#[tokio::test]
async fn grant_before_explain_makes_the_host_confirm() {
    for era in ERAS {
        for tool in TOOLS {
            for policy in [HostPolicy::default(), HostPolicy::default().cache_evaluations()] {
                let world = World::new();
                let connect = world.plainly().await.era(era).policy(policy);
                let client = soon(connect.into_future()).await.unwrap();
                // Explained before the grant too, so that kept answers would be stale.
                let explained = soon(client.explain(tool, &delete("a"))).await.unwrap();
                assert!(explained.defers, "{era:?} {tool}");
                world.ask_for(tool).await;
                let store = world.engine.store().unwrap();
                let grant = grant(&**store).await;

                let explained = soon(client.explain(tool, &delete("a"))).await.unwrap();
                assert_eq!((explained.server, explained.defers), (Some(Verdict::Allow), false));
                let refused = soon(client.call_safely(tool, delete("a")).into_future()).await;
                let error = refused.unwrap_err();
                assert!(matches!(error, Error::Refused(RefusalSource::NoPrompt)), "{error:?}");
                assert_eq!(world.runs(), 0, "{era:?} {tool}");
                let call = client.call_safely(tool, delete("a")).confirm(async |_| true);
                soon(call.into_future()).await.unwrap();
                assert_eq!(world.runs(), 1, "{era:?} {tool}");

                store.revoke(grant.id, "olga".to_owned()).await.unwrap();
                let waits =
                    soon(client.call_safely(tool, delete("b")).into_future()).await.unwrap();
                assert_eq!(waits.failure().unwrap().code, "approval_required", "{era:?} {tool}");
                assert_eq!(world.runs(), 1);
            }
        }
    }
}

#[tokio::test]
async fn grant_between_explain_and_call_makes_the_host_confirm() {
    for era in ERAS {
        for tool in TOOLS {
            for says_yes in [true, false] {
                let world = World::new();
                world.ask_for(tool).await;
                let store = world.engine.store().unwrap().clone();
                let connect = world.reached(move || {
                    let store = store.clone();
                    async move {
                        grant(&*store).await;
                    }
                });
                let client = soon(connect.await.era(era).into_future()).await.unwrap();
                let asked = Arc::new(AtomicUsize::new(0));
                let counted = asked.clone();
                let call = client.call_safely(tool, delete("a")).confirm(async move |proposal| {
                    assert!(proposal.decision_changed);
                    assert_eq!(proposal.explanation.server, Some(Verdict::Allow));
                    assert!(proposal.summary().contains("no longer asks for approval"));
                    counted.fetch_add(1, Ordering::SeqCst);
                    says_yes
                });
                let result = soon(call.into_future()).await;
                assert_eq!(asked.load(Ordering::SeqCst), 1, "{era:?} {tool}: {result:?}");
                assert_eq!((result.is_ok(), world.runs()), (says_yes, usize::from(says_yes)));
            }
        }
    }
}

/// The grant is revoked again before the call is explained anew, over and over: in the end the host asks.
#[tokio::test]
async fn host_confirms_if_the_decision_keeps_changing() {
    let world = World::new();
    world.ask_for("dynamic").await;
    let store = world.engine.store().unwrap().clone();
    let connect = world.reached(move || {
        let store = store.clone();
        async move {
            let grant = grant(&*store).await;
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(50)).await;
                store.revoke(grant.id, "olga".to_owned()).await.unwrap();
            });
        }
    });
    let client = soon(connect.await.into_future()).await.unwrap();
    let call = client.call_safely("dynamic", delete("a")).confirm(async |proposal| {
        assert!(proposal.decision_changed);
        false
    });
    let refused = soon(call.into_future()).await.unwrap_err();
    assert!(matches!(refused, Error::Refused(RefusalSource::Person)), "{refused:?}");
    assert_eq!(world.runs(), 0);
}

#[tokio::test]
async fn host_defers_only_to_a_trusted_server_that_checks_expect() {
    for (trust, settings, deferred) in [
        (Trust::Trusted, json!({"version": 1, "ask": "destructive"}), false),
        (Trust::Trusted, json!({"version": 1, "ask": "destructive", "expect": false}), false),
        (Trust::Untrusted, json!({"version": 1, "ask": "destructive", "expect": true}), false),
        (Trust::Trusted, json!({"version": 1, "ask": "destructive", "expect": true}), true),
    ] {
        let can = json!({"tools": {}, "extensions": {"dev.candor/approval": settings}});
        let server = modern(can, |asked| match asked.method.as_str() {
            "tools/list" => {
                let mut wipe = tool("wipe", &json!({"destructiveHint": true}));
                wipe["_meta"] = json!({"dev.candor/approval": {"verdict": "ask"}});
                tools(&json!([wipe]))
            }
            "tools/call" => said("done"),
            other => panic!("{other}"),
        })
        .await;
        let client = soon(server.client().trust(trust).into_future()).await.unwrap();
        let result = soon(client.call_safely("wipe", json!({})).into_future()).await;
        assert_eq!(result.is_ok(), deferred, "{settings}: {result:?}");
        let calls = server.asked("tools/call");
        assert_eq!(calls.len(), usize::from(deferred));
        for call in calls {
            assert_eq!(call.params["_meta"]["dev.candor/approval"], json!({"expect": "ask"}));
        }
    }
}
