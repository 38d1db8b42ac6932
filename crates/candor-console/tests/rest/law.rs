//! The law of decisions over REST: what `/annotations` says about a call is what `/call` then does, or the call is refused and runs
//! nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use candor_server::hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::protocol::names::extension::IDEMPOTENCY;
use candor_server::store::{
    AuditContext, AuditRow, CallNote, Event, EventReply, Filter, Fingerprint, GrantId,
    LedgerLimits, NewGrant, Options, Page, PageOf, RecordEntry, RecordId, RecordVersion, Scope,
    Store, StoreError, StoreFuture, SweepReport,
};
use candor_server::tool::{JsonTool, Plan, ToolError, code};
use candor_server::{AskLevel, Server, store};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::site::{Reply, Site};

/// The path of the tool.
const TOOL: &str = "/tools/manage";

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

impl Setup {
    /// Returns false if this can never happen to the call.
    fn may_meet(self, happening: Happening) -> bool {
        match happening {
            Approve | Deny | Grant | Revoke => self.asks(),
            Complete | Abandon => self.has_key,
            Change => matches!(self.preview, Preview::Optional | Preview::Taken),
            _ => true,
        }
    }

    /// Returns true if the policy asks about the call.
    fn asks(self) -> bool {
        let Self { ask, action, .. } = self;
        ask == Some(AskLevel::Always) || (ask, action) == (Some(AskLevel::Destructive), "delete")
    }
}

