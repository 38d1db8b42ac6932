//! Calls that a person is asked about: never started without a yes, started once with it, and nobody is asked twice.

#![allow(missing_docs)]

#[allow(unused_imports)]
mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use candor_operator::ArgumentPattern;
use candor_server::protocol::Revision;
use candor_server::store::{
    ApprovalChannel, AuditContext, Clock, Event, EventReply, Filter, MemoryStore, NewGrant,
    Options, Page, RecordEntry, RecordState, Review, Store,
};
use candor_server::testing::TestClient;
use candor_server::tool::{JsonTool, Plan, Tool, ToolError, code};
use candor_server::{
    AskLevel, Ctx, Elicit, ElicitAnswer, KeepArguments, RunningServer, Secret, Server,
};
use common::{CAPABILITIES_KEY, Call, Session, Site, modern};
use futures_util::FutureExt as _;
use serde_json::{Value, json};

/// A tool of which the worst must be expected, and how often it was started.
fn tool(name: &str) -> (JsonTool, Arc<AtomicUsize>) {
    let starts = Arc::new(AtomicUsize::new(0));
    let counted = starts.clone();
    let tool = JsonTool::open(name, move |args, _| {
        let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok::<_, ToolError>(json!({"number": number, "path": args["path"]})) }
    });
    (tool, starts)
}

fn asking() -> Server {
    Server::new("files", "1").ask(AskLevel::Destructive).hold(Duration::from_millis(20))
}

async fn waiting(engine: &RunningServer) -> Vec<RecordEntry> {
    engine.store().unwrap().waiting(Filter::default(), Page::default()).await.unwrap().items
}

/// An operator decides on the only question that there is.
async fn operator(engine: &RunningServer, decision: Review) -> EventReply {
    let [entry] = &waiting(engine).await[..] else { panic!("not one question waits") };
    let question = entry.stored.question().unwrap();
    let event =
        Event::Decide { question, by: "olga".to_owned(), via: ApprovalChannel::Operator, decision };
    engine.store().unwrap().apply(&entry.id, event, AuditContext::default()).await.unwrap()
}

fn delete(
    client: &TestClient,
    path: &str,
) -> impl Future<Output = candor_server::testing::TestResult> {
    client.call("delete", json!({"path": path}))
}

