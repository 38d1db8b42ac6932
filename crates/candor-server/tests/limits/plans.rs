//! Plans: a call follows a preview that was made for it, and for nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use candor_server::hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::store::{MemoryStore, Options};
use candor_server::testing::{TestClient, TestResult};
use candor_server::tool::{Idempotency, JsonTool, Plan, RateLimit, ToolError, code};
use candor_server::{Secret, Server};
use serde_json::{Value, json};

use crate::common::forgeries;
use crate::{Counter, deletes, of, server};

/// A tool that must be previewed. Its preview does not look at the world.
fn drop_table(counter: &Counter) -> JsonTool {
    counter.tool("drop_table", &of(&["table"])).annotations(deletes()).requires_preview().preview(
        |args, _| async move {
            Ok::<_, ToolError>(format!(
                "Would drop {}.",
                args["table"].as_str().unwrap_or_default()
            ))
        },
    )
}

async fn token(client: &TestClient, table: &str) -> String {
    let shown = client.call("preview_drop_table", json!({"table": table})).await;
    let plan = &shown.raw()["_meta"]["dev.candor/plan"];
    assert!(plan["expiresAt"].as_str().is_some_and(|at| at.ends_with('Z')), "{plan}");
    plan["token"].as_str().unwrap().to_owned()
}

async fn drop_with(client: &TestClient, table: &str, token: &str) -> TestResult {
    client.call("drop_table", json!({"table": table, "plan_token": token})).await
}

#[tokio::test]
async fn plan_token_is_bound_to_caller_server_and_arguments() {
    let counter = Counter::default();
    let client = server().tool(drop_table(&counter)).test();
    let made = token(&client, "a").await;
    let mut wrong = vec![drop_with(&client, "b", &made).await];
    wrong.push(drop_with(&client.by("mallory"), "a", &made).await);
    let elsewhere = server().tool(drop_table(&counter)).test();
    wrong.push(drop_with(&elsewhere, "a", &made).await);
    for forged in forgeries(&made) {
        wrong.push(drop_with(&client, "a", &forged).await);
    }
    for nonsense in ["", "x", &"A".repeat(100_000)] {
        wrong.push(drop_with(&client, "a", nonsense).await);
    }
    for refused in wrong {
        assert_eq!(refused.code(), Some(code::PLAN_INVALID), "{}", refused.text());
        let instead = &refused.raw()["_meta"]["dev.candor/error"]["instead"];
        assert_eq!(instead["tool"], "preview_drop_table");
    }
    assert_eq!(counter.get(), 0);
    assert!(!drop_with(&client, "a", &made).await.is_error());
    let number = client.call("drop_table", json!({"table": "a", "plan_token": 7})).await;
    assert_eq!(number.code(), Some(code::INVALID_ARGUMENTS));
}

#[tokio::test]
async fn shared_secret_plan_needs_the_same_tool_and_instance() {
    let counter = Counter::default();
    let secret = "ab".repeat(32);
    let one = |instance: &str, tool: JsonTool| -> TestClient {
        let secret = Secret::from_lines(&secret).unwrap();
        Server::new("limits", "1").secret(secret).instance(instance).tool(tool).test()
    };
    let made = token(&one("x", drop_table(&counter)), "a").await;
    let same = drop_with(&one("x", drop_table(&counter)), "a", &made).await;
    assert!(!same.is_error(), "{}", same.text());
    let others = [
        one("y", drop_table(&counter)),
        one("x", drop_table(&counter).description("Drops more than it did")),
    ];
    for other in others {
        assert_eq!(drop_with(&other, "a", &made).await.code(), Some(code::PLAN_INVALID));
    }
}

#[tokio::test]
async fn plan_token_expires() {
    let counter = Counter::default();
    let brief = |limits: &mut candor_server::Limits| limits.plan = Duration::from_millis(1);
    let client = server().tool(drop_table(&counter)).limits(brief).test();
    let made = token(&client, "a").await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    let late = drop_with(&client, "a", &made).await;
    assert_eq!(late.code(), Some(code::PLAN_INVALID));
    assert!(late.text().contains("expired"), "{}", late.text());
}

#[tokio::test]
async fn plan_token_may_be_in_meta_and_a_replay_needs_none() {
    let counter = Counter::default();
    let tool = drop_table(&counter).idempotency(Idempotency::Argument);
    let client = server().tool(tool).test();
    let made = token(&client, "a").await;
    let call = |meta: Value, arguments: Value| {
        client.request(
            "tools/call",
            json!({"name": "drop_table", "arguments": arguments, "_meta": meta}),
        )
    };
    let keyed = json!({"table": "a", "idempotency_key": "k"});
    let beside = json!({"dev.candor/planToken": made});
    let done = call(beside.clone(), keyed.clone()).await.unwrap();
    assert_eq!(done["structuredContent"]["number"], 1, "{done}");
    for meta in [json!({}), beside.clone(), json!({"dev.candor/planToken": "another"})] {
        let again = call(meta, keyed.clone()).await.unwrap();
        assert_eq!(again["_meta"]["dev.candor/idempotency"]["replayed"], true, "{again}");
    }
    let both = json!({"table": "a", "plan_token": "another"});
    let torn = call(beside, both).await.unwrap();
    assert_eq!(torn["_meta"]["dev.candor/error"]["code"], "invalid_arguments", "{torn}");
    let odd = call(json!({"dev.candor/planToken": 7}), json!({"table": "a"})).await.unwrap();
    assert_eq!(odd["_meta"]["dev.candor/error"]["code"], "invalid_arguments", "{odd}");
    assert_eq!(counter.get(), 1);
}

