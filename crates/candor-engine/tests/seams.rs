//! What users plug in, in domain terms: policies, effects that another server knows, handlers that relay questions, ledgers that
//! fail.

#![allow(missing_docs)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use candor_engine::policy::{Policy, PolicyQuery, Ruling};
use candor_engine::tool::{Arguments, Effects, Invalid, Output, Prepared, Tool, ToolError, code};
use candor_engine::{
    AskError, Call, CallEnd, Caller, ClientInfo, Ctx, Engine, EngineSpec, Expectation, NextStep,
    NoPeer, Outcome, Peer, PendingQuestions, QuestionChannel, Resume, View, caller_key,
};
use candor_hints::{Hints, Verdict};
use candor_ledger::{self as store, Filter, Options, OutcomeKind, Page};
use candor_protocol::json::{Object, RawValue, raw};
use candor_protocol::types::{
    ClientCapabilities, ElicitationCapability, Implementation, InputRequest, Tool as Definition,
};
use candor_protocol::{Principal, Revision};
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// How a tool evaluates its effect.
type AskHints = Arc<dyn Fn(&Caller) -> BoxFuture<'static, Result<Hints, ToolError>> + Send + Sync>;

type Handler =
    Arc<dyn Fn(Arguments, Ctx) -> BoxFuture<'static, Result<Output, ToolError>> + Send + Sync>;

#[derive(Clone)]
struct Act {
    definition: Definition,
    effects: Effects,
    hints: AskHints,
    handler: Handler,
    runs: Arc<AtomicUsize>,
}

impl Act {
    fn new() -> Self {
        let schema = json!({"type": "object", "properties": {"id": {"type": "integer"}}});
        Self {
            definition: Definition::new("act", raw(&schema)),
            effects: Effects::Fixed(Hints::DELETES.declared()),
            hints: Arc::new(|_| Box::pin(async { Ok(Hints::READS) })),
            handler: Arc::new(|_, _| Box::pin(async { Ok(Output::text("acted")) })),
            runs: Arc::default(),
        }
    }

    /// The effect that another server knows, which says this.
    fn asked(
        mut self,
        at_most: Hints,
        hints: impl Fn(&Caller) -> BoxFuture<'static, Result<Hints, ToolError>> + Send + Sync + 'static,
    ) -> Self {
        self.effects = Effects::Asked { at_most, within: Duration::from_millis(50) };
        self.hints = Arc::new(hints);
        self
    }

    fn handler<F>(mut self, handler: impl Fn(Arguments, Ctx) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Output, ToolError>> + Send + 'static,
    {
        self.handler = Arc::new(move |arguments, ctx| Box::pin(handler(arguments, ctx)));
        self
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

impl Tool for Act {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn effects(&self) -> Effects {
        self.effects.clone()
    }

    fn prepare(&self, arguments: Arguments) -> Result<Box<dyn Prepared>, Invalid> {
        Ok(Box::new(ActCall { act: self.clone(), arguments }))
    }
}

struct ActCall {
    act: Act,
    arguments: Arguments,
}

impl Prepared for ActCall {
    fn ask_hints(&self, caller: &Caller) -> BoxFuture<'static, Result<Hints, ToolError>> {
        (self.act.hints)(caller)
    }

    fn run(self: Box<Self>, ctx: Ctx) -> BoxFuture<'static, Result<Output, ToolError>> {
        self.act.runs.fetch_add(1, Ordering::SeqCst);
        (self.act.handler)(self.arguments, ctx)
    }
}

fn spec(act: &Act) -> EngineSpec {
    let ledger = store::open("memory:", Options::default()).unwrap();
    EngineSpec::new("s").tool(act.clone()).ledger(ledger).hold(Duration::from_millis(1))
}

fn open(engine: &Engine, who: &str) -> View {
    engine.open(Caller::new(Principal::new(who)))
}

fn call() -> Call {
    Call::new("act", Arguments::from(json!({"id": 7})))
}

async fn run(view: &View, call: Call) -> Outcome {
    view.call(call, Arc::new(NoPeer::default())).await
}

/// What a caller gets: the text of a result, or the code of a refusal.
fn got(outcome: &Outcome) -> String {
    match &outcome.end {
        CallEnd::Done { result, .. } => result.content[0].as_text().unwrap_or_default().to_owned(),
        CallEnd::Refused(refusal) => refusal.code().to_owned(),
        other => format!("{other:?}"),
    }
}

struct Rule<F>(F);

impl<F> Policy for Rule<F>
where
    F: Fn(&PolicyQuery<'_>) -> Ruling + Send + Sync + 'static,
{
    fn rule<'a>(&'a self, query: &'a PolicyQuery<'a>) -> BoxFuture<'a, Ruling> {
        let ruling = (self.0)(query);
        Box::pin(async move { ruling })
    }
}

