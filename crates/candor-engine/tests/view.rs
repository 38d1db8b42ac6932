//! What one request of a caller sees and can do, in domain terms: no protocol, no transport.

#![allow(missing_docs)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use candor_engine::tool::{Arguments, JsonTool, ToolError};
use candor_engine::{
    Call, CallEnd, Caller, Ctx, Decision, Engine, EngineSpec, NextStep, NoPeer, Outcome, Peer,
    Progress, RecordStatus, Refusal, View, caller_key,
};
use candor_hints::{AskLevel, Condition, EffectRow, EffectTable, HintSource, Hints, Verdict};
use candor_ledger::{
    self as store, ApprovalChannel, AuditContext, Event, Filter, NewGrant, Options, Page, Review,
};
use candor_operator::ArgumentPattern;
use candor_protocol::Principal;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

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
    let spec = EngineSpec::new("files").tool(tool).ledger(ledger).ask(ask);
    (Engine::build(spec.hold(Duration::from_millis(1))).unwrap(), runs)
}

fn open(engine: &Engine) -> View {
    engine.open(Caller::new(Principal::new("alice")))
}

fn of(arguments: &Value) -> Call {
    Call::new("manage", Arguments::from(arguments.clone()))
}

fn keyed(arguments: &Value, key: &str) -> Call {
    Call { key: Some(caller_key(key).unwrap()), ..of(arguments) }
}

async fn decide(view: &View, arguments: Value) -> Decision {
    view.decide(&of(&arguments)).await.unwrap()
}

async fn run(view: &View, call: Call) -> Outcome {
    view.call(call, Arc::new(NoPeer::default())).await
}

/// A peer that stores the progress it hears of.
#[derive(Default)]
struct Hears {
    messages: Mutex<Vec<String>>,
    gone: CancellationToken,
}

impl Peer for Hears {
    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, progress: Progress) -> BoxFuture<'_, ()> {
        self.messages.lock().unwrap().extend(progress.message);
        Box::pin(std::future::ready(()))
    }

    fn gone(&self) -> &CancellationToken {
        &self.gone
    }
}

#[tokio::test]
async fn peer_receives_progress_before_the_outcome() {
    let (engine, _) = files(AskLevel::Never);
    let peer = Arc::new(Hears::default());
    let call = of(&json!({"path": "a", "action": "read"}));
    let outcome = open(&engine).call(call, peer.clone()).await;
    let CallEnd::Done { result, note: None, .. } = outcome.end else { panic!("{outcome:?}") };
    assert_eq!(result.content[0].as_text(), Some(r#""read" "a" 1"#));
    assert_eq!(*peer.messages.lock().unwrap(), ["half"]);
}

#[tokio::test]
async fn decision_depends_on_the_arguments_and_runs_nothing() {
    let (engine, runs) = files(AskLevel::Destructive);
    let alice = open(&engine);
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
    let unknown = alice.decide(&Call::new("nothing", Arguments::default())).await;
    assert!(matches!(unknown, Err(Refusal::UnknownTool(_))));
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    assert!(engine.recent_calls().is_empty());
}

#[tokio::test]
async fn decision_includes_the_record_of_the_call() {
    let (engine, _) = files(AskLevel::Destructive);
    let alice = open(&engine);
    let explain = async |view: &View, call: Call| view.decide(&call).await.unwrap().record;
    let (read, other) =
        (json!({"path": "a", "action": "read"}), json!({"path": "b", "action": "read"}));
    assert_eq!(explain(&alice, keyed(&read, "k")).await, None);
    run(&alice, keyed(&read, "k")).await;
    let known = explain(&alice, keyed(&read, "k")).await;
    assert!(matches!(known, Some(RecordStatus::Replay { .. })), "{known:?}");
    assert_eq!(explain(&alice, keyed(&other, "k")).await, Some(RecordStatus::Reused));
    let bob = engine.open(Caller::new(Principal::new("bob")));
    let of_bob = explain(&bob, keyed(&read, "k")).await;
    assert_eq!(of_bob, None, "the record of another caller is not shown");

    let delete = json!({"path": "a", "action": "delete"});
    run(&alice, of(&delete)).await;
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
    run(&alice, of(&delete)).await;
    assert_eq!(decide(&alice, delete).await.record, None, "the next one is another call");
}

#[tokio::test]
async fn call_under_a_grant_is_decided_as_allowed() {
    let (engine, runs) = files(AskLevel::Destructive);
    let (alice, store) = (open(&engine), engine.store().unwrap());
    let delete = json!({"path": "a", "action": "delete"});
    run(&alice, of(&delete)).await;
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
        run(&alice, of(arguments)).await;
    }
    assert_eq!(runs.load(Ordering::SeqCst), 2, "both calls ran");
    store.revoke(grant.id, "olga".to_owned()).await.unwrap();
    assert_eq!(decide(&alice, other).await.verdict, Verdict::Ask);
}

#[tokio::test]
async fn tool_view_has_the_effects_and_the_verdict() {
    let (engine, _) = files(AskLevel::Destructive);
    let view = open(&engine);
    assert_eq!(view.published_tools(engine.listing()).await.unwrap().len(), 1);
    let listed = view.tool("manage").await.unwrap();
    assert!(listed.dynamic && listed.worst.hints.is_destructive());
    assert_eq!(listed.verdict, Verdict::Ask);
    assert_eq!(listed.effects.len(), 2, "{:?}", listed.effects);
    assert!(view.tool("nothing").await.is_err());
}
