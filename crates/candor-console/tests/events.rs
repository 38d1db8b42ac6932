//! Who listens is told at once how many calls wait, and whenever that changes; and nobody can listen so often that others cannot.
//! All streams of the console are held open in one way.
//!
//! Places are counted for the whole process, so these stand alone.

#![allow(missing_docs)]

#[allow(dead_code)]
#[path = "desk/desk.rs"]
mod desk;
#[path = "desk/looked.rs"]
mod looked;
#[allow(dead_code)]
#[path = "rest/site.rs"]
mod site;

use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_console::Console;
use candor_server::protocol::types::Resource;
use candor_server::resource::ResourceSet;
use candor_server::tool::{JsonTool, ToolError};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

use desk::{Desk, memory, note};
use looked::Looked;
use site::{Site, server};

/// One at a time: all of them count.
async fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

struct Events(site::Events);

impl Events {
    /// Listens; or gives the status of the refusal.
    async fn of(site: &Site) -> Result<Self, u16> {
        let response = site.ask("GET", "/approvals/events").known().open().await;
        match response.status().as_u16() {
            200 => Ok(Self(site::Events::of(response))),
            status => Err(status),
        }
    }

    /// Listens as soon as there is room: a server sees a moment later that somebody has left.
    async fn once_there_is_room(site: &Site) -> Self {
        for _ in 0..2000 {
            match Self::of(site).await {
                Ok(events) => return events,
                Err(status) => assert_eq!(status, 503),
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("nobody has made room");
    }

    /// What the next event says; none when there will be none.
    async fn next(&mut self) -> Option<Value> {
        let text = self.0.next().await?;
        let data = text.strip_prefix("event: waiting\ndata: ").and_then(|t| t.strip_suffix("\n\n"));
        let data = data.unwrap_or_else(|| panic!("no event: {text:?}"));
        Some(serde_json::from_str(data).unwrap())
    }
}

#[tokio::test]
async fn event_stream_reports_the_number_of_pending_requests() {
    let _alone = alone().await;
    let desk = Desk::new();
    let mut events = Events::of(&desk.site).await.unwrap();
    let first = events.next().await.unwrap();
    assert_eq!(first["waiting"], 0);
    let call = desk.call(note("secret path"));
    let asked = events.next().await.unwrap();
    assert_eq!(asked["waiting"], 1);
    assert!(!asked.to_string().contains("secret"), "the event has no details: {asked}");
    // A later stream gets the same state at once.
    let mut later = Events::of(&desk.site).await.unwrap();
    assert_eq!(later.next().await.unwrap(), asked);
    let waiting = desk.one().await;
    desk.approve(&waiting.id, waiting.named()).await.ok();
    for events in [&mut events, &mut later] {
        let decided = events.next().await.unwrap();
        assert_eq!(decided, first, "no request is pending, as before");
    }
    call.await.unwrap();
}

/// The number of pending requests is the same, but they are others.
#[tokio::test]
async fn event_stream_reports_a_request_that_replaces_another() {
    let _alone = alone().await;
    let desk = Desk::impatient();
    desk.call_as("ada", note("a"), None).await.unwrap();
    let mut events = Events::of(&desk.site).await.unwrap();
    let of_ada = events.next().await.unwrap();
    let waiting = desk.one().await;
    // Denied and requested between two reads: the same arguments of another caller make the same version.
    let decision = desk.deny(&waiting.id, waiting.named());
    let (decided, asked) = tokio::join!(decision, desk.call_as("bob", note("a"), None));
    decided.ok();
    asked.unwrap();
    assert_eq!(desk.one().await.question, waiting.question);
    loop {
        let now = events.next().await.unwrap();
        assert_ne!(now, of_ada);
        if now["waiting"] == 1 {
            break;
        }
    }
}

/// More than the list can hold: the stream counts all of them, and reports each new one.
#[tokio::test]
async fn event_stream_counts_requests_beyond_the_list_limit() {
    let _alone = alone().await;
    let desk = Desk::impatient();
    for n in 0..100 {
        for who in ["ada", "bob", "eve"] {
            desk.call_as(who, note(&n.to_string()), None).await.unwrap();
        }
    }
    let mut events = Events::of(&desk.site).await.unwrap();
    assert_eq!(events.next().await.unwrap()["waiting"], 300);
    desk.call_as("mallory", note("a"), None).await.unwrap();
    assert_eq!(events.next().await.unwrap()["waiting"], 301);
}

/// A read goes through all pending requests, up to a hundred megabytes, so the streams share it.
#[tokio::test]
async fn event_streams_share_ledger_reads() {
    let _alone = alone().await;
    let ledger = Looked::new();
    let site = Site::around(Console::of_ledger(Arc::<Looked>::clone(&ledger)));
    let begun = Instant::now();
    let mut all = Vec::new();
    for _ in 0..32 {
        let mut events = Events::of(&site).await.unwrap();
        assert_eq!(events.next().await.unwrap()["waiting"], 0);
        all.push(events);
    }
    // One at once, and one in each 600 ms since.
    let most = 1 + begun.elapsed().as_millis() / 600;
    assert!((1..=most).contains(&(ledger.times() as u128)), "{} reads", ledger.times());
}

#[tokio::test]
async fn event_streams_above_the_limit_are_refused() {
    let _alone = alone().await;
    let desk = Desk::new();
    for _ in 0..2 {
        let mut all = Vec::new();
        for _ in 0..64 {
            let mut events = Events::once_there_is_room(&desk.site).await;
            assert_eq!(events.next().await.unwrap()["waiting"], 0);
            all.push(events);
        }
        for _ in 0..3 {
            assert_eq!(Events::of(&desk.site).await.err(), Some(503), "a refusal uses no slot");
        }
        let busy = desk.site.ask("GET", "/approvals/events").known().send().await;
        let said = busy.problem(503, "busy");
        assert_eq!(said["is_retriable"], true);
        assert!(!busy.header("retry-after").is_empty());
        // A closed stream frees one slot.
        all.pop();
        all.push(Events::once_there_is_room(&desk.site).await);
        assert_eq!(Events::of(&desk.site).await.err(), Some(503));
    }
    // HEAD opens no stream.
    for _ in 0..70 {
        let head = desk.site.ask("HEAD", "/approvals/events").known().send().await;
        assert_eq!(head.status, 200);
    }
    Events::once_there_is_room(&desk.site).await;
}

#[tokio::test]
async fn event_streams_end_at_shutdown() {
    let _alone = alone().await;
    let desk = Desk::new();
    let mut events = Events::of(&desk.site).await.unwrap();
    events.next().await.unwrap();
    desk.engine.stop();
    assert_eq!(events.next().await, None);

    let console = Console::of_ledger(memory());
    let closing = console.closing();
    let site = Site::around(console);
    let mut events = Events::of(&site).await.unwrap();
    assert_eq!(events.next().await.unwrap()["waiting"], json!(0));
    closing.close();
    assert_eq!(events.next().await, None);
}

/// A proxy must not close a stream as dead, nor buffer its events.
#[tokio::test]
async fn every_event_stream_is_unbuffered_and_sends_keepalives() {
    let _alone = alone().await;
    let hangs = JsonTool::open("hangs", |_, _| async {
        std::future::pending::<()>().await;
        Ok::<_, ToolError>("never")
    });
    let memo = Resource::new("memo:///today", "today");
    let memos = ResourceSet::new().resource(memo, |_, _| async { Ok("Buy milk") });
    let server = server().tool(hangs).resources(memos.watched("memo:///today"));
    let site = Site::of(server.limits(|limits| limits.keep_alive = Duration::from_millis(20)));
    for (method, path) in [
        ("GET", "/approvals/events"),
        ("GET", "/resources/events?uri=memo:///today"),
        ("POST", "/tools/hangs/call"),
    ] {
        let ask = site.ask(method, path).known().header("accept", "text/event-stream");
        let response = ask.json(&json!({})).open().await;
        assert_eq!(response.headers()["x-accel-buffering"], "no", "{path}");
        assert_eq!(response.headers()["cache-control"], "no-store", "{path}");
        let mut events = site::Events::of(response);
        let mut said = events.next().await;
        // The first event comes before the keepalive.
        if said.as_deref() != Some(":\n\n") {
            said = events.next().await;
        }
        assert_eq!(said.as_deref(), Some(":\n\n"), "{path}");
    }
}
