//! What the published schema says of keys, approvals and plans, against what a server really sends and takes.

#![allow(missing_docs)]

#[allow(dead_code)]
#[path = "once/bench.rs"]
mod bench;
#[allow(unused_imports)]
mod common;
#[path = "common/document.rs"]
mod document;
#[allow(dead_code)]
#[path = "once/moody.rs"]
mod moody;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bench::{KEY, MARK, Work, id, memory, server};
use candor_server::hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::protocol::Revision;
use candor_server::protocol::types::ToolAnnotations;
use candor_server::store::{
    AuditContext, Event, LedgerLimits, MemoryStore, Options, OutcomeKind, Quotas, Resolution,
    StoredResult,
};
use candor_server::testing::{TestClient, TestResult};
use candor_server::tool::{Idempotency, JsonTool, Plan, RateLimit, ToolError, code};
use candor_server::{AskLevel, Server};
use common::{CAPABILITIES_KEY, Session, Site, initialize, modern};
use document::{definition, document, exactly, fits};
use moody::Moody;
use serde_json::{Value, json};

const ERROR: &str = "dev.candor/error";
const PLAN: &str = "dev.candor/plan";
const APPROVAL: &str = "dev.candor/approval";

fn adds() -> ToolAnnotations {
    let mut adds = ToolAnnotations::new();
    adds.destructive_hint = Some(false);
    adds
}

/// A server that asks about what may destroy, and remembers.
fn asking(tool: JsonTool) -> Server {
    let ledger = Arc::new(MemoryStore::new(Options::default()));
    server().ask(AskLevel::Destructive).hold(Duration::from_millis(20)).ledger(ledger).tool(tool)
}

/// A tool that must be previewed, and a preview that sees another world each time if it is told to.
fn drop_table(restless: bool) -> JsonTool {
    let seen = Arc::new(AtomicUsize::new(0));
    Work::new().tool("act").requires_preview().preview(move |_, _| {
        let look = seen.fetch_add(usize::from(restless), Ordering::SeqCst);
        async move { Ok::<_, ToolError>(Plan::new("Would act.", look.to_string())) }
    })
}

/// Clients of both eras whose calls have a key, each with a server of its own.
fn both(server: impl Fn() -> Server) -> [TestClient; 2] {
    [server().test().keyed("k"), server().test_legacy().keyed("k")]
}

async fn act(client: &TestClient) -> TestResult {
    client.call("act", json!({})).await
}

/// What the call says of its failure, which is as described, under a code that the document knows.
#[track_caller]
fn refused(told: &TestResult, code: &str) -> Value {
    assert_eq!(told.code(), Some(code), "{:#}", told.raw());
    let error = &told.raw()["_meta"][ERROR];
    fits(&exactly("ErrorMeta"), error);
    fits(&definition(document(), "ErrorCode"), &error["code"]);
    error.clone()
}

/// The mark of a result, which is as described.
#[track_caller]
fn mark(told: &TestResult) -> Value {
    let mark = &told.raw()["_meta"][MARK];
    fits(&exactly("IdempotencyCallMeta"), mark);
    mark.clone()
}

#[tokio::test]
async fn capabilities_match_the_published_schema() {
    let act = || Work::new().tool("act");
    for (server, ask, client) in [
        (asking(act()), "destructive", true),
        (asking(act()).ask(AskLevel::Always).operators_only(), "always", false),
        (asking(act()).ask(AskLevel::Never).ask_for("act", AskLevel::Writes), "never", true),
    ] {
        let site = Site::guarded(server);
        let discover = modern("server/discover", &json!({})).by("alice");
        let discovered = site.send(discover).await.result().await;
        let initialize = initialize("2025-11-25", &json!({})).by("alice");
        let opened = site.send(initialize).await.result().await;
        for said in [discovered, opened] {
            let extensions = &said["capabilities"]["extensions"];
            fits(&exactly("IdempotencyCapability"), &extensions[MARK]);
            fits(&exactly("ApprovalCapability"), &extensions[APPROVAL]);
            assert_eq!(
                extensions[APPROVAL],
                json!({"version": 1, "ask": ask, "client": client, "expect": true, "explain": true})
            );
        }
    }
}

