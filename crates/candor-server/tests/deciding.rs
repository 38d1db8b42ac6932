//! The law of decisions, over real sockets in both eras: what the server says about a call is what it then does, or it refuses the
//! call with `decision_changed` and runs nothing.

#![allow(missing_docs)]

#[allow(unused_imports)]
mod common;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use candor_operator::ArgumentPattern;
use candor_server::hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::protocol::names::extension::{APPROVAL, IDEMPOTENCY};
use candor_server::protocol::names::meta;
use candor_server::store::{
    ApprovalChannel, AuditContext, Event, Filter, GrantId, MemoryStore, NewGrant, Options, Page,
    Review,
};
use candor_server::tool::{JsonTool, ToolError, code};
use candor_server::{Arguments, AskLevel, Ctx, Server};
use common::{Session, Site, modern};
use serde_json::{Value, json};

/// What happened to a call before it is explained, and what happens between the explanation and the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Happening {
    Nothing,
    /// The same call, without an expectation.
    Call,
    Approve,
    Deny,
    Grant,
    Revoke,
}

const HAPPENINGS: [Happening; 6] = [
    Happening::Nothing,
    Happening::Call,
    Happening::Approve,
    Happening::Deny,
    Happening::Grant,
    Happening::Revoke,
];

/// One server, one call of it, and its caller.
struct Case {
    site: Site,
    runs: Arc<AtomicUsize>,
    is_modern: bool,
    has_key: bool,
    arguments: Value,
    grants: Vec<GrantId>,
}

impl Case {
    fn new(ask: AskLevel, is_modern: bool, has_key: bool, action: &str) -> Self {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = runs.clone();
        let handler = move |_: Arguments, _: Ctx| {
            let run = counted.fetch_add(1, Ordering::SeqCst) + 1;
            async move { Ok::<_, ToolError>(json!({"run": run})) }
        };
        let schema =
            json!({"type": "object", "properties": {"action": {"enum": ["read", "delete"]}}});
        let is = |value: &str| EffectRow::when("/action", Condition::equals(value));
        let table = EffectTable::new()
            .row(is("read").then(Hints::READS))
            .row(is("delete").then(Hints::DELETES));
        let server = Server::new("files", "1")
            .ask(ask)
            .hold(Duration::ZERO)
            .ledger(Arc::new(MemoryStore::new(Options::default())))
            .tool(JsonTool::new("manage", &schema, handler).effects(table));
        let (site, arguments) = (Site::guarded(server), json!({"action": action}));
        Self { site, runs, is_modern, has_key, arguments, grants: Vec::new() }
    }

    async fn request(&self, method: &str, expected: Option<&str>) -> Value {
        let mut params = json!({"name": "manage", "arguments": self.arguments, "_meta": {}});
        if self.has_key {
            params["_meta"][meta::IDEMPOTENCY_KEY] = "k".into();
        }
        if let Some(expected) = expected {
            params["_meta"][APPROVAL] = json!({"expect": expected});
        }
        let mut response = match self.is_modern {
            true => self.site.send(modern(method, &params).by("alice")).await.json().await,
            false => {
                let session = Session::by(&self.site, "alice").await;
                session.request(method, &params).await.json().await
            }
        };
        assert!(response["result"].is_object(), "{response:#}");
        response["result"].take()
    }

    /// Returns what the server says about the call: the next step, and the id of the decision.
    async fn explain(&self) -> (String, String) {
        let explained = self.request("tools/annotations", None).await;
        let decision = &explained["_meta"][APPROVAL]["decision"];
        let text = |name: &str| decision[name].as_str().expect("a decision").to_owned();
        (text("next"), text("id"))
    }

