//! The precondition of a call, over real sockets in both eras: a caller that was told "needs approval" is never run without one.

#![allow(missing_docs)]

#[allow(unused_imports)]
mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use candor_operator::ArgumentPattern;
use candor_server::hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::protocol::names::extension::{APPROVAL, TOOL_RESOLUTION};
use candor_server::store::{
    ApprovalChannel, AuditContext, Event, Filter, Grant, MemoryStore, NewGrant, Options, Page,
    Review,
};
use candor_server::tool::{JsonTool, ToolError, code};
use candor_server::{Arguments, AskLevel, Ctx, Elicit, RunningServer, Secret, Server};
use common::{CAPABILITIES_KEY, Session, Site, modern};
use serde_json::{Value, json};

/// A server with a tool whose effect depends on its arguments and one whose effect does not, and how often either ran.
fn server(ask: AskLevel) -> (Server, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let ran = || {
        let runs = runs.clone();
        move |_: Arguments, _: Ctx| {
            let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
            async move { Ok::<_, ToolError>(json!({"run": run})) }
        }
    };
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}, "action": {"enum": ["read", "delete"]}}});
    let fixed = JsonTool::new("fixed", &schema, ran()).hints(Hints::DELETES);
    let is = |value: &str| EffectRow::when("/action", Condition::OneOf(vec![value.into()]));
    let table = EffectTable::new()
        .row(is("read").then(Hints::READS))
        .row(is("delete").then(Hints::DELETES));
    let dynamic = JsonTool::new("dynamic", &schema, ran()).effects(table);
    let server = Server::new("files", "1")
        .ask(ask)
        .hold(Duration::from_millis(20))
        .ledger(Arc::new(MemoryStore::new(Options::default())))
        .tool(fixed)
        .tool(dynamic);
    (server, runs)
}

/// The code of a refusal.
fn refusal(result: &Value) -> &str {
    result["_meta"]["dev.candor/error"]["code"].as_str().unwrap_or_default()
}

fn delete(path: &str) -> Value {
    json!({"path": path, "action": "delete"})
}

/// How a caller reaches the server.
#[derive(Debug, Clone, Copy)]
enum Way {
    Modern,
    Legacy,
}

const BOTH: [Way; 2] = [Way::Modern, Way::Legacy];

async fn request(site: &Site, way: Way, method: &str, mut params: Value, meta: &Value) -> Value {
    params["_meta"] = meta.clone();
    match way {
        Way::Modern => site.send(modern(method, &params).by("alice")).await.json().await,
        Way::Legacy => Session::by(site, "alice").await.request(method, &params).await.json().await,
    }
}

fn expects() -> Value {
    json!({APPROVAL: {"expect": "ask"}})
}

async fn call(site: &Site, way: Way, tool: &str, arguments: Value, meta: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    request(site, way, "tools/call", params, meta).await["result"].take()
}

/// Lets such calls of the tool run without approval; the tool has a request that waits.
async fn grant(engine: &RunningServer, any: &[&str]) -> Grant {
    let store = engine.store().unwrap();
    let waiting = store.waiting(Filter::default(), Page::default()).await.unwrap().items;
    let [entry] = &waiting[..] else { panic!("not one request waits") };
    let granting = NewGrant {
        scope: entry.id.scope.clone(),
        binding: entry.stored.question().unwrap().binding,
        pattern: ArgumentPattern::like(&delete("a"), any, &[]).unwrap().to_string(),
        by: "olga".to_owned(),
        lasts: Duration::from_secs(60),
    };
    store.grant(granting).await.unwrap()
}

async fn decide(engine: &RunningServer, decision: Review) {
    let store = engine.store().unwrap();
    let waiting = store.waiting(Filter::default(), Page::default()).await.unwrap().items;
    let [entry] = &waiting[..] else { panic!("not one request waits") };
    let (question, by, via) =
        (entry.stored.question().unwrap(), "olga".to_owned(), ApprovalChannel::Operator);
    let event = Event::Decide { question, by, via, decision };
    store.apply(&entry.id, event, AuditContext::default()).await.unwrap();
}

#[tokio::test]
async fn grant_fails_the_precondition_and_runs_nothing() {
    for way in BOTH {
        for tool in ["fixed", "dynamic"] {
            let (server, runs) = server(AskLevel::Destructive);
            let site = Site::guarded(server);
            let waits = call(&site, way, tool, delete("a"), &expects()).await;
            assert_eq!(refusal(&waits), code::APPROVAL_REQUIRED, "{way:?} {waits:#}");
            let grant = grant(&site.engine, &["path"]).await;
            for meta in
                [expects(), json!({APPROVAL: {"expect": "ask"}, "dev.candor/idempotencyKey": "k"})]
            {
                let refused = call(&site, way, tool, delete("b"), &meta).await;
                assert_eq!(refusal(&refused), code::DECISION_CHANGED, "{way:?} {refused:#}");
                let said = refused["content"][0]["text"].as_str().unwrap();
                assert!(said.contains("Nothing was run."), "{said}");
                assert_eq!(refused["_meta"]["dev.candor/error"]["retriable"], false);
            }
            assert_eq!(runs.load(Ordering::SeqCst), 0, "{way:?} {tool}");
            let ran = call(&site, way, tool, delete("b"), &json!({})).await;
            assert_eq!(
                ran["structuredContent"]["run"], 1,
                "a caller without an expectation runs: {ran:#}"
            );

            let store = site.engine.store().unwrap();
            store.revoke(grant.id, "olga".to_owned()).await.unwrap();
            let waits = call(&site, way, tool, delete("c"), &expects()).await;
            assert_eq!(refusal(&waits), code::APPROVAL_REQUIRED, "{way:?} {waits:#}");
        }
    }
}

