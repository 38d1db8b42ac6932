//! The law of decisions over REST: what `/annotations` says about a call is what `/call` then does, or the call is refused and runs
//! nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use candor_server::hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::protocol::names::extension::IDEMPOTENCY;
use candor_server::store::{
    AuditContext, AuditRow, CallNote, Event, EventReply, Filter, Fingerprint, GrantId, LedgerLimits,
    NewGrant, Options, Page, PageOf, RecordEntry, RecordId, RecordVersion, Scope, Store, StoreError,
    StoreFuture, SweepReport, open,
};
use candor_server::tool::{JsonTool, Plan, ToolError, code};
use candor_server::{AskLevel, Server, store};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::site::{Reply, Site};

/// What can happen to a call before the server explains it, and between the explanation and the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Happening {
    Nothing,
    /// The same call without an expectation. The handler succeeds, fails, panics, or does not end.
    Call,
    Fail,
    Panic,
    Hang,
    /// A call with the same key and other arguments.
    Other,
    Approve,
    Deny,
    Grant,
    Revoke,
    /// An operator records an unknown outcome.
    Complete,
    Abandon,
    /// The state changes that the preview reads.
    Change,
    /// The ledger cannot write, does not answer, or works again.
    ReadOnly,
    Outage,
    Repair,
}

use Happening::*;

#[rustfmt::skip]
const HAPPENINGS: [Happening; 16] = [
    Nothing, Call, Fail, Panic, Hang, Other, Approve, Deny, Grant, Revoke, Complete, Abandon, Change, ReadOnly, Outage, Repair,
];

/// Whether the tool has a preview, and whether the caller has the plan that the tool requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Preview {
    None,
    Optional,
    Missing,
    Taken,
}

/// What the caller states about the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Nothing,
    Id,
    Ask,
}

/// One tool, its policy, and one call of it.
#[derive(Debug, Clone, Copy)]
struct Setup {
    /// `None`: the policy denies every call.
    ask: Option<AskLevel>,
    action: &'static str,
    has_key: bool,
    preview: Preview,
}

fn setups() -> Vec<Setup> {
    let mut all = Vec::new();
    for has_key in [false, true] {
        let mut add = |ask, action, preview| all.push(Setup { ask, action, has_key, preview });
        for ask in [AskLevel::Never, AskLevel::Destructive, AskLevel::Always].map(Some) {
            add(ask, "read", Preview::None);
            for preview in [Preview::None, Preview::Optional, Preview::Missing] {
                add(ask, "delete", preview);
            }
        }
        for ask in [AskLevel::Never, AskLevel::Destructive].map(Some) {
            add(ask, "delete", Preview::Taken);
        }
        add(None, "delete", Preview::None);
    }
    all
}

/// A ledger that fails on demand.
struct FaultyLedger {
    inner: Arc<dyn Store>,
    /// 0: it works. 1: it cannot write. 2: it does not answer.
    fault: AtomicUsize,
}

/// Forwards functions to the inner store, unless a fault of this level prevents it.
macro_rules! forward {
    ($($level:literal $name:ident($($arg:ident: $type:ty),*) -> $reply:ty;)*) => {$(
        fn $name(&self, $($arg: $type),*) -> StoreFuture<'_, $reply> {
            if self.fault.load(SeqCst) >= $level {
                let error = StoreError::Unavailable("an outage".to_owned());
                return Box::pin(std::future::ready(Err(error)));
            }
            self.inner.$name($($arg),*)
        }
    )*};
}

