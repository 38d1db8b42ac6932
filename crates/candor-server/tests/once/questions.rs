//! Calls with a key that ask: suspended between rounds, resumed once, and their effect comes once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use candor_server::protocol::Revision;
use candor_server::store::{LedgerLimits, StateKind};
use candor_server::testing::TestClient;
use candor_server::tool::{JsonTool, ToolError, code};
use candor_server::{Ctx, Elicit, ElicitAnswer, Sample, Server};
use serde_json::{Value, json};

use crate::bench::{KEY, Work, bare, comes_to, id, mark, memory, remembering, server};
use crate::common::{CAPABILITIES_KEY, Call, Events, Session, Site, modern};

/// Asks whether it may, so many times, and then pays. `Work` counts what is paid, the other how often the handler ran.
fn paying(work: &Work, questions: usize) -> (JsonTool, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let (work, counted) = (work.clone(), runs.clone());
    let form =
        json!({"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]});
    let tool = JsonTool::open("pay", move |_, ctx: Ctx| {
        counted.fetch_add(1, Ordering::SeqCst);
        let (work, form) = (work.clone(), form.clone());
        async move {
            for number in 1..=questions {
                let question = Elicit::form(format!("Really? ({number})"), &form);
                let answer = ctx.elicit(question.key(format!("q{number}"))).await?;
                if answer.accepted().is_none_or(|form| form["yes"] != true) {
                    return Err(ToolError::new("Then not.").not_started());
                }
            }
            Ok(json!({"paid": work.start()}))
        }
    });
    (tool, runs)
}

/// A modern call of a client that can be asked.
fn pay(key: &str, more: &Value) -> Call {
    pay_as(&json!({"elicitation": {}}), key, more)
}

fn pay_as(capabilities: &Value, key: &str, more: &Value) -> Call {
    let mut params = json!({"name": "pay", "arguments": {"amount": 5}});
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    params["_meta"] = json!({KEY: key, CAPABILITIES_KEY: capabilities});
    modern("tools/call", &params)
}

/// What a client brings back with its answers.
fn answered(asked: &Value) -> Value {
    let mut answers = json!({});
    for name in asked["inputRequests"].as_object().unwrap().keys() {
        answers[name] = json!({"action": "accept", "content": {"yes": true}});
    }
    json!({"inputResponses": answers, "requestState": asked["requestState"]})
}

async fn asked(site: &Site, call: Call) -> Value {
    let result = site.send(call).await.result().await;
    assert_eq!(result["resultType"], "input_required", "{result:#}");
    result
}

async fn stands(site: &Site, key: &str) -> StateKind {
    // Over HTTP without tokens, the caller is whoever is on this machine.
    let page = candor_server::store::Page::default();
    let all = site.engine.store().unwrap().records(Default::default(), page).await.unwrap().items;
    let found = all.into_iter().find(|entry| entry.id.key.as_str() == key);
    found.and_then(|entry| entry.seen).map_or(StateKind::Absent, |record| record.state.kind())
}

#[tokio::test]
async fn keyed_call_needs_input_between_rounds_and_then_resumes() {
    let work = Work::new();
    let (tool, runs) = paying(&work, 2);
    let site = Site::of(remembering().tool(tool));
    let first = asked(&site, pay("k", &json!({}))).await;
    assert_eq!(stands(&site, "k").await, StateKind::Suspended);
    let second = asked(&site, pay("k", &answered(&first))).await;
    assert_eq!(stands(&site, "k").await, StateKind::Suspended);
    assert_ne!(first["inputRequests"], second["inputRequests"]);
    let paid = site.send(pay("k", &answered(&second))).await.result().await;
    assert_eq!(paid["structuredContent"], json!({"paid": 1}), "{paid:#}");
    assert_eq!(mark(&paid)["attempt"], 1, "all rounds are one attempt");
    assert_eq!(stands(&site, "k").await, StateKind::Completed);
    for more in [json!({}), answered(&first), answered(&second)] {
        let again = site.send(pay("k", &more)).await;
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(bare(&again.result().await), bare(&paid));
    }
    assert_eq!((work.starts(), runs.load(Ordering::SeqCst)), (1, 3));
}

#[tokio::test]
async fn retry_repeats_the_question_without_running_the_handler() {
    let work = Work::new();
    let (tool, runs) = paying(&work, 1);
    let site = Site::of(remembering().tool(tool));
    let first = asked(&site, pay("k", &json!({}))).await;
    let again = asked(&site, pay("k", &json!({}))).await;
    assert_eq!(again["inputRequests"], first["inputRequests"]);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    // An answer without the state resumes nothing.
    let mut stateless = answered(&first);
    stateless.as_object_mut().unwrap().shift_remove("requestState");
    let third = asked(&site, pay("k", &stateless)).await;
    assert_eq!(third["inputRequests"], first["inputRequests"]);
    assert_eq!((work.starts(), runs.load(Ordering::SeqCst)), (0, 1));
    // All three states belong to the same question. The first answer counts.
    let (a, b) = tokio::join!(
        site.send(pay("k", &answered(&again))),
        site.send(pay("k", &answered(&third)))
    );
    let (a, b) = (a.result().await, b.result().await);
    assert_eq!((bare(&a), work.starts()), (bare(&b), 1));
    let late = site.send(pay("k", &answered(&first))).await.result().await;
    assert_eq!((bare(&late), work.starts()), (bare(&a), 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn answer_sent_fifty_times_at_once_is_used_once() {
    let work = Work::new();
    let (tool, _) = paying(&work, 1);
    let site = Arc::new(Site::of(remembering().tool(tool)));
    let first = asked(&site, pay("k", &json!({}))).await;
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let (site, call) = (site.clone(), pay("k", &answered(&first)));
            tokio::spawn(async move { bare(&site.send(call).await.result().await) })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap()["structuredContent"], json!({"paid": 1}));
    }
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn state_is_valid_only_for_its_own_call() {
    let work = Work::new();
    let (tool, _) = paying(&work, 1);
    let site = Site::guarded(remembering().tool(tool));
    let alices = asked(&site, pay("k", &json!({})).by("alice")).await;
    asked(&site, pay("other", &json!({})).by("alice")).await;
    asked(&site, pay("k", &json!({})).by("bob")).await;
    let brought = answered(&alices);
    let mut changed = brought.clone();
    changed["arguments"] = json!({"amount": 500});
    let mut keyless = json!({"name": "pay", "arguments": {"amount": 5}, "_meta": {CAPABILITIES_KEY: {"elicitation": {}}}});
    keyless["requestState"] = brought["requestState"].clone();
    keyless["inputResponses"] = brought["inputResponses"].clone();
    for stolen in [
        pay("other", &brought).by("alice"),
        pay("fresh", &brought).by("alice"),
        pay("k", &brought).by("bob"),
        pay("k", &changed).by("alice"),
        modern("tools/call", &keyless).by("alice"),
    ] {
        let error = site.send(stolen).await.json().await["error"].take();
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().contains("requestState"), "{error}");
    }
    assert_eq!(work.starts(), 0);
    let paid = site.send(pay("k", &brought).by("alice")).await.result().await;
    assert_eq!((&paid["structuredContent"], work.starts()), (&json!({"paid": 1}), 1));
}

#[tokio::test]
async fn expired_state_is_refused_and_a_retry_asks_again() {
    let work = Work::new();
    let (tool, _) = paying(&work, 1);
    let site = Site::of(remembering().tool(tool).limits(|l| l.round = Duration::from_secs(1)));
    let first = asked(&site, pay("k", &json!({}))).await;
    tokio::time::sleep(Duration::from_millis(2050)).await;
    let error = site.send(pay("k", &answered(&first))).await.json().await["error"].take();
    assert_eq!((&error["code"], work.starts()), (&json!(-32602), 0), "{error}");
    let again = asked(&site, pay("k", &json!({}))).await;
    let paid = site.send(pay("k", &answered(&again))).await.result().await;
    assert_eq!((&paid["structuredContent"], work.starts()), (&json!({"paid": 1}), 1));
}

#[tokio::test]
async fn unanswered_question_ends_with_outcome_unknown() {
    let work = Work::new();
    let (tool, _) = paying(&work, 1);
    let rules = LedgerLimits { suspended: Duration::from_millis(30), ..LedgerLimits::default() };
    let site = Site::of(server().ledger(memory(rules)).tool(tool));
    let first = asked(&site, pay("k", &json!({}))).await;
    tokio::time::sleep(Duration::from_millis(60)).await;
    for more in [json!({}), answered(&first)] {
        let told = site.send(pay("k", &more)).await.result().await;
        assert_eq!(told["_meta"]["dev.candor/error"]["code"], code::OUTCOME_UNKNOWN, "{told:#}");
    }
    assert_eq!(work.starts(), 0);
}

#[tokio::test]
async fn declined_call_that_did_not_start_can_be_retried() {
    let work = Work::new();
    let (tool, _) = paying(&work, 1);
    let site = Site::of(remembering().tool(tool));
    let first = asked(&site, pay("k", &json!({}))).await;
    let mut no = answered(&first);
    no["inputResponses"]["q1"] = json!({"action": "decline"});
    let declined = site.send(pay("k", &no)).await.result().await;
    assert_eq!((&declined["isError"], &mark(&declined)["released"]), (&json!(true), &json!(true)));
    // The old answer belongs to a closed question.
    let stale = site.send(pay("k", &answered(&first))).await.json().await;
    assert_eq!(stale["error"]["code"], -32602, "{stale}");
    let again = asked(&site, pay("k", &json!({}))).await;
    let paid = site.send(pay("k", &answered(&again))).await.result().await;
    assert_eq!((&mark(&paid)["attempt"], work.starts()), (&json!(2), 1));
}

/// A client in the test's process that says yes, and counts how often it was asked.
fn agreeing(client: &TestClient) -> (TestClient, Arc<AtomicUsize>) {
    let times = Arc::new(AtomicUsize::new(0));
    let count = times.clone();
    let client = client.by("tester").on_elicit(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        json!({"yes": true})
    });
    (client, times)
}

#[tokio::test]
async fn user_answers_each_question_once_in_both_eras() {
    for legacy in [false, true] {
        let work = Work::new();
        let client = server().tool(paying(&work, 2).0).test().keyed("k");
        let client = if legacy { client.speaking(Revision::LATEST_LEGACY) } else { client };
        let (client, times) = agreeing(&client);
        let first = client.call("pay", json!({})).await;
        assert_eq!(first.structured(), Some(&json!({"paid": 1})), "{:#}", first.raw());
        for again in [
            client.call("pay", json!({})).await,
            client.speaking(Revision::LATEST_LEGACY).call("pay", json!({})).await,
            client.speaking(Revision::V2026_07_28).call("pay", json!({})).await,
        ] {
            assert!(again.is_replayed());
        }
        assert_eq!((work.starts(), times.load(Ordering::SeqCst)), (1, 2));
    }
}

/// The question that a legacy client is asked.
async fn question(events: &mut Events) -> Value {
    loop {
        let message = events.next().await.expect("another event").message;
        if let Some(question) = message.filter(|said| said["method"] == "elicitation/create") {
            return question;
        }
    }
}

#[tokio::test]
async fn retry_gets_in_progress_while_a_legacy_client_is_asked() {
    let work = Work::new();
    let server = remembering().tool(paying(&work, 1).0);
    let site = Site::of(server.limits(|l| l.join = Duration::from_millis(40)));
    let session = Session::able(&site, &json!({"elicitation": {}})).await;
    let params = json!({"name": "pay", "arguments": {"amount": 5}, "_meta": {KEY: "k"}});
    let mut events = session.request("tools/call", &params).await.events();
    let question = question(&mut events).await;
    let told = site.send(pay("k", &json!({}))).await.result().await;
    assert_eq!(told["_meta"]["dev.candor/error"]["code"], code::IN_PROGRESS, "{told:#}");
    session.answer(&question, &json!({"action": "accept", "content": {"yes": true}})).await;
    let answer = events.message().await;
    assert_eq!(answer["result"]["structuredContent"], json!({"paid": 1}), "{answer:#}");
    let again = site.send(pay("k", &json!({}))).await.result().await;
    assert_eq!((mark(&again)["replayed"].as_bool(), work.starts()), (Some(true), 1));
}

#[tokio::test]
async fn legacy_client_does_not_get_a_modern_clients_question() {
    let work = Work::new();
    let site = Site::of(remembering().tool(paying(&work, 1).0));
    let first = asked(&site, pay("k", &json!({}))).await;
    let session = Session::able(&site, &json!({"elicitation": {}})).await;
    let params = json!({"name": "pay", "arguments": {"amount": 5}, "_meta": {KEY: "k"}});
    let told = session.request("tools/call", &params).await.result().await;
    assert_eq!(told["_meta"]["dev.candor/error"]["code"], code::IN_PROGRESS, "{told:#}");
    let paid = site.send(pay("k", &answered(&first))).await.result().await;
    assert_eq!((&paid["structuredContent"], work.starts()), (&json!({"paid": 1}), 1));
}

#[tokio::test]
async fn client_without_elicitation_leaves_the_key_usable() {
    let work = Work::new();
    let (tool, runs) = paying(&work, 1);
    let modern = server().tool(tool).test().keyed("k");
    let legacy = modern.speaking(Revision::LATEST_LEGACY);
    let error = modern.try_call("pay", json!({})).await.unwrap_err();
    assert_eq!(error.code(), -32021, "{}", error.message);
    let refused = legacy.call("pay", json!({})).await;
    assert!(refused.is_error() && !refused.is_replayed(), "{:#}", refused.raw());
    assert_eq!((work.starts(), runs.load(Ordering::SeqCst)), (0, 2));
    let (able, _) = agreeing(&modern);
    let paid = able.call("pay", json!({})).await;
    assert_eq!(paid.structured(), Some(&json!({"paid": 1})), "{:#}", paid.raw());
    // Now no question is needed.
    assert!(modern.call("pay", json!({})).await.is_replayed());
    assert!(legacy.call("pay", json!({})).await.is_replayed());
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn client_without_elicitation_does_not_get_a_pending_question() {
    let work = Work::new();
    let (tool, runs) = paying(&work, 1);
    let site = Site::of(remembering().tool(tool));
    let first = asked(&site, pay("k", &json!({}))).await;
    let unable = site.send(pay_as(&json!({}), "k", &json!({}))).await.json().await;
    assert_eq!(unable["error"]["code"], -32021, "{unable:#}");
    assert_eq!(stands(&site, "k").await, StateKind::Suspended);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let paid = site.send(pay("k", &answered(&first))).await.result().await;
    assert_eq!((&paid["structuredContent"], work.starts()), (&json!({"paid": 1}), 1));
}

#[tokio::test]
async fn pending_question_is_repeated_only_to_capable_clients() {
    let all =
        json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}});
    let tool = JsonTool::open("pay", |args, ctx: Ctx| async move {
        match args["ask"].as_str() {
            Some("url") => drop(ctx.elicit(Elicit::url("Sign in", "https://pay.example/")).await?),
            Some("model") => drop(ctx.sample(Sample::new("How much?", 10)).await?),
            _ => drop(ctx.roots().await?),
        }
        Ok::<_, ToolError>("paid")
    });
    let site = Site::of(remembering().tool(tool));
    for (kind, able, unable) in [
        ("url", json!({"elicitation": {"url": {}}}), json!({"elicitation": {}})),
        ("model", json!({"sampling": {}}), json!({"elicitation": {}, "roots": {}})),
        ("roots", json!({"roots": {}}), json!({"elicitation": {}, "sampling": {}})),
    ] {
        let call = |can: &Value| pay_as(can, kind, &json!({"arguments": {"ask": kind}}));
        let first = asked(&site, call(&all)).await;
        assert_eq!(asked(&site, call(&able)).await["inputRequests"], first["inputRequests"]);
        let refused = site.send(call(&unable)).await.json().await;
        assert_eq!(refused["error"]["code"], -32021, "{kind}: {refused:#}");
        let needed = &refused["error"]["data"]["requiredCapabilities"];
        assert!(needed.is_object(), "{refused:#}");
    }
}