#[tokio::test]
async fn lower_ask_level_fails_the_precondition() {
    for way in BOTH {
        let (server, runs) = server(AskLevel::Never);
        let site = Site::guarded(server);
        for tool in ["fixed", "dynamic"] {
            let refused = call(&site, way, tool, delete("a"), &expects()).await;
            assert_eq!(refusal(&refused), code::DECISION_CHANGED, "{way:?} {refused:#}");
        }
        assert_eq!(runs.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn review_replay_and_refusal_do_not_fail_the_precondition() {
    for way in BOTH {
        let (server, runs) = server(AskLevel::Destructive);
        let site = Site::guarded(server);
        let keyed = json!({APPROVAL: {"expect": "ask"}, "dev.candor/idempotencyKey": "k"});
        // Pending, also beside a grant: the request that a reviewer has in hand is the one that counts.
        call(&site, way, "fixed", delete("a"), &keyed).await;
        grant(&site.engine, &[]).await;
        let waits = call(&site, way, "fixed", delete("a"), &keyed).await;
        assert_eq!(refusal(&waits), code::APPROVAL_REQUIRED, "{way:?} {waits:#}");
        // Given.
        decide(&site.engine, Review::Approve).await;
        let ran = call(&site, way, "fixed", delete("a"), &keyed).await;
        assert_eq!(ran["structuredContent"]["run"], 1, "{way:?} {ran:#}");
        assert_eq!(ran["_meta"][APPROVAL], json!({"approved": true}), "{way:?} {ran:#}");
        // Used: a replay.
        let replayed = call(&site, way, "fixed", delete("a"), &keyed).await;
        assert_eq!(replayed["structuredContent"]["run"], 1, "{way:?} {replayed:#}");
        assert_eq!(replayed["_meta"]["dev.candor/idempotency"]["replayed"], true);
        assert_eq!(
            replayed["_meta"].get(APPROVAL),
            None,
            "a replay was not approved: it ran nothing"
        );
        // A refusal keeps its own reason.
        let reused = call(&site, way, "fixed", delete("b"), &keyed).await;
        assert_eq!(refusal(&reused), code::KEY_REUSED, "{way:?} {reused:#}");
        call(&site, way, "fixed", delete("d"), &expects()).await;
        decide(&site.engine, Review::Deny { reason: None }).await;
        let denied = call(&site, way, "fixed", delete("d"), &expects()).await;
        assert_eq!(refusal(&denied), code::DENIED, "{way:?} {denied:#}");
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }
}

/// A grant that is newer than a denial lets the call run; a caller that expects approval gets `decision_changed`.
#[tokio::test]
async fn grant_after_a_denial_fails_the_precondition() {
    for way in BOTH {
        let (server, runs) = server(AskLevel::Destructive);
        let site = Site::guarded(server);
        call(&site, way, "fixed", delete("a"), &json!({})).await;
        decide(&site.engine, Review::Deny { reason: None }).await;
        for _ in 0..2 {
            let denied = call(&site, way, "fixed", delete("a"), &json!({})).await;
            assert_eq!(refusal(&denied), code::DENIED, "{way:?} {denied:#}");
        }
        let store = site.engine.store().unwrap();
        let rows = store.rows(Filter::default(), Page::default()).await.unwrap().items;
        assert_eq!(rows.iter().filter(|row| row.event == "refused").count(), 2, "{rows:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
        call(&site, way, "fixed", delete("b"), &json!({})).await;
        grant(&site.engine, &["path"]).await;
        let refused = call(&site, way, "fixed", delete("a"), &expects()).await;
        assert_eq!(refusal(&refused), code::DECISION_CHANGED, "{way:?} {refused:#}");
        assert_eq!(runs.load(Ordering::SeqCst), 0);
        let ran = call(&site, way, "fixed", delete("a"), &json!({})).await;
        assert_eq!(ran["structuredContent"]["run"], 1, "{way:?} {ran:#}");
    }
}

#[tokio::test]
async fn unknown_expectation_is_invalid() {
    for way in BOTH {
        let (server, runs) = server(AskLevel::Never);
        let site = Site::guarded(server);
        for settings in
            [json!({"expect": "allow"}), json!({"expect": null}), json!("ask"), json!([])]
        {
            let params = json!({"name": "fixed", "arguments": delete("a")});
            let refused =
                request(&site, way, "tools/call", params, &json!({APPROVAL: settings})).await;
            assert_eq!(refused["error"]["code"], -32602, "{way:?} {settings} {refused:#}");
        }
        assert_eq!(runs.load(Ordering::SeqCst), 0);
        let ran = call(&site, way, "fixed", delete("a"), &json!({APPROVAL: {}})).await;
        assert_eq!(ran["structuredContent"]["run"], 1, "no expectation: {ran:#}");
    }
}

/// The client drops `_meta` after the first round; the sealed state keeps the expectation.
#[tokio::test]
async fn expectation_travels_through_rounds() {
    let (ends, secret) = (Arc::new(AtomicUsize::new(0)), Secret::random_line());
    let store = Arc::new(MemoryStore::new(Options::default()));
    let site = |ask| {
        let counted = ends.clone();
        let tool = JsonTool::open("delete", move |_, ctx: Ctx| {
            let counted = counted.clone();
            async move {
                let form = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
                ctx.elicit(Elicit::form("How many?", &form)).await?;
                Ok::<_, ToolError>(json!({"run": counted.fetch_add(1, Ordering::SeqCst) + 1}))
            }
        });
        let secret = Secret::from_lines(&secret).unwrap();
        let server = Server::new("files", "1").ask(ask).hold(Duration::from_millis(20));
        Site::guarded(server.ledger(store.clone()).secret(secret).tool(tool))
    };
    let call = async |site: &Site, more: &Value, expects: bool| {
        let mut params = json!({"name": "delete", "arguments": {"path": "a"}});
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        params["_meta"] = json!({CAPABILITIES_KEY: {"elicitation": {}}});
        if expects {
            params["_meta"][APPROVAL] = json!({"expect": "ask"});
        }
        site.send(modern("tools/call", &params).by("alice")).await.result().await
    };
    let approved = |asked: &Value| {
        let yes = json!({"action": "accept", "content": {"decision": "approve"}});
        json!({"inputResponses": {APPROVAL: yes}, "requestState": asked["requestState"]})
    };
    let (strict, lax) = (site(AskLevel::Destructive), site(AskLevel::Never));

    // The server asks less when the answer arrives than when it asked.
    let asked = call(&strict, &json!({}), true).await;
    let refused = call(&lax, &approved(&asked), false).await;
    assert_eq!(refusal(&refused), code::DECISION_CHANGED, "{refused:#}");
    // An approved call that elicits input keeps its approval, and its result reports it.
    let how_many = call(&strict, &approved(&asked), false).await;
    let answer = json!({
        "inputResponses": {"q1": {"action": "accept", "content": {"n": 1}}},
        "requestState": how_many["requestState"],
    });
    let ran = call(&strict, &answer, false).await;
    assert_eq!(ran["structuredContent"]["run"], 1, "{ran:#}");
    assert_eq!(ran["_meta"][APPROVAL], json!({"approved": true}), "{ran:#}");
    assert_eq!(ends.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn every_explanation_accounts_for_grants() {
    for way in BOTH {
        let (server, _) = server(AskLevel::Destructive);
        let site = Site::guarded(server);
        let explained = async || {
            let mut verdicts = Vec::new();
            for (method, tool) in [
                ("tools/annotations", "fixed"),
                ("tools/annotations", "dynamic"),
                ("tools/resolve", "dynamic"),
            ] {
                let params = json!({"name": tool, "arguments": delete("b")});
                let can = json!({CAPABILITIES_KEY: {"extensions": {TOOL_RESOLUTION: {}}}});
                let said = match way {
                    Way::Modern => request(&site, way, method, params, &can).await,
                    Way::Legacy => {
                        let can = json!({"extensions": {TOOL_RESOLUTION: {}}});
                        let session =
                            Session::start(&site, "2025-11-25", &can, Some("alice")).await;
                        session.request(method, &params).await.json().await
                    }
                };
                verdicts.push(said["result"]["_meta"][APPROVAL]["verdict"].clone());
            }
            verdicts
        };
        assert_eq!(explained().await, ["ask", "ask", "ask"], "{way:?}");
        let mut grants = Vec::new();
        for tool in ["fixed", "dynamic"] {
            call(&site, way, tool, delete("a"), &json!({})).await;
            grants.push(grant(&site.engine, &["path"]).await);
            decide(&site.engine, Review::Deny { reason: None }).await;
        }
        assert_eq!(explained().await, ["allow", "allow", "allow"], "{way:?}");
        for grant in grants {
            site.engine.store().unwrap().revoke(grant.id, "olga".to_owned()).await.unwrap();
        }
        assert_eq!(explained().await, ["ask", "ask", "ask"], "{way:?}");
    }
}