fn setups() -> Vec<Setup> {
    let (never, destructive) = (Some(AskLevel::Never), Some(AskLevel::Destructive));
    let mut all = Vec::new();
    for has_key in [false, true] {
        let mut add = |ask, action, preview| all.push(Setup { ask, action, has_key, preview });
        for (ask, action) in [
            (never, "read"),
            (never, "delete"),
            (destructive, "read"),
            (destructive, "delete"),
            (Some(AskLevel::Always), "read"),
            (None, "delete"),
        ] {
            add(ask, action, Preview::None);
        }
        for preview in [Preview::Optional, Preview::Missing, Preview::Taken] {
            add(destructive, "delete", preview);
        }
        add(never, "delete", Preview::Taken);
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
    site: Arc<Site>,
    world: Arc<World>,
    ledger: Arc<FaultyLedger>,
    body: Value,
    /// The one grant of this case, even if it is revoked.
    grant: Option<String>,
    /// The number of approvals, without that of the call that the grant was given with.
    approvals: usize,
    /// The state changed after the caller took its plan.
    stale: bool,
}

impl Case {
    async fn new(setup: Setup) -> Self {
        let action = json!({"enum": ["read", "delete"]});
        let properties = json!({"path": {"type": "string"}, "action": action});
        let schema =
            json!({"type": "object", "properties": properties, "additionalProperties": false});
        let is = |value: &str| EffectRow::when("/action", Condition::equals(value));
        let rows = [is("read").then(Hints::READS), is("delete").then(Hints::DELETES)];
        let world = Arc::new(World::default());
        let (counted, looked) = (world.clone(), world.clone());
        let handler = move |_, _| {
            let world = counted.clone();
            async move {
                world.runs.fetch_add(1, SeqCst);
                match world.end.load(SeqCst) {
                    end if end == Fail as usize => Err(ToolError::new("it failed")),
                    // Without the message of a panic.
                    end if end == Panic as usize => std::panic::resume_unwind(Box::new("")),
                    end if end == Hang as usize => {
                        world.begun.notify_one();
                        std::future::pending().await
                    }
                    _ => Ok("done"),
                }
            }
        };
        let mut tool = JsonTool::new("manage", &schema, handler)
            .effects(rows.into_iter().fold(EffectTable::new(), EffectTable::row));
        if setup.preview != Preview::None {
            tool = tool.preview(move |_, _| {
                let state = looked.state.load(SeqCst).to_string();
                async move { Ok::<_, ToolError>(Plan::new("Would delete it.", state)) }
            });
        }
        if matches!(setup.preview, Preview::Missing | Preview::Taken) {
            tool = tool.requires_preview();
        }
        let inner = store::open("memory:", Options::default()).unwrap();
        let ledger = Arc::new(FaultyLedger { inner, fault: AtomicUsize::new(0) });
        let server = Server::new("files", "1").hold(Duration::ZERO).ledger(ledger.clone());
        let server = server.tool(tool).limits(|limits| limits.join = Duration::from_millis(1));
        let server = match setup.ask {
            Some(ask) => server.ask(ask),
            None => server.deny("manage"),
        };
        let site = Arc::new(Site::of(server));
        let (body, grant, approvals, stale) = (Value::Null, None, 0, false);
        let mut case = Self { setup, site, world, ledger, body, grant, approvals, stale };
        case.body = case.body_of("a").await;
        case
    }

    /// Returns what the server says about the call.
    async fn explain(&self) -> Value {
        self.send("annotations", &self.body, "*/*").await.ok()
    }

    async fn body_of(&self, path: &str) -> Value {
        let mut body = json!({"path": path, "action": self.setup.action});
        if self.setup.preview == Preview::Taken {
            let plan = self.site.post(&format!("{TOOL}/preview"), body.clone()).await.ok();
            body["plan_token"] = plan["_meta"]["dev.candor/plan"]["token"].clone();
        }
        body
    }

    /// Sends a request about a call with this body, and with the key of the case.
    fn send(
        &self,
        path: &str,
        body: &Value,
        accept: &'static str,
    ) -> impl Future<Output = Reply> + use<> {
        let (site, path, body) = (self.site.clone(), format!("{TOOL}/{path}"), body.clone());
        let key = self.setup.has_key.then_some(("idempotency-key", "k"));
        async move {
            let ask = site.ask("POST", &path).known().json(&body).header("accept", accept);
            key.into_iter().fold(ask, |ask, (name, key)| ask.header(name, key)).hand_over().await
        }
    }

    /// Lets something happen. False if it cannot happen here, such as an approval without a request.
    async fn happens(&mut self, happening: Happening) -> bool {
        match happening {
            Nothing => {}
            Call | Fail | Panic | Hang => {
                self.world.end.store(happening as usize, SeqCst);
                let mut call = tokio::spawn(self.send("call", &self.body, "*/*"));
                tokio::select! {
                    _ = &mut call => {}
                    () = self.world.begun.notified() => {}
                }
                self.world.end.store(0, SeqCst);
            }
            Other => {
                let body = self.body_of("b").await;
                self.send("call", &body, "*/*").await;
            }
            Approve | Deny => {
                let request = self.site.ask("GET", "/approvals").known().hand_over().await;
                let Some(id) = request.json()[0]["id"].as_str().map(str::to_owned) else {
                    return false;
                };
                return self.review(&id, happening == Approve, None).await.is_some();
            }
            // The grant is given with the approval of another call, so that this call has no approval.
            Grant => {
                let body = self.body_of("c").await;
                if self.grant.is_some() {
                    return false;
                }
                let asked = self.site.post(&format!("{TOOL}/call"), body).await.json();
                let Some(id) = asked["operation"].as_str() else { return false };
                let grant = json!({"minutes": 10, "any": ["path"]});
                let Some(said) = self.review(id, true, Some(grant)).await else { return false };
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
            }
            ReadOnly => self.ledger.fault.store(1, SeqCst),
            Outage => self.ledger.fault.store(2, SeqCst),
            Repair => return self.ledger.fault.swap(0, SeqCst) != 0,
        }
        true
    }

    /// Answers a request, as an operator does.
    async fn review(&mut self, id: &str, approves: bool, grant: Option<Value>) -> Option<Value> {
        let request = self.site.ask("GET", &format!("/approvals/{id}")).known().hand_over().await;
        let body = json!({"version": request.json()["version"], "grant": grant});
        let body = if approves { body } else { json!({"version": body["version"]}) };
        let verb = if approves { "approve" } else { "deny" };
        let said = self.site.post(&format!("/approvals/{id}/{verb}"), body).await;
        self.approvals += usize::from(approves && said.status == 200);
        (said.status == 200).then(|| said.json())
    }

    /// Makes the call. Returns what the server did, as the word of a decision, and the code of a refusal.
    async fn call(&self, said: &Value, expect: Expect, streams: bool) -> (&'static str, String) {
        let path = match (expect, said["decisionId"].as_str()) {
            (Expect::Nothing, _) => "call".to_owned(),
            (Expect::Id, id) => format!("call?expect={}", id.expect("a decision")),
            (Expect::Ask, _) => "call?expect=ask".to_owned(),
        };
        let before = self.world.runs.load(SeqCst);
        let accept = if streams { "text/event-stream" } else { "application/json" };
        let reply = self.send(&path, &self.body, accept).await;
        // A stream of events ends with the result or the problem.
        let text = reply.body.trim().rsplit_once("data: ").map_or(&*reply.body, |(_, text)| text);
        let body: Value = serde_json::from_str(text).unwrap();
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

/// Returns the code of the refusal that an explanation announces.
fn announced(said: &Value) -> Option<&str> {
    let state = said["record"]["state"].as_str();
    let denied = (said["verdict"] == "deny").then_some(code::DENIED);
    let plan = (said["errors"][0]["path"] == "/plan_token").then_some(code::PREVIEW_REQUIRED);
    state.or(denied).or(plan)
}

/// Returns true if the server may do this after what it said.
fn is_kept(said: &Value, between: Happening, expect: Expect, done: &str) -> bool {
    let (next, state) = (said["decision"].as_str().unwrap(), said["record"]["state"].as_str());
    match (expect, next, done) {
        // Nothing new runs.
        (_, _, "replay" | "join" | "refuse" | "decision_changed") | (Expect::Ask, _, "ask")
            if between != Nothing =>
        {
            true
        }
        // A reviewer approved the call, as the explanation announced.
        (_, "ask", "run") => between == Approve,
        (Expect::Ask, _, "run") => between == Approve || state == Some("approved"),
        (Expect::Ask, "run", "decision_changed") => state != Some("approved"),
        // A grant covers the call, but a reviewer still has its request.
        (Expect::Ask, "run", "ask") => state == Some("approval_required"),
        _ => next == done,
    }
}

/// Returns a name for what the server does today although it said that it runs the call or asks, and nothing happened in between. It
/// runs nothing.
///
/// `/annotations` neither runs the preview nor writes to the ledger, so it does not know what these would report.
fn unforeseen(
    case: &Case,
    said: &Value,
    expect: Expect,
    done: (&str, &str),
) -> Option<&'static str> {
    let is_writable = case.ledger.fault.load(SeqCst) == 0;
    let other = if expect == Expect::Id { "decision_changed" } else { "ask" };
    match (said["decision"].as_str()?, done) {
        ("run" | "ask", (_, code::PLAN_STALE)) if case.stale => Some("stale plan"),
        ("run" | "ask", (_, code::LEDGER_UNAVAILABLE)) if !is_writable => Some("ledger write"),
        // The reviewer approved the call for another state than the present one.
        ("run", (done, _)) if case.setup.preview == Preview::Optional && done == other => {
            Some("approval of another state")
        }
        _ => None,
    }
}

/// Explains and makes the call after each history. Returns how many cases there were, and everything that was done or unforeseen.
async fn every_case(
    setups: &[Setup],
    histories: &[&[Happening]],
    between: &[Happening],
    expects: &[Expect],
) -> (usize, BTreeSet<&'static str>) {
    let (mut count, mut all) = (0, BTreeSet::new());
    for (&setup, &history) in setups.iter().flat_map(|s| histories.iter().map(move |h| (s, h))) {
        for (&between, &expect) in between.iter().flat_map(|b| expects.iter().map(move |e| (b, e)))
        {
            if !history.iter().chain([&between]).all(|&happening| setup.may_meet(happening)) {
                continue;
            }
            let mut case = Case::new(setup).await;
            let mut happened = true;
            for &happening in history {
                happened = happened && case.happens(happening).await;
            }
            if !happened {
                break;
            }
            let said = case.explain().await;
            if !case.happens(between).await {
                continue;
            }
            count += 1;
            let (done, refused) = case.call(&said, expect, count % 2 == 0).await;
            let about = format!(
                "{setup:?}, {history:?}, then {between:?}, expects {expect:?}: {done} {refused}: {said:#}"
            );
            let unforeseen = unforeseen(&case, &said, expect, (done, &refused));
            let unforeseen = unforeseen.filter(|_| between == Nothing);
            assert!(unforeseen.is_some() || is_kept(&said, between, expect, done), "{about}");
            if (said["decision"].as_str(), done, between) == (Some("refuse"), "refuse", Nothing) {
                assert_eq!(announced(&said), Some(&*refused), "{about}");
            }
            let runs = case.world.runs.load(SeqCst);
            let is_reviewed = setup.asks() && case.grant.is_none();
            assert!(!is_reviewed || runs <= case.approvals, "{runs} runs: {about}");
            assert!(setup.ask.is_some() || runs == 0, "{runs} runs: {about}");
            assert!(!setup.has_key || setup.action == "read" || runs <= 1, "{runs} runs: {about}");
            all.extend(unforeseen.or(Some(done)));
        }
    }
    (count, all)
}

#[tokio::test]
async fn call_does_what_its_explanation_says() {
    #[rustfmt::skip]
    let histories: [&[Happening]; 24] = [
        &[], &[Call], &[Fail], &[Panic], &[Hang], &[Other], &[Grant], &[ReadOnly], &[Outage],
        &[Call, Approve], &[Call, Deny], &[Call, Grant], &[Call, Change], &[Call, Outage],
        &[Grant, Revoke], &[Panic, Complete], &[Panic, Abandon], &[Outage, Repair],
        &[Call, Approve, Call], &[Call, Approve, Change], &[Call, Approve, Hang],
        &[Call, Approve, Panic], &[Call, Approve, ReadOnly], &[Call, Deny, Grant],
    ];
    let expects = [Expect::Nothing, Expect::Id, Expect::Ask];
    let (count, all) = every_case(&setups(), &histories, &[Nothing], &expects).await;
    let unforeseen = ["approval of another state", "ledger write", "stale plan"];
    let done = ["ask", "decision_changed", "join", "refuse", "replay", "run"];
    assert_eq!(all, unforeseen.into_iter().chain(done).collect());
    assert!(count > 800, "{count} cases");
}

#[tokio::test]
async fn call_after_an_event_runs_nothing_unannounced() {
    #[rustfmt::skip]
    let histories: [&[Happening]; 9] = [
        &[], &[Call], &[Panic], &[Hang], &[Grant], &[Outage],
        &[Call, Approve], &[Call, Deny], &[Call, Grant],
    ];
    let mut setups = setups();
    setups.retain(|setup| setup.preview != Preview::Missing);
    let events = &HAPPENINGS[1..];
    let (count, all) = every_case(&setups, &histories, events, &[Expect::Id]).await;
    let done = ["ask", "decision_changed", "join", "refuse", "replay", "run"];
    assert_eq!(all, BTreeSet::from(done));
    setups.retain(|setup| setup.asks() && setup.preview == Preview::None);
    let (more, all) = every_case(&setups, &histories, events, &[Expect::Ask]).await;
    assert_eq!(all, BTreeSet::from(done));
    assert!(count > 800 && more > 200, "{count} and {more} cases");
}

/// A key in the query is the same key for `/annotations` and for `/call`. Two different keys are refused.
#[tokio::test]
async fn key_in_the_query_counts_for_the_decision_and_the_call() {
    let (ask, preview) = (Some(AskLevel::Never), Preview::None);
    let case = Case::new(Setup { ask, action: "delete", has_key: true, preview }).await;
    case.send("call", &case.body, "*/*").await.ok();
    let post = |path: &str| case.site.ask("POST", &format!("{TOOL}/{path}?key=k")).known();
    let said = post("annotations").json(&case.body).hand_over().await.ok();
    assert_eq!(said["decision"], "replay");
    post("call").json(&case.body).hand_over().await.ok();
    assert_eq!(case.world.runs.load(SeqCst), 1);
    let two = case.site.ask("POST", &format!("{TOOL}/call?key=other")).known();
    let two = two.header("idempotency-key", "k").json(&case.body).hand_over().await;
    assert_eq!(two.status, 400);
}