impl Store for FaultyLedger {
    forward! {
        1 apply(id: &RecordId, event: Event, context: AuditContext) -> EventReply;
        1 note(note: CallNote) -> ();
        1 grant(grant: NewGrant) -> store::Grant;
        1 revoke(id: GrantId, by: String) -> Option<store::Grant>;
        1 sweep(most: usize) -> SweepReport;
        2 recall(id: &RecordId, fingerprint: Fingerprint, idempotent: bool) -> Option<EventReply>;
        2 watch(id: &RecordId, seen: RecordVersion) -> ();
        2 find(id: &RecordId) -> Option<RecordEntry>;
        2 records(filter: Filter, page: Page) -> PageOf<RecordEntry>;
        2 waiting(filter: Filter, page: Page) -> PageOf<RecordEntry>;
        2 grants(filter: Filter, page: Page) -> PageOf<store::Grant>;
        2 grants_in_force(scope: &Scope) -> Vec<store::Grant>;
        2 rows(filter: Filter, page: Page) -> PageOf<AuditRow>;
        2 transitions(id: &RecordId) -> Vec<AuditRow>;
    }

    fn rules(&self) -> &LedgerLimits {
        self.inner.rules()
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}

/// What the handler and the preview see.
#[derive(Default)]
struct World {
    runs: AtomicUsize,
    /// How the handler ends, as a [`Happening`].
    end: AtomicUsize,
    state: AtomicUsize,
    begun: Notify,
}

struct Case {
    setup: Setup,
    site: Site,
    world: Arc<World>,
    ledger: Arc<FaultyLedger>,
    body: Value,
    /// The one grant of this case, even if it is revoked.
    grant: Option<String>,
    approvals: usize,
    /// The state changed after the caller took its plan.
    stale: bool,
}

impl Case {
    async fn new(setup: Setup) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "action": {"enum": ["read", "delete"]}},
            "additionalProperties": false,
        });
        let is = |value: &str| EffectRow::when("/action", Condition::equals(value));
        let rows = [is("read").then(Hints::READS), is("delete").then(Hints::DELETES)];
        let effects = rows.into_iter().fold(EffectTable::new(), EffectTable::row);
        let world = Arc::new(World::default());
        let (counted, looked) = (world.clone(), world.clone());
        let mut tool = JsonTool::new("manage", &schema, move |_, _| {
            let world = counted.clone();
            async move {
                world.runs.fetch_add(1, SeqCst);
                match world.end.load(SeqCst) {
                    end if end == Fail as usize => Err(ToolError::new("it failed")),
                    end if end == Panic as usize => std::panic::resume_unwind(Box::new("")),
                    end if end == Hang as usize => {
                        world.begun.notify_one();
                        std::future::pending().await
                    }
                    _ => Ok("done"),
                }
            }
        })
        .effects(effects);
        if setup.preview != Preview::None {
            tool = tool.preview(move |_, _| {
                let state = looked.state.load(SeqCst).to_string();
                async move { Ok::<_, ToolError>(Plan::new("Would delete it.", state)) }
            });
        }
        if matches!(setup.preview, Preview::Missing | Preview::Taken) {
            tool = tool.requires_preview();
        }
        let inner = open("memory:", Options::default()).unwrap();
        let ledger = Arc::new(FaultyLedger { inner, fault: AtomicUsize::new(0) });
        let server = Server::new("files", "1").hold(Duration::ZERO).ledger(ledger.clone());
        let server = server.tool(tool).limits(|limits| limits.join = Duration::from_millis(1));
        let server = match setup.ask {
            Some(ask) => server.ask(ask),
            None => server.deny("manage"),
        };
        let site = Site::of(server);
        let (body, grant, approvals, stale) = (Value::Null, None, 0, false);
        let mut case = Self { setup, site, world, ledger, body, grant, approvals, stale };
        case.body = case.body_of("a").await;
        case
    }

    async fn body_of(&self, path: &str) -> Value {
        let mut body = json!({"path": path, "action": self.setup.action});
        if self.setup.preview == Preview::Taken {
            let plan = self.site.post("/tools/manage/preview", body.clone()).await.ok();
            body["plan_token"] = plan["_meta"]["dev.candor/plan"]["token"].clone();
        }
        body
    }

    fn asks(&self) -> bool {
        let Setup { ask, action, .. } = self.setup;
        ask == Some(AskLevel::Always) || (ask, action) == (Some(AskLevel::Destructive), "delete")
    }

    async fn send(&self, path: &str, body: &Value, accept: &str) -> Reply {
        let ask = self.site.ask("POST", path).known().json(body).header("accept", accept);
        let ask = if self.setup.has_key { ask.header("idempotency-key", "k") } else { ask };
        ask.hand_over().await
    }

    /// Returns what the server says about the call.
    async fn explain(&self) -> Value {
        self.send("/tools/manage/annotations", &self.body, "*/*").await.ok()
    }

    /// Lets something happen. False if it cannot happen here, such as an approval without a request.
    async fn happens(&mut self, happening: Happening) -> bool {
        let store = &self.ledger.inner;
        let waiting = store.waiting(Filter::default(), Page::default()).await.unwrap().items;
        let waiting = waiting.first().map(|entry| entry.id.digest().to_string());
        match happening {
            Nothing => {}
            Call | Fail | Panic | Hang => {
                self.world.end.store(happening as usize, SeqCst);
                tokio::select! {
                    biased;
                    _ = self.send("/tools/manage/call", &self.body, "*/*") => {}
                    // The caller leaves.
                    () = self.world.begun.notified() => {}
                }
                self.world.end.store(0, SeqCst);
            }
            Other => {
                let body = self.body_of("b").await;
                self.send("/tools/manage/call", &body, "*/*").await;
            }
            Approve | Deny => {
                let Some(id) = waiting else { return false };
                return self.review(&id, happening == Approve, Value::Null).await.is_some();
            }
            Grant if !self.asks() || self.grant.is_some() => return false,
            Grant => {
                // A reviewer gives the grant with the approval of another call, so that this call has no approval.
                let body = self.body_of("c").await;
                let said = self.site.post("/tools/manage/call", body).await;
                let said = said.json();
                let Some(id) = said["operation"].as_str() else { return false };
                let grant = json!({"minutes": 10, "any": ["path"]});
                let Some(said) = self.review(id, true, grant).await else { return false };
                self.approvals -= 1;
                self.grant = said["grant"]["id"].as_str().map(str::to_owned);
            }
            Revoke => {
                let Some(id) = &self.grant else { return false };
                let path = format!("/approvals/grants/{id}");
                return self.site.ask("DELETE", &path).known().hand_over().await.status == 200;
            }
            Complete | Abandon => {
                let state = if happening == Complete { "succeeded" } else { "abandoned" };
                let said = self.site.post("/history/k/resolve", json!({"state": state})).await;
                return said.status == 200;
            }
            Change => {
                self.world.state.fetch_add(1, SeqCst);
                self.stale = self.setup.preview == Preview::Taken;
                return matches!(self.setup.preview, Preview::Taken | Preview::Optional);
            }
            ReadOnly => self.ledger.fault.store(1, SeqCst),
            Outage => self.ledger.fault.store(2, SeqCst),
            Repair => return self.ledger.fault.swap(0, SeqCst) != 0,
        }
        true
    }

    /// Reviews a request, as an operator at the console does.
    async fn review(&mut self, id: &str, approves: bool, grant: Value) -> Option<Value> {
        let request = self.site.ask("GET", &format!("/approvals/{id}")).known().hand_over().await;
        if request.status != 200 {
            return None;
        }
        let mut body = json!({"version": request.json()["version"]});
        if !grant.is_null() {
            body["grant"] = grant;
        }
        let verb = if approves { "approve" } else { "deny" };
        let said = self.site.post(&format!("/approvals/{id}/{verb}"), body).await;
        self.approvals += usize::from(approves && said.status == 200);
        (said.status == 200).then(|| said.json())
    }

    /// Makes the call. Returns what the server did, as the word of a decision, and the code of a refusal.
    async fn call(&self, said: &Value, expect: Expect, streams: bool) -> (&'static str, String) {
        let query = match (expect, &said["decisionId"]) {
            (Expect::Nothing, _) | (Expect::Id, Value::Null) => String::new(),
            (Expect::Id, id) => format!("?expect={}", id.as_str().unwrap()),
            (Expect::Ask, _) => "?expect=ask".to_owned(),
        };
        let before = self.world.runs.load(SeqCst);
        let accept = if streams { "text/event-stream" } else { "application/json" };
        let reply = self.send(&format!("/tools/manage/call{query}"), &self.body, accept).await;
        let body = match streams && reply.status == 200 {
            true => serde_json::from_str(reply.body.trim().rsplit_once("data: ").unwrap().1),
            false => serde_json::from_str(&reply.body),
        };
        let body: Value = body.unwrap_or_else(|error| panic!("{error}: {}", reply.body));
        let refused = body["code"].as_str().unwrap_or_default();
        let is_replay = body["_meta"][IDEMPOTENCY]["replayed"] == true;
        let done = match (refused, self.world.runs.load(SeqCst) - before) {
            ("", 1) if !is_replay => "run",
            ("", 0) if is_replay => "replay",
            (code::APPROVAL_REQUIRED, 0) => "ask",
            (code::IN_PROGRESS, 0) => "join",
            (code::DECISION_CHANGED, 0) => "decision_changed",
            (_, 0) if !refused.is_empty() => "refuse",
            (_, ran) => panic!("{ran} runs: {}", reply.body),
        };
        (done, refused.to_owned())
    }
}

