//! Whoever is in the same process goes the same way as everybody else, and can look before it calls.

#![allow(missing_docs)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use candor_server::auth::{Authenticator as _, BearerTokens};
use candor_server::hints::{Condition, EffectRow, EffectTable, HintSource, Hints};
use candor_server::protocol::Principal;
use candor_server::protocol::json::{Object, raw};
use candor_server::store::{
    self, ApprovalChannel, AuditContext, Event, Filter, NewGrant, Options, Page, Review,
};
use candor_server::tool::{JsonTool, ToolError};
use candor_server::{
    ArgumentPattern, AskLevel, CallEvent, Ctx, Decision, Engine, NextStep, RecordStatus, Server,
    Verdict, Visit,
};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

fn files(ask: AskLevel) -> (Engine, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "action": {"enum": ["read", "delete"]}},
        "required": ["path", "action"],
    });
    let row =
        |action: &str, hints| EffectRow::when("action", Condition::equals(action)).then(hints);
    let by_action =
        EffectTable::new().row(row("read", Hints::READS)).row(row("delete", Hints::DELETES));
    let tool = JsonTool::new("manage", &schema, move |args, ctx: Ctx| {
        let run = counted.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            ctx.progress(1, 2, "half").await;
            Ok::<_, ToolError>(format!("{} {} {run}", args["action"], args["path"]))
        }
    })
    .effects(by_action);
    let ledger = store::open("memory:", Options::default()).unwrap();
    let server = Server::new("files", "1").tool(tool).ledger(ledger).ask(ask);
    (server.hold(Duration::from_millis(1)).build().unwrap(), runs)
}

fn visit(engine: &Engine) -> Visit {
    engine.visit(Principal::new("alice"))
}

async fn decide(visit: &Visit, arguments: Value) -> Decision {
    visit.decide("manage", &raw(&arguments)).await.unwrap()
}

fn params(arguments: &Value) -> Object {
    Object::new().with("name", "manage").with("arguments", arguments)
}