#[tokio::test]
async fn anonymous_caller_learns_that_its_client_cannot_approve() {
    let site = Site::of(asking(Work::new().tool("act")));
    let discovered = site.send(modern("server/discover", &json!({}))).await.result().await;
    let opened = site.send(initialize("2025-11-25", &json!({}))).await.result().await;
    for said in [discovered, opened] {
        let said = &said["capabilities"]["extensions"][APPROVAL];
        assert_eq!(
            *said,
            json!({"version": 1, "ask": "destructive", "client": false, "expect": true, "explain": true})
        );
    }
}

#[tokio::test]
async fn tool_metadata_names_the_key_source() {
    let work = Work::new();
    let client = server()
        .tool(work.tool("optional").idempotency(Idempotency::Argument))
        .tool(work.tool("required").idempotency(Idempotency::Required))
        .tool(work.tool("derived").key_by(|_| "k".to_owned()))
        .tool(drop_table(false))
        .test();
    for name in ["optional", "required", "derived", "act"] {
        let tool = serde_json::to_value(client.tool(name).await).unwrap();
        let arguments = &tool["inputSchema"]["properties"];
        assert_eq!(arguments.get("plan_token").is_some(), name == "act", "{tool:#}");
        let has_key = arguments.get("idempotency_key").is_some();
        assert_eq!(has_key, ["optional", "required"].contains(&name), "{tool:#}");
        if name == "act" {
            fits(&exactly("PlanToolMeta"), &tool["_meta"][PLAN]);
            assert_eq!(tool["_meta"][PLAN], json!({"preview": "preview_act", "required": true}));
        } else {
            let said = &tool["_meta"][MARK];
            fits(&exactly("IdempotencyToolMeta"), said);
            assert_eq!(said["key"], name);
        }
    }
}

#[tokio::test]
async fn tools_annotations_result_states_the_verdict() {
    let deletes =
        || EffectTable::new().row(EffectRow::when("x", Condition::Absent).then(Hints::DELETES));
    let act = || Work::new().tool("act").effects(deletes());
    for (server, judgement) in [
        (asking(act()), "ask"),
        (asking(act()).ask(AskLevel::Never), "allow"),
        (asking(act()).deny("act"), "deny"),
    ] {
        let client = server.test();
        let asked = json!({"name": "act", "arguments": {}});
        let told = client.request("tools/annotations", asked).await.unwrap();
        let said = &told["_meta"][APPROVAL];
        fits(&exactly("ApprovalVerdictMeta"), said);
        assert_eq!(said["verdict"], judgement);
    }
}

#[tokio::test]
async fn key_is_accepted_in_every_documented_position() {
    let site = Site::of(
        server()
            .ledger(memory(LedgerLimits::default()))
            .tool(Work::new().tool("act").idempotency(Idempotency::Argument)),
    );
    for (number, params) in [
        json!({"arguments": {}, "_meta": {KEY: "in-meta"}}),
        json!({"arguments": {}, "idempotencyKey": "in-params"}),
        json!({"arguments": {"idempotency_key": "in-arguments"}}),
    ]
    .into_iter()
    .enumerate()
    {
        fits(&definition(document(), "CallToolRequestParams"), &params);
        let mut params = params;
        params["name"] = json!("act");
        for replayed in [false, true] {
            let result = site.send(modern("tools/call", &params)).await.result().await;
            let mark = &result["_meta"][MARK];
            fits(&exactly("IdempotencyCallMeta"), mark);
            assert_eq!(mark["replayed"], replayed);
            assert_eq!(result["structuredContent"]["number"], number + 1);
        }
    }
    // The server refuses what the schema refuses.
    for bad in ["", "two words", "~own", &"k".repeat(256)] {
        let params = json!({"name": "act", "arguments": {}, "_meta": {KEY: bad}});
        assert!(!definition(document(), "CallToolRequestParams").is_valid(&params), "{bad}");
        site.send(modern("tools/call", &params)).await.error(200, -32602).await;
    }
}

#[tokio::test]
async fn idempotency_metadata_matches_the_published_schema() {
    for client in both(|| server().tool(Work::new().tool("act"))) {
        let first = mark(&act(&client).await);
        assert_eq!((&first["replayed"], &first["recorded"]), (&json!(false), &json!(true)));
        let again = mark(&act(&client).await);
        assert_eq!((&again["replayed"], &again["attempt"]), (&json!(true), &json!(1)));
    }
    let nothing_done = || {
        JsonTool::open("act", |_, _| async {
            Err::<String, _>(ToolError::new("Not now.").not_started())
        })
    };
    for client in both(|| server().tool(nothing_done())) {
        assert_eq!(mark(&act(&client).await)["released"], true);
    }
    let moody = Moody::new(LedgerLimits::default());
    moody.refuse(&["complete"]);
    let client = server().ledger(moody).tool(Work::new().tool("act")).test().keyed("k");
    assert_eq!(mark(&act(&client).await)["recorded"], false);
}