/// Returns the code of the refusal that an explanation announces, if it tells.
fn announced(said: &Value) -> Option<&str> {
    let state = said["record"]["state"].as_str().filter(|_| said["decision"] == "refuse");
    let denied = (said["verdict"] == "deny").then_some(code::DENIED);
    let plan = (said["errors"][0]["path"] == "/plan_token").then_some(code::PREVIEW_REQUIRED);
    state.or(denied).or(plan)
}

/// Explains and calls after every history; then `between` happens in between. Returns how often each word was said and done.
async fn every_case(
    histories: &[Vec<Happening>],
    between: &[Happening],
    expects: &[Expect],
) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    for setup in setups() {
        for history in histories {
            for &between in between {
                for &expect in expects {
                    let Some(words) = one_case(setup, history, between, expect).await else { break };
                    *counts.entry(words).or_default() += 1;
                }
            }
        }
    }
    counts
}

async fn one_case(
    setup: Setup,
    history: &[Happening],
    between: Happening,
    expect: Expect,
) -> Option<(String, String)> {
    let mut case = Case::new(setup).await;
    for &happening in history {
        if !case.happens(happening).await {
            return None;
        }
    }
    let said = case.explain().await;
    if !case.happens(between).await {
        return None;
    }
    let (done, refused) = case.call(&said, expect, history.len() % 2 == 1).await;
    let next = said["decision"].as_str().unwrap();
    let is_kept = done == next;
    if !is_kept && between == Nothing && expect != Expect::Ask { println!("{next} {done} {refused} {setup:?} {history:?} {expect:?} {}", said["record"]); }
    if done == "refuse" && next == "refuse" && announced(&said) != Some(&refused) {println!("CODE {refused} {said:?} {setup:?} {history:?}"); }
    Some((format!("{expect:?} {next}"), format!("{done} {refused}")))
}

#[tokio::test]
async fn call_does_what_its_explanation_says() {
    let mut histories = vec![vec![]];
    for first in HAPPENINGS { for second in HAPPENINGS {
        if first != Nothing && second != Nothing { histories.push(vec![first, second]); histories.push(vec![Call, first, second]); }
    } }
    let counts = every_case(&histories, &[Nothing], &[Expect::Nothing, Expect::Id, Expect::Ask]).await;
    println!("{counts:#?} {}", counts.values().sum::<usize>());
}