#[tokio::test]
async fn plan_is_checked_against_the_state_before_the_start() {
    let world = Arc::new(AtomicUsize::new(7));
    let counter = Counter::default();
    let looked = Counter::default();
    let (seen, looks) = (world.clone(), looked.clone());
    let tool = counter
        .tool("act", &of(&["table"]))
        .annotations(deletes())
        .rate(RateLimit::per_hour(2))
        .requires_preview()
        .preview(move |_, _| {
            looks.next();
            let now = seen.load(Ordering::SeqCst);
            async move {
                match now {
                    0 => Err(ToolError::new("There is nothing left to plan.").code("empty")),
                    now => Ok(Plan::new(format!("Would change {now}."), now.to_string())),
                }
            }
        });
    let client = server().tool(tool).test();
    let shown = client.call("preview_act", json!({"table": "a"})).await;
    let made = shown.plan_token();
    let act = || client.call("act", json!({"table": "a", "plan_token": made}));
    assert!(!act().await.is_error());
    assert_eq!(looked.get(), 2, "once for the caller, once before the start");
    world.store(8, Ordering::SeqCst);
    let stale = act().await;
    assert_eq!(stale.code(), Some(code::PLAN_STALE));
    let instead = &stale.raw()["_meta"]["dev.candor/error"]["instead"];
    assert_eq!(*instead, json!({"tool": "preview_act", "arguments": {"table": "a"}}));
    world.store(0, Ordering::SeqCst);
    assert_eq!(act().await.code(), Some("empty"), "the error of the preview is returned");
    world.store(7, Ordering::SeqCst);
    assert!(!act().await.is_error(), "a call that did not start was not charged");
    assert_eq!(counter.get(), 2);
    assert!(!shown.raw().to_string().contains("\"7\""), "the previewed state stays on the server");
}

#[tokio::test]
async fn preview_is_not_charged_and_its_failure_gives_no_plan() {
    let counter = Counter::default();
    let tool = counter
        .tool("act", &of(&["table"]))
        .rate(RateLimit::per_day(1))
        .requires_preview()
        .preview(|args, _| async move {
            match args["table"].as_str() {
                Some("a") => Ok("Would act."),
                _ => Err(ToolError::new("No such table.")),
            }
        });
    let client = server().tool(tool).test();
    for _ in 0..5 {
        assert!(!client.call("preview_act", json!({"table": "a"})).await.is_error());
        let failed = client.call("preview_act", json!({"table": "b"})).await;
        assert!(failed.raw()["_meta"]["dev.candor/plan"].is_null(), "{}", failed.raw());
        let unseen = client.call("act", json!({"table": "a"})).await;
        assert_eq!(unseen.code(), Some(code::PREVIEW_REQUIRED));
    }
    let shown = client.call("preview_act", json!({"table": "a"})).await;
    let made = shown.plan_token();
    assert!(!client.call("act", json!({"table": "a", "plan_token": made})).await.is_error());
}

#[tokio::test]
async fn evaluation_neither_needs_nor_checks_a_plan_token() {
    let counter = Counter::default();
    let tool = drop_table(&counter).idempotency(Idempotency::Argument);
    let client = server().tool(tool).test();
    for arguments in [json!({"table": "a"}), json!({"table": "a", "plan_token": "x"})] {
        let asked = client
            .request("tools/annotations", json!({"name": "drop_table", "arguments": arguments}));
        assert_eq!(asked.await.unwrap()["annotations"]["destructiveHint"], true);
    }
    assert_eq!(counter.get(), 0);
}

#[tokio::test]
async fn refused_calls_have_audit_rows_and_no_records() {
    let counter = Counter::default();
    let store = Arc::new(MemoryStore::new(Options::default()));
    let client = Server::new("limits", "1").ledger(store).tool(drop_table(&counter)).test();
    client.call("drop_table", json!({"table": "a"})).await;
    client.keyed("k").call("drop_table", json!({"table": "a"})).await;
    let store = client.engine().store().unwrap();
    let rows = store.rows(Default::default(), Default::default()).await.unwrap().items;
    let refused: Vec<_> = rows.iter().filter(|row| row.event == "refused").collect();
    assert_eq!(refused.len(), 2, "{rows:#?}");
    let records = store.records(Default::default(), Default::default()).await.unwrap().items;
    assert!(records.is_empty(), "a refusal uses up no key");
}

/// The preview of a local tool is local, also if the tool has an effect table.
#[tokio::test]
async fn preview_is_local_if_its_tool_is_local() {
    let counter = Counter::default();
    let row = || EffectRow::when("/table", Condition::equals("t")).then(Hints::DELETES);
    let shows = |tool: JsonTool| tool.preview(|_, _| async { Ok::<_, ToolError>("") });
    let tool = |name: &str| counter.tool(name, &of(&["table"]));
    let closed = shows(tool("closed").effects(EffectTable::new().row(row()).closed_world()));
    let open = shows(tool("open").effects(EffectTable::new().row(row())));
    let client = server().tool(closed).tool(open).test();
    let listed = client.request("tools/list", json!({})).await.unwrap();
    let hint = |name: &str| {
        let tools = listed["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        tool["annotations"]["openWorldHint"].clone()
    };
    assert_eq!(hint("preview_closed"), false);
    assert_ne!(hint("preview_open"), false);
}