fn panicking() -> JsonTool {
    JsonTool::open("act", |_, _| async { panic!("!") as Result<String, ToolError> })
}

#[tokio::test]
async fn resolved_operation_matches_the_published_schema() {
    let result = br#"{"content":[{"type":"text","text":"done"}]}"#.to_vec();
    let done = Resolution::Done(StoredResult::new(OutcomeKind::Success, result));
    for resolution in [done, Resolution::Abandon] {
        for client in both(|| server().tool(panicking())) {
            refused(&act(&client).await, code::OUTCOME_UNKNOWN);
            let event = Event::Resolve { by: "olga".to_owned(), resolution: resolution.clone() };
            let record = id("tester", "act", "k");
            let store = client.engine().store().unwrap();
            store.apply(&record, event, AuditContext::default()).await.unwrap();
            let told = act(&client).await;
            match resolution {
                Resolution::Abandon => drop(refused(&told, code::ABANDONED)),
                _ => assert_eq!(mark(&told)["resolvedBy"], "olga"),
            }
        }
    }
}

#[tokio::test]
async fn key_refusals_match_the_published_schema() {
    let required = || Work::new().tool("act").idempotency(Idempotency::Required);
    let without = server().tool(required()).test();
    let error = refused(&act(&without).await, code::KEY_REQUIRED);
    assert_eq!(error["fields"][0]["pointer"], "/idempotency_key");

    for client in both(|| server().tool(required())) {
        act(&client).await;
        refused(&client.call("act", json!({"a": 1})).await, code::KEY_REUSED);
        let other = json!({"idempotency_key": "other"});
        refused(&client.call("act", other).await, code::KEY_INVALID);
    }
    let brief = LedgerLimits { retention: Duration::from_millis(1), ..LedgerLimits::default() };
    let client = server().ledger(memory(brief)).tool(required()).test().keyed("k");
    loop {
        let told = act(&client).await;
        if told.is_error() {
            refused(&told, code::RESULT_EXPIRED);
            break;
        }
    }
    let small = LedgerLimits { max_outcome: 10, ..LedgerLimits::default() };
    let client = server().ledger(memory(small)).tool(required()).test().keyed("k");
    act(&client).await;
    refused(&act(&client).await, code::RESULT_TOO_LARGE);

    let quotas = Quotas { records: 0, ..Quotas::default() };
    let rules = LedgerLimits { quotas, ..LedgerLimits::default() };
    let client = server().ledger(memory(rules)).tool(required()).test().keyed("k");
    assert_eq!(refused(&act(&client).await, code::QUOTA_EXCEEDED)["retriable"], true);

    let moody = Moody::new(LedgerLimits::default());
    moody.refuse(&["start"]);
    let client = server().ledger(moody).tool(required()).test().keyed("k");
    refused(&act(&client).await, code::LEDGER_UNAVAILABLE);

    let soon = Duration::from_millis(5);
    let waits = server().tool(Work::new().waiting("act")).limits(|limits| limits.deadline = soon);
    let error = refused(&act(&waits.test().keyed("k")).await, code::IN_PROGRESS);
    assert!(error["retryAfterMs"].as_u64().is_some_and(|wait| wait > 0), "{error}");
}

