//! Rates: per caller and tool, exact, and charged by starts alone.

use std::time::Duration;

use candor_hints::Hints;
use candor_server::protocol::Principal;
use candor_server::testing::TestResult;
use candor_server::tool::{JsonTool, RateLimit, ToolError, code};
use candor_server::{Arguments, Call, Caller, Ctx, Elicit, Refusal};
use futures_util::future::join_all;
use serde_json::json;

use crate::common::{CAPABILITIES_KEY, Site, modern};
use crate::{Counter, deletes, of, server};

fn wait(called: &TestResult) -> Duration {
    assert_eq!(called.code(), Some(code::RATE_LIMITED), "{}", called.text());
    let error = &called.raw()["_meta"]["dev.candor/error"];
    assert_eq!(error["retriable"], true);
    Duration::from_millis(error["retryAfterMs"].as_u64().unwrap())
}

#[tokio::test(start_paused = true)]
async fn rate_limited_call_succeeds_after_the_returned_wait() {
    let counter = Counter::default();
    let tool = counter.tool("act", &of(&[])).rate(RateLimit::per_minute(3));
    let client = server().tool(tool).tool(counter.tool("other", &of(&[]))).test();
    for _ in 0..3 {
        assert!(!client.call("act", json!({})).await.is_error());
        tokio::time::advance(Duration::from_secs(10)).await;
    }
    let refused = client.call("act", json!({})).await;
    assert!(refused.text().contains("3 calls per minute"), "{}", refused.text());
    let left = wait(&refused);
    assert!(left > Duration::from_secs(29) && left <= Duration::from_secs(30), "{left:?}");
    assert!(
        !client.by("bob").call("act", json!({})).await.is_error(),
        "each caller has its own rate limit"
    );
    assert!(!client.call("other", json!({})).await.is_error(), "and so has each tool");
    tokio::time::advance(left - Duration::from_millis(2)).await;
    wait(&client.call("act", json!({})).await);
    tokio::time::advance(Duration::from_millis(2)).await;
    assert!(!client.call("act", json!({})).await.is_error());
    let left = wait(&client.call("act", json!({})).await);
    assert!(left > Duration::from_secs(9) && left <= Duration::from_secs(10), "{left:?}");
    assert_eq!(counter.get(), 6);
}