#[tokio::test]
async fn legacy_call_cancelled_during_a_question_can_be_retried() {
    let work = Work::new();
    let site = Site::of(remembering().tool(paying(&work, 1).0));
    let session = Session::able(&site, &json!({"elicitation": {}})).await;
    let params = json!({"name": "pay", "arguments": {"amount": 5}, "_meta": {KEY: "k"}});
    let mut events = session.request("tools/call", &params).await.events();
    question(&mut events).await;
    session.cancel().await;
    let again = asked(&site, pay("k", &json!({}))).await;
    let paid = site.send(pay("k", &answered(&again))).await.result().await;
    assert_eq!((&paid["structuredContent"], work.starts()), (&json!({"paid": 1}), 1));
}

#[tokio::test]
async fn call_that_needs_input_resumes_on_a_replica() {
    let work = Work::new();
    let (store, secret) = (memory(LedgerLimits::default()), candor_server::Secret::random());
    let on = || -> Server {
        server().ledger(store.clone()).secret(secret.clone()).tool(paying(&work, 1).0)
    };
    let (one, two) = (Site::of(on()), Site::of(on()));
    let first = asked(&one, pay("k", &json!({}))).await;
    let again = asked(&two, pay("k", &json!({}))).await;
    assert_eq!(again["inputRequests"], first["inputRequests"]);
    let paid = two.send(pay("k", &answered(&first))).await.result().await;
    let late = one.send(pay("k", &answered(&again))).await.result().await;
    assert_eq!((bare(&paid), work.starts()), (bare(&late), 1));
}

#[tokio::test]
async fn panic_after_an_answer_leaves_the_outcome_unknown() {
    let work = Work::new();
    let form = json!({"type": "object", "properties": {}});
    let counted = work.clone();
    let tool = JsonTool::open("pay", move |_, ctx: Ctx| {
        let (work, form) = (counted.clone(), form.clone());
        async move {
            let answer = ctx.elicit(Elicit::form("Really?", &form)).await?;
            assert!(
                matches!(answer, ElicitAnswer::Declined),
                "panics with effect {}",
                work.start()
            );
            Ok("declined")
        }
    });
    let client = server().tool(tool).test().keyed("k").on_elicit(|_| json!({}));
    for _ in 0..2 {
        let told = client.call("pay", json!({})).await;
        assert_eq!(told.code(), Some(code::OUTCOME_UNKNOWN));
    }
    comes_to(client.engine(), "pay", "k", StateKind::Indeterminate).await;
    assert!(
        client.engine().store().unwrap().find(&id("tester", "pay", "k")).await.unwrap().is_some()
    );
    assert_eq!(work.starts(), 1);
}
