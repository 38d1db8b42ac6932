//! Plan, person, rate: a person is asked about what was looked at, and only what starts is counted.

use std::time::Duration;

use candor_server::AskLevel;
use candor_server::store::{ApprovalChannel, AuditContext, Event, Review};
use candor_server::testing::TestClient;
use candor_server::tool::{RateLimit, ToolError, code};
use serde_json::json;

use crate::{Counter, deletes, of, server};

async fn waiting(client: &TestClient) -> usize {
    let store = client.engine().store().unwrap();
    store.waiting(Default::default(), Default::default()).await.unwrap().items.len()
}

async fn approve(client: &TestClient) {
    let store = client.engine().store().unwrap();
    let waiting = store.waiting(Default::default(), Default::default()).await.unwrap().items;
    let question = waiting[0].stored.question().unwrap();
    let (by, via, decision) = ("olga".to_owned(), ApprovalChannel::Operator, Review::Approve);
    let event = Event::Decide { question, by, via, decision };
    store.apply(&waiting[0].id, event, AuditContext::default()).await.unwrap();
}

#[tokio::test]
async fn approval_follows_the_preview_and_only_the_start_is_charged() {
    for key in [None, Some("k")] {
        let counter = Counter::default();
        let tool = counter
            .tool("act", &of(&["table"]))
            .annotations(deletes())
            .rate(RateLimit::per_hour(1))
            .serial("tables")
            .requires_preview()
            .preview(|_, _| async { Ok::<_, ToolError>("Would act.") });
        let client =
            server().ask(AskLevel::Destructive).hold(Duration::from_millis(5)).tool(tool).test();
        let client = key.map_or(client.by("ada"), |key| client.keyed(key));
        let unseen = client.call("act", json!({"table": "a"})).await;
        assert_eq!(unseen.code(), Some(code::PREVIEW_REQUIRED));
        assert_eq!(waiting(&client).await, 0, "no approval request before the preview");

        let shown = client.keyed("another").call("preview_act", json!({"table": "a"})).await;
        let act = || client.call("act", json!({"table": "a", "plan_token": shown.plan_token()}));
        for _ in 0..3 {
            assert_eq!(act().await.code(), Some(code::APPROVAL_REQUIRED));
        }
        assert_eq!((waiting(&client).await, counter.get()), (1, 0));
        approve(&client).await;
        let done = act().await;
        assert!(!done.is_error(), "{}", done.text());
        let other = client.keyed("other");
        let again =
            other.call("act", json!({"table": "a", "plan_token": shown.plan_token()})).await;
        assert_eq!(again.code(), Some(code::APPROVAL_REQUIRED), "{}", again.text());
        approve(&client).await;
        let again =
            other.call("act", json!({"table": "a", "plan_token": shown.plan_token()})).await;
        assert_eq!(again.code(), Some(code::RATE_LIMITED), "{}", again.text());
        assert_eq!(counter.get(), 1);
    }
}