#[tokio::test]
async fn preview_results_and_refusals_match_the_published_schema() {
    for restless in [false, true] {
        for revision in [Revision::V2026_07_28, Revision::LATEST_LEGACY] {
            let client = server().tool(drop_table(restless)).test().speaking(revision);
            let error = refused(&act(&client).await, code::PREVIEW_REQUIRED);
            assert_eq!(error["instead"]["tool"], "preview_act");
            let shown = client.call("preview_act", json!({})).await;
            let plan = &shown.raw()["_meta"][PLAN];
            fits(&exactly("PlanMeta"), plan);

            let among = json!({"arguments": {"plan_token": plan["token"]}});
            let beside = json!({"arguments": {}, "_meta": {"dev.candor/planToken": plan["token"]}});
            for params in [among, beside] {
                fits(&definition(document(), "CallToolRequestParams"), &params);
                let mut params = params;
                params["name"] = json!("act");
                let told = client.request("tools/call", params).await.unwrap();
                let said = &told["_meta"][ERROR]["code"];
                let expected = if restless { json!(code::PLAN_STALE) } else { Value::Null };
                assert_eq!(said, &expected, "{told:#}");
                if restless {
                    fits(&exactly("ErrorMeta"), &told["_meta"][ERROR]);
                    fits(&definition(document(), "ErrorCode"), said);
                }
            }
            let other = client.call("act", json!({"a": 1, "plan_token": plan["token"]})).await;
            refused(&other, code::PLAN_INVALID);
        }
    }
    let rated = Work::new().tool("act").annotations(adds()).rate(RateLimit::per_day(1));
    let client = server().tool(rated).test();
    act(&client).await;
    assert!(refused(&act(&client).await, code::RATE_LIMITED)["retryAfterMs"].is_u64());
}

#[tokio::test]
async fn approval_refusals_match_the_published_schema() {
    for revision in [Revision::V2026_07_28, Revision::LATEST_LEGACY] {
        let client = asking(Work::new().tool("act")).test().speaking(revision);
        let error = refused(&act(&client).await, code::APPROVAL_REQUIRED);
        fits(&definition(document(), "OperationId"), &error["operation"]);
        let policy = asking(Work::new().tool("act")).deny("act").test().speaking(revision);
        refused(&act(&policy).await, code::DENIED);
    }
}

/// What a person may answer, and whether the call runs.
fn answers() -> [(Value, bool); 3] {
    [
        (json!({"action": "accept", "content": {"decision": "approve"}}), true),
        (json!({"action": "accept", "content": {"decision": "deny"}}), false),
        (json!({"action": "decline"}), false),
    ]
}

/// The call ran, or was denied; either way as described.
fn concluded(result: &Value, runs: bool) {
    let meta = &result["_meta"];
    if runs {
        fits(&exactly("IdempotencyCallMeta"), &meta[MARK]);
        assert_eq!(result["structuredContent"]["number"], 1, "{result:#}");
    } else {
        fits(&exactly("ErrorMeta"), &meta[ERROR]);
        assert_eq!(meta[ERROR]["code"], code::DENIED, "{result:#}");
    }
}

#[tokio::test]
async fn modern_approval_request_matches_the_published_schema() {
    for (answer, runs) in answers() {
        fits(&definition(document(), "ApprovalAnswer"), &answer);
        let site = Site::guarded(asking(Work::new().tool("act")));
        let meta = json!({CAPABILITIES_KEY: {"elicitation": {}}});
        let mut params = json!({"name": "act", "arguments": {"path": "a"}, "_meta": meta});
        let asked = site.send(modern("tools/call", &params).by("alice")).await.result().await;
        fits(&definition(document(), "ApprovalInputRequiredResult"), &asked);
        fits(&exactly("ApprovalQuestion"), &asked["inputRequests"][APPROVAL]["params"]);
        params["inputResponses"] = json!({APPROVAL: answer});
        params["requestState"] = asked["requestState"].clone();
        let told = site.send(modern("tools/call", &params).by("alice")).await.result().await;
        concluded(&told, runs);
    }
}

#[tokio::test]
async fn legacy_approval_request_matches_the_published_schema() {
    for (answer, runs) in answers() {
        let site = Site::guarded(asking(Work::new().tool("act")));
        let can = json!({"elicitation": {}});
        let session = Session::start(&site, "2025-11-25", &can, Some("alice")).await;
        let params = json!({"name": "act", "arguments": {"path": "a"}});
        let mut events = session.request("tools/call", &params).await.events();
        // The first event lets a client resume the stream; it has no message.
        assert_eq!(events.next().await.unwrap().message, None);
        let question = events.message().await;
        assert_eq!(question["method"], "elicitation/create");
        fits(&exactly("ApprovalQuestion"), &question["params"]);
        session.answer(&question, &answer).await;
        concluded(&events.message().await["result"], runs);
    }
}