#[tokio::test]
async fn call_waits_for_an_operator_and_runs_once_when_approved() {
    for revision in [Revision::V2026_07_28, Revision::LATEST_LEGACY] {
        let (tool, starts) = tool("delete");
        let client = asking().tool(tool).test().speaking(revision);
        let told = delete(&client, "a").await;
        assert_eq!(told.code(), Some(code::APPROVAL_REQUIRED), "{}", told.text());
        let operation = told.raw()["_meta"]["dev.candor/error"]["operation"].clone();
        let again = delete(&client, "a").await;
        assert_eq!(again.raw()["_meta"]["dev.candor/error"]["operation"], operation);
        let waits = waiting(client.engine()).await;
        assert_eq!(waits.len(), 1, "one approval request per call");
        assert!(waits[0].id.digest().to_string().starts_with(operation.as_str().unwrap()));
        assert_eq!(starts.load(Ordering::SeqCst), 0);

        assert_eq!(operator(client.engine(), Review::Approve).await, EventReply::Done);
        let ran = delete(&client, "a").await;
        assert_eq!(ran.structured(), Some(&json!({"number": 1, "path": "a"})), "{}", ran.text());
        // The approval is used: the next call without a key is another call.
        assert_eq!(delete(&client, "a").await.code(), Some(code::APPROVAL_REQUIRED));
        assert_eq!(starts.load(Ordering::SeqCst), 1);
        assert_eq!(
            operator(client.engine(), Review::Deny { reason: Some("not today".into()) }).await,
            EventReply::Done
        );
        let denied = delete(&client, "a").await;
        assert_eq!(denied.code(), Some(code::DENIED));
        assert!(
            denied.text().contains("not today") && denied.text().contains("olga"),
            "{}",
            denied.text()
        );
        assert_eq!(starts.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn held_call_runs_as_soon_as_an_operator_approves() {
    let (tool, _) = tool("delete");
    let client = asking().hold(Duration::from_secs(30)).tool(tool).test();
    let (ran, ()) = tokio::join!(delete(&client, "a"), async {
        while waiting(client.engine()).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        operator(client.engine(), Review::Approve).await;
    });
    assert!(!ran.is_error(), "{}", ran.text());
    assert!(!ran.progress().is_empty(), "a held call reports progress");
}

#[tokio::test]
async fn approved_keyed_call_replays_without_another_approval() {
    let (tool, starts) = tool("delete");
    let client = asking().tool(tool).test().keyed("k");
    assert_eq!(delete(&client, "a").await.code(), Some(code::APPROVAL_REQUIRED));
    operator(client.engine(), Review::Approve).await;
    let first = delete(&client, "a").await;
    let again = delete(&client, "a").await;
    assert!(!first.is_replayed() && again.is_replayed());
    assert_eq!(first.structured(), again.structured());
    assert_eq!(delete(&client, "b").await.code(), Some(code::KEY_REUSED));
    assert_eq!(starts.load(Ordering::SeqCst), 1);
    assert!(waiting(client.engine()).await.is_empty());
}

#[tokio::test]
async fn user_of_the_client_approves_in_both_eras() {
    for revision in [Revision::V2026_07_28, Revision::LATEST_LEGACY] {
        for key in [None, Some("k")] {
            let (tool, starts) = tool("delete");
            let asked = Arc::new(AtomicUsize::new(0));
            let counted = asked.clone();
            let client = asking().tool(tool).test().speaking(revision).on_elicit(move |question| {
                counted.fetch_add(1, Ordering::SeqCst);
                assert!(question.message.contains("\"path\": \"a\""), "{}", question.message);
                json!({"decision": "approve"})
            });
            let client = key.map_or(client.by("tester"), |key| client.keyed(key));
            let ran = delete(&client, "a").await;
            assert_eq!(
                ran.structured(),
                Some(&json!({"number": 1, "path": "a"})),
                "{}",
                ran.text()
            );
            assert_eq!((starts.load(Ordering::SeqCst), asked.load(Ordering::SeqCst)), (1, 1));
            let store = client.engine().store().unwrap();
            let rows = store.rows(Filter::default(), Page::default()).await.unwrap().items;
            let decided = rows.iter().find(|row| row.event == "decide").unwrap();
            assert_eq!(
                decided.via,
                Some(ApprovalChannel::Client),
                "the client is recorded as the channel"
            );
        }
    }
}

#[tokio::test]
async fn decline_denies_and_cancel_leaves_the_request_pending() {
    for revision in [Revision::V2026_07_28, Revision::LATEST_LEGACY] {
        for (said, told) in [
            (ElicitAnswer::Accepted(json!({"decision": "deny"})), code::DENIED),
            (ElicitAnswer::Declined, code::DENIED),
        ] {
            let (tool, starts) = tool("delete");
            let client = asking().tool(tool).test().speaking(revision);
            let client = client.on_elicit(move |_| said.clone());
            assert_eq!(delete(&client, "a").await.code(), Some(told));
            assert_eq!(starts.load(Ordering::SeqCst), 0);
        }
    }
    for revision in [Revision::V2026_07_28, Revision::LATEST_LEGACY] {
        let (tool, starts) = tool("delete");
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        let client = asking().tool(tool).test().speaking(revision).on_elicit(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            ElicitAnswer::Cancelled
        });
        assert_eq!(delete(&client, "a").await.code(), Some(code::APPROVAL_REQUIRED));
        assert_eq!(
            asked.load(Ordering::SeqCst),
            1,
            "a client that cancels is not asked again at once"
        );
        assert_eq!(waiting(client.engine()).await.len(), 1, "another reviewer may decide");
        assert_eq!(starts.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn client_is_not_asked_with_operators_only() {
    let (tool, starts) = tool("delete");
    let client = asking().operators_only().tool(tool).test();
    let client = client.on_elicit(|_| -> Value { panic!("it must not be asked") });
    assert_eq!(delete(&client, "a").await.code(), Some(code::APPROVAL_REQUIRED));
    assert_eq!(starts.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn approval_is_bound_to_arguments_caller_and_time() {
    let now = Arc::new(AtomicI64::new(1_000_000));
    let clock = now.clone();
    let options = Options {
        clock: Clock::Given(Arc::new(move || clock.load(Ordering::SeqCst))),
        ..Options::default()
    };
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(options));
    let (tool, starts) = tool("delete");
    let client = asking().ledger(store).tool(tool).test();
    delete(&client, "a").await;
    operator(client.engine(), Review::Approve).await;
    assert_eq!(delete(&client, "b").await.code(), Some(code::APPROVAL_REQUIRED), "other arguments");
    assert_eq!(
        delete(&client.by("mallory"), "a").await.code(),
        Some(code::APPROVAL_REQUIRED),
        "another caller"
    );
    now.fetch_add(16 * 60 * 1000, Ordering::SeqCst);
    assert_eq!(delete(&client, "a").await.code(), Some(code::APPROVAL_REQUIRED), "too late");
    assert_eq!(starts.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn approval_is_void_after_the_tool_or_policy_changes() {
    let others: [fn(Server, JsonTool) -> Server; 3] = [
        |server, tool| server.tool(tool.description("Deletes more than it did")),
        |server, tool| server.tool(tool).ask(AskLevel::Always),
        |server, tool| server.tool(tool).operators_only(),
    ];
    for other in others {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Options::default()));
        let (before, _) = tool("delete");
        let client = asking().ledger(store.clone()).tool(before).test();
        delete(&client, "a").await;
        operator(client.engine(), Review::Approve).await;
        let (after, starts) = tool("delete");
        let client = other(asking().ledger(store), after).test();
        assert_eq!(delete(&client, "a").await.code(), Some(code::APPROVAL_REQUIRED));
        assert_eq!(starts.load(Ordering::SeqCst), 0);
        assert_eq!(waiting(client.engine()).await.len(), 1, "a new approval request");
    }
}

#[tokio::test]
async fn hundred_concurrent_calls_share_one_request_and_one_start() {
    for key in [None, Some("k")] {
        let (tool, starts) = tool("delete");
        let client = asking().hold(Duration::from_secs(30)).tool(tool).test();
        let client = Arc::new(key.map_or(client.by("tester"), |key| client.keyed(key)));
        let calls: Vec<_> = (0..100)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move { delete(&client, "a").await.raw().clone() })
            })
            .collect();
        while waiting(client.engine()).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        operator(client.engine(), Review::Approve).await;
        if key.is_none() {
            // Calls that arrive after the approval was used are separate calls, and wait: only the first ran.
            while starts.load(Ordering::SeqCst) == 0 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert_eq!(starts.load(Ordering::SeqCst), 1);
            let mut done = 0;
            for call in calls {
                match call.is_finished() {
                    true => done += usize::from(call.await.unwrap()["isError"] != true),
                    false => call.abort(),
                }
            }
            assert_eq!(done, 1, "a call without a key never gets the result of another");
            continue;
        }
        for call in calls {
            assert_eq!(call.await.unwrap()["structuredContent"], json!({"number": 1, "path": "a"}));
        }
        assert_eq!(starts.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn grant_allows_matching_calls_until_revoked() {
    let (tool, starts) = tool("delete");
    let client = asking().tool(tool).test();
    delete(&client, "notes/a").await;
    let entry = waiting(client.engine()).await.remove(0);
    let pattern =
        ArgumentPattern::like(&json!({"path": "notes/a"}), &[], &[("path", "notes")]).unwrap();
    let store = client.engine().store().unwrap();
    let granting = NewGrant {
        binding: entry.stored.question().unwrap().binding,
        scope: entry.id.scope,
        pattern: pattern.to_string(),
        by: "olga".to_owned(),
        lasts: Duration::from_secs(900),
    };
    let grant = store.grant(granting).await.unwrap();
    assert!(!delete(&client, "notes/a").await.is_error());
    assert!(!delete(&client, "notes/b/c").await.is_error());
    assert_eq!(delete(&client, "notes/../etc").await.code(), Some(code::APPROVAL_REQUIRED));
    assert_eq!(delete(&client.by("bob"), "notes/a").await.code(), Some(code::APPROVAL_REQUIRED));
    store.revoke(grant.id, "olga".to_owned()).await.unwrap();
    assert_eq!(delete(&client, "notes/b").await.code(), Some(code::APPROVAL_REQUIRED));
    assert_eq!(starts.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn grant_does_not_apply_after_the_tool_or_policy_changes() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Options::default()));
    let served = |change: fn(Server, JsonTool) -> Server| {
        let (tool, starts) = tool("delete");
        (change(asking().ledger(store.clone()), tool).test(), starts)
    };
    let (client, starts) = served(Server::tool);
    delete(&client, "a").await;
    let entry = waiting(client.engine()).await.remove(0);
    let granting = NewGrant {
        binding: entry.stored.question().unwrap().binding,
        scope: entry.id.scope,
        pattern: ArgumentPattern::like(&json!({"path": "a"}), &["path"], &[]).unwrap().to_string(),
        by: "olga".to_owned(),
        lasts: Duration::from_secs(900),
    };
    let grant = store.grant(granting).await.unwrap();
    assert!(!delete(&client, "b").await.is_error());
    assert_eq!(starts.load(Ordering::SeqCst), 1);

    // Another definition, and another policy.
    for change in [
        |server: Server, tool: JsonTool| server.tool(tool.description("Deletes more than it did")),
        |server: Server, tool: JsonTool| server.ask_for("delete", AskLevel::Always).tool(tool),
    ] {
        let (client, starts) = served(change);
        assert_eq!(delete(&client, "c").await.code(), Some(code::APPROVAL_REQUIRED));
        assert_eq!(starts.load(Ordering::SeqCst), 0);
    }
    // The grant stays stored, and still applies to the original tool and policy.
    assert_eq!(store.grants_in_force(&grant.scope).await.unwrap(), [grant]);
    let (client, starts) = served(Server::tool);
    assert!(!delete(&client, "d").await.is_error());
    assert_eq!(starts.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn policy_decides_which_calls_need_approval() {
    let server = || {
        let (delete, _) = tool("delete");
        let mut reads = candor_server::protocol::types::ToolAnnotations::new();
        reads.read_only_hint = Some(true);
        let (look, _) = tool("look");
        let (watched, _) = tool("watched");
        Server::new("files", "1")
            .hold(Duration::from_millis(10))
            .tool(delete)
            .tool(look.annotations(reads.clone()))
            .tool(watched.annotations(reads).ask(AskLevel::Always))
    };
    let codes = async |server: Server| {
        let client = server.test();
        let mut codes = Vec::new();
        for tool in ["delete", "look", "watched"] {
            codes.push(client.call(tool, json!({})).await.code().map(str::to_owned));
        }
        codes
    };
    let asked = || Some(code::APPROVAL_REQUIRED.to_owned());
    assert_eq!(codes(server()).await, [None, None, asked()], "a tool may ask for more");
    assert_eq!(codes(server().ask(AskLevel::Writes)).await, [asked(), None, asked()]);
    assert_eq!(codes(server().ask(AskLevel::Always)).await, [asked(), asked(), asked()]);
    assert_eq!(
        codes(server().ask(AskLevel::Always).ask_for("look", AskLevel::Never)).await,
        [asked(), None, asked()]
    );
    let denied = Some(code::DENIED.to_owned());
    assert_eq!(codes(server().deny("look")).await, [None, denied, asked()]);
    assert!(
        Server::new("s", "1").tool(tool("t").0).ask(AskLevel::Always).build().is_err(),
        "approval needs a ledger"
    );
}

#[tokio::test]
async fn description_states_that_approval_is_required() {
    let said = async |server: Server| {
        let (tool, _) = tool("delete");
        let mut deletes = candor_server::protocol::types::ToolAnnotations::new();
        deletes.destructive_hint = Some(true);
        let client = server.tool(tool.annotations(deletes).description("Deletes.")).test();
        client.tool("delete").await.description.unwrap()
    };
    let sentence = "Requires human approval before executing.";
    assert!(said(asking()).await.contains(sentence));
    assert!(!said(Server::new("files", "1")).await.contains(sentence));
}

#[tokio::test]
async fn call_that_needs_approval_is_refused_without_a_ledger() {
    let (tool, starts) = tool("delete");
    let tools =
        candor_server::tool::ToolSet::new([Arc::new(tool.ask(AskLevel::Always)) as Arc<dyn Tool>]);
    let tools = Arc::new(tools.unwrap());
    let provider = candor_server::tool::provider_fn(move |_| Ok(tools.clone()));
    let engine = Server::new("files", "1").tools_from(provider).build().unwrap();
    let told = delete(&TestClient::of(&engine), "a").await;
    assert_eq!(told.code(), Some(code::APPROVAL_UNAVAILABLE), "{}", told.text());
    assert_eq!(starts.load(Ordering::SeqCst), 0);
}

// ---- what a client may try

fn call(arguments: &Value, more: &Value) -> Call {
    let mut params = json!({"name": "delete", "arguments": arguments});
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    params["_meta"] = json!({CAPABILITIES_KEY: {"elicitation": {}}});
    modern("tools/call", &params).by("alice")
}

fn yes(state: &Value) -> Value {
    let answer = json!({"action": "accept", "content": {"decision": "approve"}});
    json!({"inputResponses": {"dev.candor/approval": answer}, "requestState": state})
}

#[tokio::test]
async fn forged_approval_starts_nothing() {
    let (tool, starts) = tool("delete");
    let server = asking().ledger(Arc::new(MemoryStore::new(Options::default()))).tool(tool);
    let site = Site::guarded(server);
    // Without the state of a request.
    let mut forged = yes(&Value::Null);
    forged.as_object_mut().unwrap().shift_remove("requestState");
    let told = site.send(call(&json!({"path": "a"}), &forged)).await.result().await;
    assert_eq!(told["resultType"], "input_required", "{told:#}");
    let state = told["requestState"].clone();
    // With a state that was changed, or that belongs to other arguments.
    let tampered = json!(format!("{}x", state.as_str().unwrap()));
    for (arguments, state) in [(json!({"path": "a"}), &tampered), (json!({"path": "b"}), &state)] {
        site.send(call(&arguments, &yes(state))).await.error(200, -32602).await;
    }
    assert_eq!(starts.load(Ordering::SeqCst), 0);
    // The real approval runs the call once, however often it is sent.
    let ran = site.send(call(&json!({"path": "a"}), &yes(&state))).await.result().await;
    assert_eq!(ran["structuredContent"]["number"], 1, "{ran:#}");
    let again = site.send(call(&json!({"path": "a"}), &yes(&state))).await.result().await;
    assert_eq!(
        again["resultType"], "input_required",
        "another call needs another request: {again:#}"
    );
    assert_eq!(starts.load(Ordering::SeqCst), 1);
}

/// Any process that reaches an open port could approve its own call.
#[tokio::test]
async fn anonymous_caller_is_not_asked_and_cannot_approve() {
    let store = Arc::new(MemoryStore::new(Options::default()));
    let secret = Secret::random_line();
    let server = |tool| {
        let secret = Secret::from_lines(&secret).unwrap();
        asking().ledger(store.clone()).secret(secret).tool(tool)
    };
    let ((here, starts), (there, _)) = (tool("delete"), tool("delete"));
    let (open, guarded) = (Site::of(server(here)), Site::guarded(server(there)));
    let arguments = json!({"path": "a"});
    let anonymous = |more: &Value| call(&arguments, more).without("authorization");
    let code = |told: &Value| told["_meta"]["dev.candor/error"]["code"].clone();

    let told = open.send(anonymous(&json!({}))).await.result().await;
    assert_eq!(code(&told), code::APPROVAL_REQUIRED, "{told:#}");
    // An approval without a request, and one with the state of another caller.
    let mut forged = yes(&Value::Null);
    forged.as_object_mut().unwrap().shift_remove("requestState");
    let told = open.send(anonymous(&forged)).await.result().await;
    assert_eq!(code(&told), code::APPROVAL_REQUIRED, "{told:#}");
    let asked = guarded.send(call(&arguments, &json!({}))).await.result().await;
    let borrowed = yes(&asked["requestState"]);
    assert!(borrowed["requestState"].is_string(), "a caller with a token is asked: {asked:#}");
    open.send(anonymous(&borrowed)).await.error(200, -32602).await;
    // In the legacy era, too.
    let session = Session::able(&open, &json!({"elicitation": {}})).await;
    let told =
        session.request("tools/call", &json!({"name": "delete", "arguments": arguments})).await;
    assert_eq!(code(&told.result().await), code::APPROVAL_REQUIRED);

    assert_eq!(starts.load(Ordering::SeqCst), 0);
    let decided = store.rows(Filter::default(), Page::default()).await.unwrap().items;
    assert!(decided.iter().all(|row| row.event != "decide"), "{decided:?}");
}

#[tokio::test]
async fn approved_call_that_elicits_input_completes_once() {
    let ends = Arc::new(AtomicUsize::new(0));
    let counted = ends.clone();
    let tool = JsonTool::open("delete", move |_, ctx: Ctx| {
        let counted = counted.clone();
        async move {
            let form = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
            ctx.elicit(Elicit::form("How many?", &form)).await?;
            Ok::<_, ToolError>(json!({"ended": counted.fetch_add(1, Ordering::SeqCst) + 1}))
        }
    });
    let site =
        Site::guarded(asking().ledger(Arc::new(MemoryStore::new(Options::default()))).tool(tool));
    let arguments = json!({"path": "a"});
    let may = site.send(call(&arguments, &json!({}))).await.result().await;
    let how_many = site.send(call(&arguments, &yes(&may["requestState"]))).await.result().await;
    assert_eq!(how_many["inputRequests"]["q1"]["method"], "elicitation/create", "{how_many:#}");
    let answer = json!({
        "inputResponses": {"q1": {"action": "accept", "content": {"n": 1}}},
        "requestState": how_many["requestState"],
    });
    let ended = site.send(call(&arguments, &answer)).await.result().await;
    assert_eq!(ended["structuredContent"], json!({"ended": 1}), "{ended:#}");
    // The answer again, and the approval again.
    for again in [answer, yes(&may["requestState"])] {
        site.send(call(&arguments, &again)).await;
    }
    assert_eq!(ends.load(Ordering::SeqCst), 1);
}

/// One approval, and two answers to the call's own question: a decline, which releases the call, and meanwhile an acceptance.
/// The second must not find the call free and start it again.
#[tokio::test]
async fn concurrent_answer_does_not_restart_a_released_call() {
    let (runs, ends) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (run, end) = (runs.clone(), ends.clone());
    let tool = JsonTool::open("delete", move |_, ctx: Ctx| {
        run.fetch_add(1, Ordering::SeqCst);
        let end = end.clone();
        async move {
            let form = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
            if let ElicitAnswer::Declined = ctx.elicit(Elicit::form("How many?", &form)).await? {
                tokio::time::sleep(Duration::from_millis(300)).await;
                return Err(ToolError::new("Then not.").not_started());
            }
            Ok(json!({"ended": end.fetch_add(1, Ordering::SeqCst) + 1}))
        }
    });
    let store = Arc::new(MemoryStore::new(Options::default()));
    let site = Site::guarded(asking().ledger(store.clone()).tool(tool));
    let arguments = json!({"path": "a"});
    let may = site.send(call(&arguments, &json!({}))).await.result().await;
    let how_many = site.send(call(&arguments, &yes(&may["requestState"]))).await.result().await;
    let answer = |said: Value| {
        let more =
            json!({"inputResponses": {"q1": said}, "requestState": how_many["requestState"]});
        site.send(call(&arguments, &more))
    };
    let (declined, late) = tokio::join!(answer(json!({"action": "decline"})), async {
        while runs.load(Ordering::SeqCst) < 2 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        answer(json!({"action": "accept", "content": {"n": 1}})).await
    });
    assert_eq!(declined.result().await["isError"], true);
    late.error(200, -32602).await;
    assert_eq!((runs.load(Ordering::SeqCst), ends.load(Ordering::SeqCst)), (2, 0));
    let rows = store.rows(Filter::default(), Page::default()).await.unwrap().items;
    assert_eq!(rows.iter().filter(|row| row.event == "start").count(), 1, "{rows:?}");
}

#[tokio::test]
async fn reserved_key_is_refused() {
    let (tool, _) = tool("delete");
    let client = asking().tool(tool).test();
    let error = client.keyed("~0123").try_call("delete", json!({"path": "a"})).await.unwrap_err();
    assert!(error.message.contains("the server's own"), "{}", error.message);
}

/// A tool with a preview that looks at a world which may change.
fn looked_at(world: &Arc<AtomicUsize>) -> (JsonTool, Arc<AtomicUsize>) {
    let (tool, starts) = tool("delete");
    let world = world.clone();
    let tool = tool.preview(move |args, _| {
        let (rows, path) = (world.load(Ordering::SeqCst), args["path"].clone());
        async move {
            if rows == 0 {
                return Err(ToolError::new("There is nothing to delete"));
            }
            Ok(Plan::new(format!("Would delete {rows} rows of {path}."), rows.to_string()))
        }
    });
    (tool, starts)
}

fn shown(entry: &RecordEntry) -> Value {
    let RecordState::Waiting { asked, .. } = &entry.stored.state else {
        panic!("it does not wait")
    };
    serde_json::from_slice(asked).unwrap()
}

#[tokio::test]
async fn reviewer_sees_the_preview_in_queue_and_client() {
    for revision in [Revision::V2026_07_28, Revision::LATEST_LEGACY] {
        let world = Arc::new(AtomicUsize::new(7));
        let (tool, starts) = looked_at(&world);
        let client = asking().tool(tool).test().speaking(revision);
        delete(&client, "a").await;
        let preview = "Would delete 7 rows of \"a\".";
        assert_eq!(shown(&waiting(client.engine()).await[0])["preview"], preview);
        let seen = Arc::new(AtomicUsize::new(0));
        let counted = seen.clone();
        let person = client.by("tester").on_elicit(move |asked| {
            assert!(asked.message.contains(preview), "{}", asked.message);
            counted.fetch_add(1, Ordering::SeqCst);
            json!({"decision": "approve"})
        });
        let ran = delete(&person, "a").await;
        assert!(!ran.is_error(), "{}", ran.text());
        assert_eq!((seen.load(Ordering::SeqCst), starts.load(Ordering::SeqCst)), (1, 1));
    }
}

#[tokio::test]
async fn deceptive_characters_are_escaped_in_the_clients_request() {
    let hostile = || "Delete \u{202e}txt.a\nand \u{1b}[2Jmore\u{200b}".to_owned();
    let (tool, _) = tool_with("delete", hostile);
    let asked = Arc::new(std::sync::Mutex::new(String::new()));
    let heard = asked.clone();
    let client = asking().tool(tool).test().by("tester").on_elicit(move |question| {
        heard.lock().unwrap().clone_from(&question.message);
        json!({"decision": "approve"})
    });
    delete(&client, "a\u{202e}\u{e0041}\u{9b}b").await;
    let asked = asked.lock().unwrap();
    let seen = |c: char| c == '\n' || !candor_protocol::shown::fools(c);
    assert!(asked.chars().all(seen), "{asked:?}");
    assert!(asked.contains("a\\u202e\\udb40\\udc41\\u009bb"), "{asked}");
    assert!(asked.contains("Delete \\u{202e}txt.a\nand \\u{1b}[2Jmore"), "{asked}");
}

#[tokio::test]
async fn secrets_are_redacted_for_reviewers_and_history() {
    let schema = json!({"type": "object", "properties": {"user": {}, "password": {"type": "string", "format": "password"}}});
    let reset = JsonTool::new("reset", &schema, |args, _| async move {
        Ok::<_, ToolError>(json!({"length": args["password"].as_str().map(str::len)}))
    });
    let client = asking().tool(reset).test();
    let arguments = json!({"user": "ada", "password": "hunter2"});
    client.call("reset", arguments.clone()).await;
    let [entry] = &waiting(client.engine()).await[..] else { panic!("not one question waits") };
    let covered = json!({"user": "ada", "password": "•••• (7 characters)"});
    assert_eq!(shown(entry)["arguments"], covered);
    assert_eq!(shown(entry)["secrets"], json!(["password"]));
    let person = client.by("tester").on_elicit(|asked| {
        assert!(asked.message.contains("7 characters") && !asked.message.contains("hunter2"));
        json!({"decision": "approve"})
    });
    let ran = person.call("reset", arguments).await;
    assert_eq!(ran.structured(), Some(&json!({"length": 7})), "{}", ran.text());
    // The history has no secret either.
    let stored = client.engine().store().unwrap().find(&entry.id).await.unwrap().unwrap().stored;
    let stored: Value = serde_json::from_slice(&stored.arguments.unwrap()).unwrap();
    assert_eq!(stored, covered);
}

#[tokio::test]
async fn secrets_of_calls_without_approval_are_redacted_too() {
    let schema = json!({"type": "object", "properties": {"password": {"type": "string", "format": "password"}}});
    let reset = JsonTool::new("reset", &schema, |_, _| async { Ok::<_, ToolError>("reset") });
    let server = Server::new("files", "1").keep_arguments(KeepArguments::All).tool(reset);
    let client = server.test().keyed("k");
    client.call("reset", json!({"password": "hunter2"})).await;
    let store = client.engine().store().unwrap();
    let all = store.records(Filter::default(), Page::default()).await.unwrap().items;
    let stored: Value = serde_json::from_slice(all[0].stored.arguments.as_ref().unwrap()).unwrap();
    assert_eq!(stored, json!({"password": "•••• (7 characters)"}));
}

#[tokio::test]
async fn denial_after_a_grant_overrides_the_grant() {
    let (tool, starts) = tool("delete");
    let client = asking().tool(tool).test();
    delete(&client, "a").await;
    let entry = waiting(client.engine()).await.remove(0);
    let granting = NewGrant {
        binding: entry.stored.question().unwrap().binding,
        scope: entry.id.scope,
        pattern: ArgumentPattern::like(&json!({"path": "a"}), &["path"], &[]).unwrap().to_string(),
        by: "olga".to_owned(),
        lasts: Duration::from_secs(900),
    };
    client.engine().store().unwrap().grant(granting).await.unwrap();
    operator(client.engine(), Review::Deny { reason: None }).await;
    assert_eq!(delete(&client, "a").await.code(), Some(code::DENIED));
    assert!(!delete(&client, "b").await.is_error(), "that call was not denied");
    assert_eq!(starts.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn denial_by_the_client_user_overrides_a_concurrent_grant() {
    for revision in [Revision::V2026_07_28, Revision::LATEST_LEGACY] {
        let (tool, starts) = tool("delete");
        let client = asking().tool(tool).test().speaking(revision);
        let store = Arc::clone(client.engine().store().unwrap());
        // While the user of the client thinks about it, an operator grants such calls.
        let user = client.by("tester").on_elicit(move |_| {
            let granted = async {
                let entry =
                    store.waiting(Filter::default(), Page::default()).await?.items.remove(0);
                let granting = NewGrant {
                    binding: entry.stored.question().unwrap().binding,
                    scope: entry.id.scope,
                    pattern: ArgumentPattern::like(&json!({"path": "a"}), &[], &[])
                        .unwrap()
                        .to_string(),
                    by: "olga".to_owned(),
                    lasts: Duration::from_secs(900),
                };
                store.grant(granting).await
            };
            granted.now_or_never().expect("a store in memory").unwrap();
            json!({"decision": "deny"})
        });
        let told = delete(&user, "a").await;
        assert_eq!(told.code(), Some(code::DENIED), "{}", told.text());
        assert_eq!(starts.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn secret_argument_cannot_be_recorded() {
    let schema =
        json!({"type": "object", "properties": {"pin": {"type": "integer", "writeOnly": true}}});
    let tool = JsonTool::new("pay", &schema, |_, _| async { Ok::<_, ToolError>("paid") });
    let refused = Server::new("bank", "1").tool(tool.recorded(["pin"])).build().unwrap_err();
    assert!(refused.to_string().contains("its schema marks it as a secret"), "{refused}");
}

#[tokio::test]
async fn approval_is_void_after_the_previewed_state_changes() {
    let world = Arc::new(AtomicUsize::new(7));
    let (tool, starts) = looked_at(&world);
    let client = asking().tool(tool).test();
    delete(&client, "a").await;
    operator(client.engine(), Review::Approve).await;
    world.store(7_000_000, Ordering::SeqCst);
    assert_eq!(
        delete(&client, "a").await.code(),
        Some(code::APPROVAL_REQUIRED),
        "a new approval request"
    );
    assert_eq!(starts.load(Ordering::SeqCst), 0);
    let preview = shown(&waiting(client.engine()).await[0])["preview"].clone();
    assert_eq!(preview, "Would delete 7000000 rows of \"a\".");
    operator(client.engine(), Review::Approve).await;
    assert!(!delete(&client, "a").await.is_error());
    assert_eq!(starts.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn failed_preview_is_shown_and_a_long_one_is_truncated() {
    let world = Arc::new(AtomicUsize::new(0));
    let (tool, _) = looked_at(&world);
    let client = asking().tool(tool).test();
    delete(&client, "a").await;
    let preview = shown(&waiting(client.engine()).await[0])["preview"].clone();
    assert_eq!(preview, "No preview: There is nothing to delete");

    let (long, _) = tool_with("delete", || "ä".repeat(20_000));
    let client = asking().tool(long).test();
    delete(&client, "a").await;
    let preview = shown(&waiting(client.engine()).await[0])["preview"].clone();
    let preview = preview.as_str().unwrap();
    assert!(preview.ends_with("\n(and 23616 bytes more, not shown)"), "{}", &preview[16_380..]);
}

fn tool_with(name: &str, preview: fn() -> String) -> (JsonTool, Arc<AtomicUsize>) {
    let (tool, starts) = tool(name);
    (tool.preview(move |_, _| async move { Ok::<_, ToolError>(preview()) }), starts)
}

#[tokio::test]
async fn stale_plan_creates_no_approval_request() {
    let world = Arc::new(AtomicUsize::new(7));
    let (tool, starts) = looked_at(&world);
    let client = asking().tool(tool.requires_preview()).test();
    let previewed = client.call("preview_delete", json!({"path": "a"})).await;
    let token = previewed.raw()["_meta"]["dev.candor/plan"]["token"].clone();
    let call = || client.call("delete", json!({"path": "a", "plan_token": token}));
    world.store(8, Ordering::SeqCst);
    assert_eq!(call().await.code(), Some(code::PLAN_STALE));
    assert!(waiting(client.engine()).await.is_empty());
    world.store(7, Ordering::SeqCst);
    assert_eq!(call().await.code(), Some(code::APPROVAL_REQUIRED));
    operator(client.engine(), Review::Approve).await;
    assert!(!call().await.is_error());
    assert_eq!(starts.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn grant_survives_changes_of_the_previewed_state() {
    let world = Arc::new(AtomicUsize::new(7));
    let (tool, starts) = looked_at(&world);
    let client = asking().tool(tool).test();
    delete(&client, "a").await;
    let [entry] = &waiting(client.engine()).await[..] else { panic!("not one question waits") };
    let granting = NewGrant {
        scope: entry.id.scope.clone(),
        binding: entry.stored.question().unwrap().binding,
        pattern: ArgumentPattern::like(&json!({"path": "a"}), &["path"], &[]).unwrap().to_string(),
        by: "olga".to_owned(),
        lasts: Duration::from_secs(60),
    };
    client.engine().store().unwrap().grant(granting).await.unwrap();
    for rows in [7, 8, 9] {
        world.store(rows, Ordering::SeqCst);
        assert!(!delete(&client, "b").await.is_error());
    }
    assert_eq!(starts.load(Ordering::SeqCst), 3);
}