#[tokio::test]
async fn policy_sees_caller_arguments_effect_and_time() {
    let act = Act::new();
    let policy = Rule(|query: &PolicyQuery<'_>| {
        assert!(query.now > UNIX_EPOCH && query.effect.hints.is_destructive());
        assert_eq!((query.tool.name.as_str(), query.arguments), ("act", &json!({"id": 7})));
        match query.caller.principal.as_str() {
            "ada" => Ruling::allow(),
            "bob" => Ruling::ask("bobs/1"),
            _ => Ruling::deny("others/1").because("only staff"),
        }
    });
    let engine = Engine::build(spec(&act).policy(policy)).unwrap();
    for (who, next, verdict, expected) in [
        ("ada", NextStep::Run, Verdict::Allow, "acted"),
        ("bob", NextStep::Ask, Verdict::Ask, code::APPROVAL_REQUIRED),
        ("eve", NextStep::Refuse, Verdict::Deny, code::DENIED),
    ] {
        let view = open(&engine, who);
        let said = view.decide(&call()).await.unwrap();
        assert_eq!((said.next, said.verdict), (next, verdict), "{who}");
        let outcome = run(&view, call()).await;
        assert_eq!(got(&outcome), expected, "{who}");
        if let CallEnd::Refused(refusal) = &outcome.end {
            assert_eq!(refusal.words().contains("only staff"), who == "eve");
        }
    }
    assert_eq!(act.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn failed_policy_refuses_by_name_and_runs_nothing() {
    struct Fails(bool);
    impl Policy for Fails {
        fn rule<'a>(&'a self, _: &'a PolicyQuery<'a>) -> BoxFuture<'a, Ruling> {
            assert!(!self.0, "it panics before it returns a future");
            Box::pin(std::future::pending())
        }
    }
    for panics in [true, false] {
        let act = Act::new();
        let engine = Engine::build(spec(&act).policy(Fails(panics))).unwrap();
        let view = open(&engine, "ada");
        let said = view.decide(&call()).await.unwrap();
        assert_eq!(said.refusal.unwrap().code(), code::POLICY_UNAVAILABLE);
        assert_eq!(got(&run(&view, call()).await), code::POLICY_UNAVAILABLE);
        assert_eq!(act.runs(), 0);
    }
}