#[test]
fn schema_describes_every_error_code_and_no_other() {
    let source = include_str!("../../candor-protocol/src/names.rs");
    let (_, codes) = source.split_once("pub mod failure {").unwrap();
    let (codes, _) = codes.split_once("\n}").unwrap();
    let mut ours: Vec<&str> = codes
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub const ")?.split('"').nth(1))
        .collect();
    let document = document();
    let described = document["$defs"]["ErrorCode"]["oneOf"].as_array().unwrap();
    let mut described: Vec<&str> =
        described.iter().map(|code| code["const"].as_str().unwrap()).collect();
    ours.sort_unstable();
    described.sort_unstable();
    assert!(ours.contains(&code::DENIED));
    assert_eq!(ours, described);
}

#[test]
fn schema_rejects_malformed_messages() {
    let not = |name: &str, message: Value| {
        assert!(!definition(document(), name).is_valid(&message), "{name} {message}");
    };
    let mark =
        json!({"key": "k", "replayed": true, "attempt": 1, "completedAt": "2026-07-28T00:00:00Z"});
    fits(&exactly("IdempotencyCallMeta"), &mark);
    not("IdempotencyCallMeta", json!({"key": "k", "replayed": true, "attempt": 1}));
    not("IdempotencyCallMeta", json!({"key": "k", "replayed": false, "attempt": 1}));
    not(
        "IdempotencyCallMeta",
        json!({"key": "", "replayed": false, "attempt": 1, "recorded": true}),
    );
    not(
        "IdempotencyCallMeta",
        json!({"key": "k", "replayed": false, "attempt": 0, "recorded": true}),
    );
    let mut both = mark;
    both["recorded"] = json!(true);
    not("IdempotencyCallMeta", both);
    not("IdempotencyToolMeta", json!({"key": "beside"}));
    not("PlanToolMeta", json!({"preview": "", "required": true}));
    fits(&exactly("UndoToolMeta"), &json!({"possible": true, "tool": "restore"}));
    fits(&exactly("UndoToolMeta"), &json!({"possible": false}));
    not("UndoToolMeta", json!({"possible": true}));
    not("ApprovalVerdictMeta", json!({"verdict": "perhaps"}));
    let keys = |sources: Value| json!({"version": 1, "retentionMs": 1, "refusedForMs": 1, "keySources": sources, "maxKeyLength": 255});
    fits(&exactly("IdempotencyCapability"), &keys(json!(["_meta"])));
    not("IdempotencyCapability", keys(json!(["cookie"])));
    not("IdempotencyCapability", keys(json!([])));
    not("ApprovalCapability", json!({"version": 1, "ask": "sometimes", "client": true}));
    not("ApprovalCapability", json!({"version": 1, "ask": "always"}));
    fits(&exactly("ApprovalRequestMeta"), &json!({"expect": "ask"}));
    not("ApprovalRequestMeta", json!({"expect": "allow"}));
    fits(&exactly("ApprovalCallMeta"), &json!({"approved": true}));
    not("ApprovalCallMeta", json!({"approved": false}));
    not("ErrorCode", json!("because"));
    not("ErrorMeta", json!({"code": ""}));
    not(
        "ErrorMeta",
        json!({"code": "denied", "operation": "0123456789ab", "retriable": true, "retryAfterMs": 1}),
    );
    not("ErrorMeta", json!({"code": "approval_required", "operation": "0123456789ab"}));
    not(
        "ErrorMeta",
        json!({"code": "approval_required", "operation": "x", "retriable": true, "retryAfterMs": 1}),
    );
    not("ApprovalAnswer", json!({"action": "accept"}));
    not("ApprovalAnswer", json!({"action": "accept", "content": {"decision": "maybe"}}));
    not("ApprovalAnswer", json!({"action": "approve"}));
    not(
        "ApprovalQuestion",
        json!({"message": "May it? 0123456789ab", "requestedSchema": {"type": "object"}}),
    );
    not(
        "ApprovalInputRequiredResult",
        json!({"resultType": "input_required", "inputRequests": {}, "requestState": "s"}),
    );
    not("PlanMeta", json!({"token": "t"}));
    not("PlanMeta", json!({"token": "", "expiresAt": "2026-07-28T00:00:00Z"}));
    not("CallToolRequestParams", json!({"_meta": {"dev.candor/planToken": 7}}));
    not("CallToolRequestParams", json!({"arguments": {"idempotency_key": "~own"}}));
}