/// A caller that is asked to retry must be able to.
#[tokio::test]
async fn call_refused_as_busy_is_not_charged() {
    let counter = Counter::default();
    let tool = counter.tool("act", &of(&[])).rate(RateLimit::per_hour(1));
    let client = server().tool(tool).limits(|limits| limits.keyed_calls = 0).test();
    for _ in 0..3 {
        let busy = client.keyed("k").call("act", json!({})).await;
        assert_eq!(busy.code(), Some(code::BUSY), "{}", busy.text());
    }
    assert!(!client.call("act", json!({})).await.is_error(), "a call without a key has capacity");
    wait(&client.call("act", json!({})).await);
    assert_eq!(counter.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn replays_and_refusals_are_not_charged() {
    let counter = Counter::default();
    let tool = counter.tool("act", &of(&["a"])).annotations(deletes()).rate(RateLimit::per_hour(2));
    let client = server().tool(tool).test();
    let keyed = client.keyed("k");
    assert!(!keyed.call("act", json!({"a": "1"})).await.is_error());
    for _ in 0..20 {
        assert!(keyed.call("act", json!({"a": "1"})).await.is_replayed());
        assert_eq!(keyed.call("act", json!({"a": "2"})).await.code(), Some(code::KEY_REUSED));
        assert_eq!(client.call("act", json!({})).await.code(), Some(code::INVALID_ARGUMENTS));
    }
    assert!(!client.call("act", json!({"a": "1"})).await.is_error());
    for _ in 0..5 {
        wait(&client.call("act", json!({"a": "1"})).await);
        assert!(
            keyed.call("act", json!({"a": "1"})).await.is_replayed(),
            "the replay is checked first"
        );
    }
    let fresh = client.keyed("fresh");
    wait(&fresh.call("act", json!({"a": "1"})).await);
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert!(
        !fresh.call("act", json!({"a": "1"})).await.is_replayed(),
        "a refusal leaves no record"
    );
    assert_eq!(counter.get(), 3);
}

#[tokio::test]
async fn concurrent_retries_are_charged_once() {
    let counter = Counter::default();
    let client =
        server().tool(counter.tool("act", &of(&[])).rate(RateLimit::per_day(1))).test().keyed("k");
    let called = join_all((0..200).map(|_| client.call("act", json!({})))).await;
    assert!(
        called.iter().all(|called| !called.is_error()),
        "{:?}",
        called.iter().find(|c| c.is_error())
    );
    assert_eq!(counter.get(), 1);
}

/// Asks once, then acts.
fn asking(counter: &Counter) -> JsonTool {
    let counter = counter.clone();
    JsonTool::open("act", move |_, ctx: Ctx| {
        let counter = counter.clone();
        async move {
            ctx.elicit(Elicit::form("Sure?", &json!({"type": "object", "properties": {}}))).await?;
            Ok::<_, ToolError>(json!({"number": counter.next()}))
        }
    })
    .rate(RateLimit::per_hour(1))
}

#[tokio::test]
async fn rounds_of_one_call_are_charged_once() {
    for key in [None, Some("k")] {
        let counter = Counter::default();
        let client = server().tool(asking(&counter)).test().on_elicit(|_| json!({}));
        let client = key.map_or(client.by("ada"), |key| client.keyed(key));
        assert!(!client.call("act", json!({})).await.is_error());
        let again = client.keyed("other").call("act", json!({})).await;
        wait(&again);
        assert_eq!(counter.get(), 1);
    }
}

#[tokio::test]
async fn repeated_answer_is_charged() {
    let counter = Counter::default();
    let site = Site::of(server().tool(asking(&counter)));
    let meta = json!({CAPABILITIES_KEY: {"elicitation": {}}});
    let call = json!({"name": "act", "arguments": {}, "_meta": meta});
    let asked = site.send(modern("tools/call", &call)).await.result().await;
    let mut answer = call;
    for name in asked["inputRequests"].as_object().unwrap().keys() {
        answer["inputResponses"][name] = json!({"action": "accept", "content": {}});
    }
    answer["requestState"] = asked["requestState"].clone();
    for number in 0..10 {
        let result = site.send(modern("tools/call", &answer)).await.result().await;
        assert_eq!(result["isError"] == true, number > 0, "{result}");
    }
    assert_eq!(counter.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn evaluation_has_its_own_rate_limit() {
    let counter = Counter::default();
    let tool = counter.tool("act", &of(&[])).effects_by(Hints::ADDS, |_| Hints::READS);
    let server =
        server().tool(tool).limits(|limits| limits.foresights = Some(RateLimit::per_minute(3)));
    let client = server.test();
    for _ in 0..3 {
        assert_eq!(client.hints("act", json!({})).await, Hints::READS);
    }
    let refused = client.try_hints("act", json!({})).await.unwrap_err();
    assert_eq!(refused.code(), 4290);
    let data: serde_json::Value = serde_json::from_str(refused.data.unwrap().get()).unwrap();
    assert_eq!(data["code"], "busy");
    let left = Duration::from_millis(data["retryAfterMs"].as_u64().unwrap());
    assert!(left > Duration::from_secs(59) && left <= Duration::from_secs(60), "{left:?}");
    assert!(!client.call("act", json!({})).await.is_error(), "calls have another limit");
    assert_eq!(
        client.by("bob").hints("act", json!({})).await,
        Hints::READS,
        "each caller has its own limit"
    );
    tokio::time::advance(left).await;
    assert_eq!(client.hints("act", json!({})).await, Hints::READS);
    assert_eq!(counter.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn decisions_in_the_same_process_are_rate_limited_too() {
    let tool = Counter::default().tool("act", &of(&[])).annotations(deletes());
    let server =
        server().tool(tool).limits(|limits| limits.foresights = Some(RateLimit::per_minute(1)));
    let view = server.build().unwrap().open(Caller::new(Principal::new("ada")));
    let explain = async || view.decide(&Call::new("act", Arguments::default())).await;
    assert!(explain().await.is_ok());
    assert!(matches!(explain().await, Err(Refusal::TooManyQuestions { .. })));
}