#[tokio::test]
async fn visit_receives_notifications_and_the_result() {
    let (engine, _) = files(AskLevel::Never);
    let visit = visit(&engine).meta("progressToken", "t");
    let mut said = visit.send("tools/call", params(&json!({"path": "a", "action": "read"})));
    let Some(CallEvent::Notice { method, .. }) = said.next().await else { panic!("no progress") };
    assert_eq!(method, "notifications/progress");
    let Some(CallEvent::Answer(Ok(result))) = said.next().await else { panic!("no answer") };
    let result: Value = serde_json::from_str(result.get()).unwrap();
    assert_eq!(result["content"][0]["text"], r#""read" "a" 1"#);
    assert!(said.next().await.is_none());
}

#[tokio::test]
async fn decision_depends_on_the_arguments_and_runs_nothing() {
    let (engine, runs) = files(AskLevel::Destructive);
    let alice = visit(&engine);
    let reads = decide(&alice, json!({"path": "a", "action": "read"})).await;
    assert_eq!((reads.effect.hints, reads.exact), (Hints::READS, true));
    assert_eq!(reads.verdict, Verdict::Allow);
    let deletes = decide(&alice, json!({"path": "a", "action": "delete"})).await;
    assert!(deletes.effect.hints.is_destructive() && deletes.problems.is_empty());
    assert_eq!(deletes.effect.sources[1], HintSource::Resolved);
    assert_eq!((deletes.verdict, deletes.record), (Verdict::Ask, None));
    let half = decide(&alice, json!({"action": "read"})).await;
    assert_eq!(half.problems[0].pointer, "/path");
    assert!(!half.exact && half.effect.hints.is_read_only(), "the known arguments suffice");
    assert!(alice.decide("nothing", &raw(&json!({}))).await.is_err());
    assert!(alice.decide("manage", &raw(&json!([]))).await.is_err());
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    assert!(engine.recent_calls().is_empty());
}

#[tokio::test]
async fn decision_includes_the_record_of_the_call() {
    let (engine, _) = files(AskLevel::Destructive);
    let alice = visit(&engine).key(Some("k".to_owned()));
    let (read, other) =
        (json!({"path": "a", "action": "read"}), json!({"path": "b", "action": "read"}));
    assert_eq!(decide(&alice, read.clone()).await.record, None);
    alice.clone().ask("tools/call", params(&read)).await.unwrap();
    let known = decide(&alice, read.clone()).await.record;
    assert!(matches!(known, Some(RecordStatus::Replay { .. })), "{known:?}");
    assert_eq!(decide(&alice, other).await.record, Some(RecordStatus::Reused));
    let bob = engine.visit(Principal::new("bob")).key(Some("k".to_owned()));
    assert_eq!(decide(&bob, read).await.record, None, "the record of another caller is not shown");

    let delete = json!({"path": "a", "action": "delete"});
    let alice = visit(&engine);
    alice.clone().ask("tools/call", params(&delete)).await.unwrap();
    let waits = decide(&alice, delete.clone()).await.record;
    assert!(matches!(waits, Some(RecordStatus::Waiting { .. })), "{waits:?}");
    let store = engine.store().unwrap();
    let waiting = store.waiting(Filter::default(), Page::default()).await.unwrap().items;
    let question = waiting[0].stored.question().unwrap();
    let (by, via) = ("olga".to_owned(), ApprovalChannel::Operator);
    let event = Event::Decide { question, by, via, decision: Review::Approve };
    store.apply(&waiting[0].id, event, AuditContext::default()).await.unwrap();
    let approved = decide(&alice, delete.clone()).await.record;
    assert_eq!(approved, Some(RecordStatus::Approved { by: "olga".to_owned() }));
    alice.clone().ask("tools/call", params(&delete)).await.unwrap();
    assert_eq!(decide(&alice, delete).await.record, None, "the next one is another call");
}

#[tokio::test]
async fn call_under_a_grant_is_decided_as_allowed() {
    let (engine, runs) = files(AskLevel::Destructive);
    let (alice, store) = (visit(&engine), engine.store().unwrap());
    let delete = json!({"path": "a", "action": "delete"});
    alice.clone().ask("tools/call", params(&delete)).await.unwrap();
    let waiting = store.waiting(Filter::default(), Page::default()).await.unwrap().items;
    let granting = NewGrant {
        scope: waiting[0].id.scope.clone(),
        binding: waiting[0].stored.question().unwrap().binding,
        pattern: ArgumentPattern::like(&delete, &["path"], &[]).unwrap().to_string(),
        by: "olga".to_owned(),
        lasts: Duration::from_secs(60),
    };
    let grant = store.grant(granting).await.unwrap();
    let other = json!({"path": "b", "action": "delete"});
    for (arguments, has_request) in [(&delete, true), (&other, false)] {
        let decision = decide(&alice, arguments.clone()).await;
        assert_eq!((decision.verdict, decision.next), (Verdict::Allow, NextStep::Run));
        let request = matches!(decision.record, Some(RecordStatus::Waiting { .. }));
        assert_eq!(request, has_request, "{:?}", decision.record);
        alice.clone().ask("tools/call", params(arguments)).await.unwrap();
    }
    assert_eq!(runs.load(Ordering::SeqCst), 2, "both calls ran");
    store.revoke(grant.id, "olga".to_owned()).await.unwrap();
    assert_eq!(decide(&alice, other).await.verdict, Verdict::Ask);
}

#[tokio::test]
async fn catalogue_has_the_effects_and_the_verdict_of_a_tool() {
    let (engine, _) = files(AskLevel::Destructive);
    let catalogue = engine.catalogue(&Principal::new("alice")).await.unwrap();
    assert_eq!(catalogue.list().len(), 1);
    let listed = catalogue.find("manage").unwrap();
    assert!(listed.dynamic && listed.worst.hints.is_destructive());
    assert_eq!(listed.verdict, Verdict::Ask);
    assert_eq!(listed.effects.len(), 2, "{:?}", listed.effects);
    assert!(catalogue.find("nothing").is_none());
    let about = engine.about();
    assert_eq!(about.info.name, "files");
    assert!(engine.sessions().is_empty());
}

#[test]
fn token_file_marks_operators() {
    let line = BearerTokens::line("olga", "secret");
    let tokens = BearerTokens::from_lines(&format!(
        "{line} operator\n{}\n",
        BearerTokens::line("alice", "other")
    ))
    .unwrap();
    assert!(tokens.is_operator(&Principal::new("olga")));
    assert!(!tokens.is_operator(&Principal::new("alice")));
    assert!(BearerTokens::from_lines(&format!("{line} operators")).is_err());
}
