//! What is said of a call before it is made.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use candor_operator::ArgumentPattern;
use candor_server::AskLevel;
use candor_server::hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::protocol::types::ToolAnnotations;
use candor_server::store::{
    ApprovalChannel, AuditContext, Event, Filter, MemoryStore, NewGrant, Options, Page, Review,
    Store as _,
};
use candor_server::tool::{Idempotency, JsonTool, ToolError};
use serde_json::{Value, json};

use crate::site::{Site, delete_record, server, weather};

/// A tool whose argument decides what it does.
pub(crate) fn manage() -> JsonTool {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "action": {"enum": ["read", "delete"]}},
        "required": ["path", "action"],
        "additionalProperties": false,
    });
    let row =
        |action: &str, hints| EffectRow::when("action", Condition::equals(action)).then(hints);
    let table =
        EffectTable::new().row(row("read", Hints::READS)).row(row("delete", Hints::DELETES));
    JsonTool::new("manage", &schema, |_, _| async { Ok::<_, ToolError>("done") }).effects(table)
}

async fn validate(site: &Site, tool: &str, arguments: Value) -> Value {
    let reply = site.ask("POST", &format!("/tools/{tool}/validate")).json(&arguments).send().await;
    reply.ok()
}

#[tokio::test]
async fn validate_reports_errors_without_login() {
    // Calls are disabled, and the caller is anonymous.
    let site = Site::with(server().tool(weather()).tool(manage()), |console| console);
    let reply =
        site.ask("POST", "/tools/get_weather/validate").json(&json!({"city": "Oslo"})).send().await;
    reply.ok();
    assert_eq!(reply.body, r#"{"valid":true}"#);
    let missing = validate(&site, "get_weather", json!({})).await;
    assert_eq!(missing["valid"], false);
    let errors = missing["errors"].as_array().unwrap();
    assert_eq!(
        (errors.len(), &errors[0]["path"]),
        (1, &json!("/city")),
        "what is missing is named"
    );
    assert!(errors[0]["message"].as_str().is_some_and(|message| !message.is_empty()));
    assert_eq!(errors[0]["keyword"], "required");
    let wrong = validate(&site, "manage", json!({"path": 7, "action": "read", "more": 1})).await;
    let paths: Vec<&str> =
        wrong["errors"].as_array().unwrap().iter().map(|e| e["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"/path") && paths.contains(&"/more"), "{wrong}");
    let keywords = wrong["errors"].as_array().unwrap().iter().map(|e| e["keyword"].as_str());
    let keywords: Vec<&str> = keywords.map(Option::unwrap).collect();
    assert!(keywords.contains(&"type") && keywords.contains(&"additionalProperties"), "{wrong}");
}

#[tokio::test]
async fn unclassified_tool_is_explained_as_unclassified() {
    let tool = JsonTool::open("any", |_, _| async { Ok::<_, ToolError>("") }).unclassified();
    let site = Site::of(server().tool(tool));
    let told = site.ask("POST", "/tools/any/annotations").json(&json!({})).send().await.ok();
    assert_eq!(told["summary"], "Unclassified");
}

/// A key makes a call safe to retry, but does not describe its effect.
#[tokio::test]
async fn unclassified_tool_with_keys_publishes_no_hints() {
    let mut title = ToolAnnotations::new();
    title.title = Some("Any".to_owned());
    let tool = JsonTool::open("any", |_, _| async { Ok::<_, ToolError>("") })
        .annotations(title)
        .idempotency(Idempotency::Argument);
    let site = Site::of(server().tool(tool));
    let detail = site.get("/tools/any").await.ok();
    assert_eq!(detail["annotations"], json!({"title": "Any"}));
    assert_eq!(detail.get("dynamicAnnotations"), None);
}

#[tokio::test]
async fn json_definition_sets_the_effect_of_its_calls() {
    let definition = json!({
        "name": "set",
        "inputSchema": {"type": "object"},
        "annotations": {"destructiveHint": true},
        "_meta": {"dev.candor/dynamic-annotations": {"effect": "changes"}},
    });
    let tool = JsonTool::from_json(&definition, |_, _| async { Ok("") }).unwrap();
    let site = Site::of(server().tool(tool));
    let told = site.post("/tools/set/annotations", json!({})).await.ok();
    assert_eq!(told["effect"], "changes");
}

#[tokio::test]
async fn failed_evaluator_reports_the_worst_case() {
    let tool = JsonTool::open("t", |_, _| async { Ok::<_, ToolError>("") }).effects_by(
        Hints::DELETES,
        |args| {
            assert!(args["fails"] != true, "no answer");
            Hints::READS
        },
    );
    let site = Site::of(server().tool(tool));
    for fails in [true, false] {
        let told = site.post("/tools/t/annotations", json!({"fails": fails})).await.ok();
        assert_eq!(told["exact"], !fails, "{told}");
        assert_eq!(told["annotations"]["readOnlyHint"], !fails, "{told}");
        let source = if fails { "default" } else { "resolved" };
        assert_eq!(told["sources"]["destructiveHint"], source, "{told}");
    }
}

#[tokio::test]
async fn annotations_carry_the_extra_fields_of_the_call() {
    let tool = JsonTool::open("sync", |_, _| async { Ok::<_, ToolError>("") }).effects_by(
        Hints::DELETES,
        |args| {
            let local = args["local"] == true;
            Hints::READS.with("networkAccessHint", !local).with("title", "Sync")
        },
    );
    let site = Site::of(server().tool(tool));
    for local in [true, false] {
        let told = site.post("/tools/sync/annotations", json!({"local": local})).await.ok();
        assert_eq!(
            told["annotations"],
            json!({
                "title": "Sync", "readOnlyHint": true, "destructiveHint": false,
                "idempotentHint": true, "openWorldHint": true, "networkAccessHint": !local,
            })
        );
    }
}

#[tokio::test]
async fn error_pointers_are_escaped() {
    let schema = json!({"type": "object", "properties": {"a/b~c": {"type": "integer"}}});
    let tool = JsonTool::new("t", &schema, |_, _| async { Ok::<_, ToolError>("") });
    let site = Site::of(server().tool(tool));
    assert_eq!(validate(&site, "t", json!({"a/b~c": "x"})).await["errors"][0]["path"], "/a~1b~0c");
}

#[tokio::test]
async fn unreadable_validate_body_is_refused() {
    let site = Site::of(server().tool(weather()));
    let post = |path: &str| site.ask("POST", path);
    let bad = post("/tools/nothing/validate").text("text/plain", "{").send().await;
    assert_eq!(bad.status, 404, "the tool is checked first");
    for body in ["", "{", "[1,2]", "null", "\"x\"", "{}{}", "{\"a\":1,\"a\":2}", "{\"a\":1e400}"] {
        let reply = post("/tools/get_weather/validate").text("application/json", body).send().await;
        let said = reply.problem(400, "bad_request");
        assert_eq!(
            (&said["valid"], &said["errors"][0]["path"]),
            (&json!(false), &json!("")),
            "{body}"
        );
    }
    let text = post("/tools/get_weather/validate").text("text/plain", "{}").send().await;
    text.problem(415, "unsupported_media_type");
    let typed = post("/tools/get_weather/validate")
        .text("application/json; charset=utf-8", r#"{"city":""}"#);
    typed.send().await.ok();
}

#[tokio::test]
async fn validate_and_annotations_never_run_the_handler() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let tool = JsonTool::open("t", move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok::<_, ToolError>("") }
    });
    let site = Site::of(server().tool(tool));
    for body in [json!({}), json!({"any": "thing"})] {
        assert_eq!(validate(&site, "t", body.clone()).await, json!({"valid": true}));
        site.post("/tools/t/annotations", body).await.ok();
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn annotations_depend_on_the_arguments() {
    let site = Site::of(server().tool(manage()).ask(AskLevel::Destructive));
    let ask = async |arguments: Value| site.post("/tools/manage/annotations", arguments).await.ok();
    let mut reads = ask(json!({"path": "a", "action": "read"})).await;
    let id = reads.as_object_mut().unwrap().remove("decisionId").unwrap();
    assert_eq!(id.as_str().map(str::len), Some(32));
    assert_eq!(
        reads,
        json!({
            "valid": true,
            "errors": [],
            "annotations": {
                "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": true,
            },
            "sources": {
                "readOnlyHint": "resolved", "destructiveHint": "resolved",
                "idempotentHint": "resolved", "openWorldHint": "resolved",
            },
            "effect": "reads",
            "summary": "Reads · safe to retry · external",
            "exact": true,
            "verdict": "allow",
            "decision": "run",
            "record": null,
        })
    );
    let deletes = ask(json!({"path": "a", "action": "delete"})).await;
    assert_eq!((&deletes["effect"], &deletes["verdict"]), (&json!("deletes"), &json!("ask")));
    let half = ask(json!({"action": "read"})).await;
    assert_eq!((&half["valid"], &half["exact"]), (&json!(false), &json!(false)));
    assert_eq!((&deletes["decision"], &half["decision"]), (&json!("ask"), &json!("refuse")));
    assert_eq!(half["decisionId"], Value::Null);
    assert_eq!(half["effect"], "reads", "the given arguments are enough");
    assert_eq!(half["errors"][0]["path"], "/path");
    let none = ask(json!({})).await;
    assert_eq!(none["effect"], "deletes", "missing arguments count as the worst case");
}

#[tokio::test]
async fn missing_hint_is_published_as_the_worst_case() {
    let site = Site::of(server().tool(delete_record()));
    let said = site.post("/tools/delete_record/annotations", json!({"id": 1})).await.ok();
    assert_eq!(said["annotations"]["destructiveHint"], true);
    assert_eq!(said["sources"]["destructiveHint"], "default");
}

#[tokio::test]
async fn explanation_reports_the_record_and_the_decision() {
    let site =
        Site::of(server().tool(manage()).ask(AskLevel::Destructive).hold(Duration::from_millis(1)));
    let read = json!({"path": "a", "action": "read"});
    let record = async |path: &str, arguments: &Value, decision: &str| {
        let said = site.post(path, arguments.clone()).await.ok();
        assert_eq!(said["decision"], decision, "{said}");
        said["record"].clone()
    };
    assert_eq!(record("/tools/manage/annotations?key=k", &read, "run").await, Value::Null);
    let called = site.ask("POST", "/tools/manage/call").known().header("idempotency-key", "k");
    called.json(&read).send().await.ok();
    let replay = record("/tools/manage/annotations?key=k", &read, "replay").await;
    assert_eq!(replay["state"], "succeeded");
    assert!(replay["completedAt"].as_str().is_some_and(|at| at.ends_with('Z')), "{replay}");
    let by_header =
        site.ask("POST", "/tools/manage/annotations").known().header("idempotency-key", "k");
    assert_eq!(by_header.json(&read).send().await.ok()["record"]["state"], "succeeded");
    let other = json!({"path": "b", "action": "read"});
    let reused = record("/tools/manage/annotations?key=k", &other, "refuse").await;
    assert_eq!(reused["state"], "idempotency_key_reused");
    let delete = json!({"path": "a", "action": "delete"});
    site.post("/tools/manage/call", delete.clone()).await.problem(403, "approval_required");
    let waits = record("/tools/manage/annotations", &delete, "ask").await;
    assert_eq!(waits["state"], "approval_required");
    assert!(waits["operation"].is_string());
}

#[tokio::test]
async fn validate_reports_a_missing_required_key() {
    let tool = JsonTool::open("pay", |_, _| async { Ok::<_, ToolError>("paid") })
        .idempotency(Idempotency::Required);
    let site = Site::of(server().tool(tool));
    let without = validate(&site, "pay", json!({})).await;
    assert_eq!(without["valid"], false, "{without}");
    let with = site.ask("POST", "/tools/pay/validate").header("idempotency-key", "k");
    assert_eq!(with.json(&json!({})).send().await.ok(), json!({"valid": true}));
}

#[tokio::test]
async fn annotations_name_the_undo_and_preview_tools() {
    let tool = delete_record()
        .undo("get_weather")
        .preview(|_, _| async { Ok::<_, ToolError>("Would delete it.") });
    let site = Site::of(server().tool(tool).tool(weather()));
    let said = site.post("/tools/delete_record/annotations", json!({"id": 1})).await.ok();
    assert_eq!(said["undo"], "get_weather");
    let preview = said["preview"].as_str().unwrap();
    assert_eq!(site.get(&format!("/tools/{preview}")).await.status, 200);
}

/// `annotations` knows of grants, and a call that expects approval does not run under one.
#[tokio::test]
async fn call_that_expects_approval_is_refused_under_a_grant() {
    let store = Arc::new(MemoryStore::new(Options::default()));
    let server = server().ask(AskLevel::Destructive).hold(Duration::from_millis(20));
    let schema = json!({"type": "object", "properties": {"expect": {"type": "string"}}, "additionalProperties": false});
    let own = JsonTool::new("own", &schema, |args, _| async move {
        Ok::<_, ToolError>(json!({"got": args["expect"]}))
    });
    let own = own.hints(Hints::READS);
    let site = Site::of(server.ledger(store.clone()).tool(manage()).tool(own));
    let delete = |path: &str| json!({"path": path, "action": "delete"});
    let expecting = |path: &str| json!({"path": path, "action": "delete", "expect": "ask"});
    site.post("/tools/manage/call", expecting("a")).await.problem(403, "approval_required");
    let waiting = store.waiting(Filter::default(), Page::default()).await.unwrap().items;
    let granting = NewGrant {
        scope: waiting[0].id.scope.clone(),
        binding: waiting[0].stored.question().unwrap().binding,
        pattern: ArgumentPattern::like(&delete("a"), &["path"], &[]).unwrap().to_string(),
        by: "olga".to_owned(),
        lasts: Duration::from_secs(60),
    };
    store.grant(granting).await.unwrap();
    let explained = site.post("/tools/manage/annotations", delete("b")).await.ok();
    assert_eq!(explained["verdict"], "allow");
    let said = site.post("/tools/manage/call", expecting("b")).await;
    said.problem(409, "decision_changed");
    let said = site.post("/tools/manage/call?expect=ask", delete("b")).await;
    said.problem(409, "decision_changed");
    for wrong in ["expect=allow", "expect=", "expect", "expect=ASK"] {
        let said = site.post(&format!("/tools/manage/call?{wrong}"), delete("b")).await;
        said.problem(400, "bad_request");
    }
    site.post("/tools/manage/call?Expect=ask", delete("b")).await.problem(409, "decision_changed");
    site.post("/tools/manage/call", delete("b")).await.ok();
    // A tool's own argument of that name stays one.
    let own = site.post("/tools/own/call", json!({"expect": "rain"})).await.ok();
    assert_eq!(own["structuredContent"], json!({"got": "rain"}));
    let own = site.post("/tools/own/call?expect=ask", json!({"expect": "rain"})).await;
    own.problem(409, "decision_changed");
}

/// A call that expects a decision by its id does what that decision says, or nothing.
#[tokio::test]
async fn expected_decision_is_carried_out_or_refused() {
    let store = Arc::new(MemoryStore::new(Options::default()));
    let server = server().ask(AskLevel::Destructive).hold(Duration::from_millis(20));
    let site = Site::of(server.ledger(store.clone()).tool(manage()));
    let delete = json!({"path": "a", "action": "delete"});
    let explained = site.post("/tools/manage/annotations", delete.clone()).await.ok();
    assert_eq!(explained["decision"], "ask");
    let id = explained["decisionId"].as_str().unwrap();
    let call = format!("/tools/manage/call?expect={id}");
    site.post(&call, delete.clone()).await.problem(403, "approval_required");
    let other = json!({"path": "b", "action": "delete"});
    site.post(&call, other).await.problem(409, "decision_changed");

    let waiting = store.waiting(Filter::default(), Page::default()).await.unwrap().items;
    let question = waiting[0].stored.question().unwrap();
    let (by, via) = ("olga".to_owned(), ApprovalChannel::Operator);
    let event = Event::Decide { question, by, via, decision: Review::Approve };
    store.apply(&waiting[0].id, event, AuditContext::default()).await.unwrap();
    let approved = site.post("/tools/manage/annotations", delete.clone()).await.ok();
    assert_eq!(approved["decision"], "run", "{approved:#}");
    // The decision to ask still holds: a reviewer approved the call.
    site.post(&call, delete.clone()).await.ok();
    let used = format!("/tools/manage/call?expect={}", approved["decisionId"].as_str().unwrap());
    site.post(&used, delete).await.problem(409, "decision_changed");
}