/// A decision that changes between the explanation and the call is not acted on, if the caller expects the one that was said.
#[tokio::test]
async fn changed_policy_changes_the_decision_id() {
    let (act, strict) = (Act::new(), Arc::new(AtomicUsize::new(0)));
    let version = strict.clone();
    let policy = Rule(move |_: &PolicyQuery<'_>| match version.load(Ordering::SeqCst) {
        0 => Ruling::allow(),
        number => Ruling::ask(format!("rule/{number}")),
    });
    let engine = Engine::build(spec(&act).policy(policy)).unwrap();
    let view = open(&engine, "ada");
    let mut ids = Vec::new();
    for number in 0..3 {
        strict.store(number, Ordering::SeqCst);
        let said = view.decide(&call()).await.unwrap();
        ids.push(said.id.unwrap());
    }
    assert!(ids[0] != ids[1] && ids[1] != ids[2], "another rule is another decision: {ids:?}");
    let expected = Call { expect: Some(Expectation::Decision(ids[0])), ..call() };
    assert_eq!(got(&run(&view, expected.clone()).await), code::DECISION_CHANGED);
    strict.store(0, Ordering::SeqCst);
    assert_eq!(got(&run(&view, expected).await), "acted");
    assert_eq!(act.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn asked_effect_is_never_riskier_than_declared_and_never_safer_by_failure() {
    type Answer = fn() -> BoxFuture<'static, Result<Hints, ToolError>>;
    let answers: [(Answer, Hints); 5] = [
        (|| Box::pin(async { Ok(Hints::READS) }), Hints::READS),
        (|| Box::pin(async { Ok(Hints::DELETES) }), Hints::ADDS),
        (|| Box::pin(async { Err(ToolError::internal("away")) }), Hints::ADDS),
        (|| Box::pin(std::future::pending()), Hints::ADDS),
        (|| Box::pin(async { panic!("no idea") }), Hints::ADDS),
    ];
    for (answer, expected) in answers {
        let act = Act::new().asked(Hints::ADDS, move |_| answer());
        let spec = spec(&act).ask(candor_hints::AskLevel::Writes);
        let view = open(&Engine::build(spec).unwrap(), "ada");
        let said = view.decide(&call()).await.unwrap();
        assert_eq!(said.effect.hints.effect(), expected.effect());
        let reads = expected.is_read_only();
        assert_eq!(said.next, if reads { NextStep::Run } else { NextStep::Ask });
        let code = if reads { "acted" } else { code::APPROVAL_REQUIRED };
        assert_eq!(got(&run(&view, call()).await), code);
    }
}

#[tokio::test]
async fn asked_effect_may_depend_on_the_caller() {
    let act = Act::new().asked(Hints::DELETES, |caller| {
        let reads = caller.principal.as_str() == "guest";
        Box::pin(async move { Ok(if reads { Hints::READS } else { Hints::DELETES }) })
    });
    let engine = Engine::build(spec(&act)).unwrap();
    for (who, reads) in [("guest", true), ("ada", false)] {
        let said = open(&engine, who).decide(&call()).await.unwrap();
        assert_eq!(said.effect.hints.is_read_only(), reads, "{who}");
    }
}

fn question(text: &str) -> InputRequest {
    let mut request = InputRequest::new("elicitation/create");
    request.params = Some(raw(&json!({"message": text, "requestedSchema": {"type": "object"}})));
    request
}

/// A tool that relays two questions, one after the other, and returns the answers.
fn relays() -> Act {
    Act::new().handler(|_, ctx| async move {
        let mut heard = Vec::new();
        for text in ["first?", "second?"] {
            let answers = ctx.relay([("up".to_owned(), question(text))].into()).await?;
            heard.push(answers["up"].get().to_owned());
        }
        Ok(Output::text(heard.join(" ")))
    })
}

fn client() -> Arc<ClientInfo> {
    let mut capabilities = ClientCapabilities::new();
    let mut elicitation = ElicitationCapability::new();
    elicitation.form = Some(Object::new());
    capabilities.elicitation = Some(elicitation);
    let info = Implementation::new("t", "1");
    Arc::new(ClientInfo::new(Revision::V2026_07_28, capabilities, &info))
}

fn asked(engine: &Engine) -> View {
    engine.open(Caller::new(Principal::new("ada")).with_client(client()))
}

fn questions(outcome: Outcome) -> PendingQuestions {
    match outcome.end {
        CallEnd::Questions(questions) => questions,
        other => panic!("{other:?}"),
    }
}

fn answering(call: Call, questions: &PendingQuestions, answer: &str) -> Call {
    let answers = questions.requests.keys().fold(Object::new(), |all, key| all.with(key, answer));
    let state = Some(questions.state.clone());
    Call { resume: Resume { answers: Some(answers), state }, ..call }
}

#[tokio::test]
async fn relayed_questions_resume_the_handler_where_it_is() {
    for key in [None, Some(caller_key("k").unwrap())] {
        let act = relays();
        let engine = Engine::build(spec(&act)).unwrap();
        let call = Call { key: key.clone(), ..call() };
        let first = questions(run(&asked(&engine), call.clone()).await);
        assert!(first.requests["up"].params.as_ref().unwrap().get().contains("first?"));
        let again = answering(call.clone(), &first, "one");
        let second = questions(run(&asked(&engine), again).await);
        assert!(second.requests["up"].params.as_ref().unwrap().get().contains("second?"));
        let last = answering(call.clone(), &second, "two");
        let outcome = run(&asked(&engine), last).await;
        assert_eq!(got(&outcome), r#""one" "two""#, "{key:?}");
        assert_eq!(act.runs(), 1, "the handler is not run again");
        if key.is_none() {
            let called = ("called".to_owned(), Some(OutcomeKind::Success));
            assert_eq!(events(&engine).await, [called], "one row for all requests of the call");
        }
        // The state is for one use, and for one call.
        let stale = answering(call, &second, "two");
        let outcome = run(&asked(&engine), stale).await;
        let replayed = matches!(outcome.end, CallEnd::Replayed { .. });
        let is_over = got(&outcome) == code::OUTCOME_UNKNOWN || replayed;
        assert!(is_over && act.runs() == 1, "{outcome:?}");
    }
}

#[tokio::test]
async fn answers_for_a_handler_that_is_gone_are_an_unknown_outcome() {
    let act = relays();
    let secret = candor_engine::Secret::random();
    let one = Engine::build(spec(&act).secret(secret.clone())).unwrap();
    let pending = questions(run(&asked(&one), call()).await);
    // Another process of the same server.
    let other = Engine::build(spec(&act).secret(secret)).unwrap();
    let outcome = run(&asked(&other), answering(call(), &pending, "one")).await;
    assert_eq!(got(&outcome), code::OUTCOME_UNKNOWN);
    assert_eq!(act.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn parked_handler_is_dropped_when_no_answer_comes() {
    struct Held(Arc<AtomicUsize>);
    impl Drop for Held {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let counted = dropped.clone();
    let act = Act::new().handler(move |_, ctx| {
        let held = Held(counted.clone());
        async move {
            let answers = ctx.relay([("up".to_owned(), question("well?"))].into()).await;
            drop(held);
            answers.map(|_| Output::text("answered")).map_err(ToolError::from)
        }
    });
    let engine = Engine::build(spec(&act).limits(|limits| limits.parked_calls = 1)).unwrap();
    let pending = questions(run(&asked(&engine), call()).await);
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    let busy = run(&asked(&engine), call()).await;
    assert!(got(&busy).contains("too many calls wait"), "{busy:?}");
    tokio::time::sleep(engine.limits().round + Duration::from_secs(1)).await;
    assert_eq!(dropped.load(Ordering::SeqCst), 2, "the parked one and the refused one");
    let late = run(&asked(&engine), answering(call(), &pending, "late")).await;
    assert_ne!(got(&late), "answered");
    let refused = ("called".to_owned(), Some(OutcomeKind::Failure));
    assert_eq!(events(&engine).await, [("left".to_owned(), None), refused]);
}

/// Returns the events and outcomes of the audit rows, newest first.
async fn events(engine: &Engine) -> Vec<(String, Option<OutcomeKind>)> {
    let rows = engine.store().unwrap().rows(Filter::default(), Page::default()).await.unwrap();
    rows.items.into_iter().map(|row| (row.event, row.outcome)).collect()
}

/// A client that answers while the handler waits.
struct Immediate {
    gone: CancellationToken,
    asked: Mutex<Vec<String>>,
}

impl Peer for Immediate {
    fn channel(&self) -> QuestionChannel {
        QuestionChannel::Immediate
    }

    fn ask<'a>(
        &'a self,
        question: &'a InputRequest,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Box<RawValue>, AskError>> {
        let asked = question.params.as_ref().map(|params| params.get().to_owned());
        self.asked.lock().unwrap().extend(asked);
        Box::pin(async { Ok(raw("here")) })
    }

    fn gone(&self) -> &CancellationToken {
        &self.gone
    }
}

#[tokio::test]
async fn relayed_questions_reach_an_immediate_client() {
    let act = relays();
    let engine = Engine::build(spec(&act)).unwrap();
    let peer = Arc::new(Immediate { gone: CancellationToken::new(), asked: Mutex::default() });
    let outcome = asked(&engine).call(call(), peer.clone()).await;
    assert_eq!(got(&outcome), r#""here" "here""#);
    assert_eq!(peer.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn relay_needs_a_client_that_can_answer() {
    let act = relays();
    let view = open(&Engine::build(spec(&act)).unwrap(), "ada");
    let outcome = run(&view, call()).await;
    assert!(matches!(outcome.end, CallEnd::Unanswerable(_)), "{outcome:?}");
}