    /// Lets something happen. False if it cannot happen here, such as an approval without a request.
    async fn happens(&mut self, happening: Happening) -> bool {
        let store = self.site.engine.store().unwrap();
        let waiting = store.waiting(Filter::default(), Page::default()).await.unwrap().items;
        match happening {
            Happening::Nothing => true,
            Happening::Call => {
                self.request("tools/call", None).await;
                true
            }
            Happening::Approve | Happening::Deny => {
                let [entry] = &waiting[..] else { return false };
                let decision = match happening {
                    Happening::Approve => Review::Approve,
                    _ => Review::Deny { reason: None },
                };
                let question = entry.stored.question().unwrap();
                let (by, via) = ("olga".to_owned(), ApprovalChannel::Operator);
                let event = Event::Decide { question, by, via, decision };
                store.apply(&entry.id, event, AuditContext::default()).await.unwrap();
                true
            }
            Happening::Grant => {
                let [entry] = &waiting[..] else { return false };
                let grant = NewGrant {
                    scope: entry.id.scope.clone(),
                    binding: entry.stored.question().unwrap().binding,
                    pattern: ArgumentPattern::like(&self.arguments, &[], &[]).unwrap().to_string(),
                    by: "olga".to_owned(),
                    lasts: Duration::from_secs(60),
                };
                let grant = store.grant(grant).await.unwrap();
                self.grants.push(grant.id);
                true
            }
            Happening::Revoke => {
                let Some(grant) = self.grants.pop() else { return false };
                store.revoke(grant, "olga".to_owned()).await.unwrap();
                true
            }
        }
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

fn refusal(result: &Value) -> &str {
    result["_meta"]["dev.candor/error"]["code"].as_str().unwrap_or_default()
}

/// Returns what the server did, as the word of a decision.
fn done(result: &Value, ran: usize) -> &'static str {
    match (refusal(result), ran) {
        ("", 1) => "run",
        ("", 0) if result["_meta"][IDEMPOTENCY]["replayed"] == true => "replay",
        (code::APPROVAL_REQUIRED, 0) => "ask",
        (code::DECISION_CHANGED, 0) => "decision_changed",
        (_, 0) if result["isError"] == true => "refuse",
        _ => panic!("{ran} runs: {result:#}"),
    }
}

/// Explains and calls in every situation; each of `between` happens in between. Returns what was done, once each.
async fn every_case(
    is_modern: bool,
    between: &[Happening],
    check: impl Fn(&str, &str, Happening, &str),
) -> BTreeSet<&'static str> {
    let mut all = BTreeSet::new();
    for ask in [AskLevel::Never, AskLevel::Destructive, AskLevel::Always] {
        for (action, has_key) in
            [("read", false), ("read", true), ("delete", false), ("delete", true)]
        {
            // Two events lead to every state that one call and its review can be in.
            for first in HAPPENINGS {
                for second in HAPPENINGS {
                    for &happening in between {
                        let mut case = Case::new(ask, is_modern, has_key, action);
                        if !case.happens(first).await || !case.happens(second).await {
                            continue;
                        }
                        let (next, id) = case.explain().await;
                        if !case.happens(happening).await {
                            continue;
                        }
                        let before = case.runs();
                        let result = case.request("tools/call", Some(&id)).await;
                        let done = done(&result, case.runs() - before);
                        let about = format!(
                            "{ask:?} {action} key: {has_key}, {first:?}, {second:?}: {id}: {result:#}"
                        );
                        check(&next, done, happening, &about);
                        all.insert(done);
                    }
                }
            }
        }
    }
    all
}

#[tokio::test]
async fn call_follows_its_explained_decision() {
    for is_modern in [true, false] {
        let all = every_case(is_modern, &[Happening::Nothing], |next, done, _, about| {
            assert_eq!(done, next, "{about}");
        });
        assert_eq!(all.await, BTreeSet::from(["ask", "refuse", "replay", "run"]));
    }
}

#[tokio::test]
async fn changed_decision_runs_nothing_unannounced() {
    for is_modern in [true, false] {
        let all = every_case(is_modern, &HAPPENINGS[1..], |next, done, happening, about| {
            let is_kept = match (next, done) {
                // Nothing new runs.
                (_, "replay" | "refuse" | "decision_changed") => true,
                // A reviewer approved the call, as the explanation announced.
                ("ask", "run") => happening == Happening::Approve,
                (next, done) => next == done,
            };
            assert!(is_kept, "explained {next}, then {happening:?}, then {done}: {about}");
        });
        let expected = ["ask", "decision_changed", "refuse", "replay", "run"];
        assert_eq!(all.await, BTreeSet::from(expected));
    }
}

#[tokio::test]
async fn expected_id_of_another_decision_is_refused() {
    for is_modern in [true, false] {
        let case = Case::new(AskLevel::Never, is_modern, false, "delete");
        let (_, id) = case.explain().await;
        let other = id.chars().rev().collect::<String>();
        let result = case.request("tools/call", Some(&other)).await;
        assert_eq!(refusal(&result), code::DECISION_CHANGED, "{result:#}");
        let error = &result["_meta"]["dev.candor/error"];
        assert_eq!((&error["expected"], &error["decision"]), (&json!(other), &json!("run")));
        assert_eq!(case.runs(), 0);
        let reads = Case::new(AskLevel::Never, is_modern, false, "read");
        let result = reads.request("tools/call", Some(&id)).await;
        assert_eq!(refusal(&result), code::DECISION_CHANGED, "the id is for other arguments");
    }
}
