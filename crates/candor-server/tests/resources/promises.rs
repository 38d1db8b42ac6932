//! What a provider says that it can do, and what it does. Broken promises are the server's to log, not the client's to see.

use std::time::Duration;

use candor_server::protocol::Era;
use candor_server::protocol::Principal;
use candor_server::protocol::types::{Resource, ResourceContents};
use candor_server::resource::{Contents, Listing, Offers, Page, Resources, WatchGuard};
use candor_server::tool::ToolError;
use candor_server::{Changes, Ctx, Server};
use serde_json::{Value, json};

use crate::common::server;
use crate::everywhere;
use crate::log::Log;
use crate::peer::Peer;

/// Claims everything; what it does is given.
#[derive(Clone)]
struct Boaster {
    offers: Offers,
    children: Option<Listing>,
    list: Listing,
    mood: Mood,
}

/// How it answers when it is asked what a resource is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mood {
    Ready,
    Failing,
    Stalling,
    Panicking,
}

const ROOT: &str = "boast:///";

fn root() -> Resource {
    Resource::new(ROOT, "root").listable().watchable()
}

/// Offers what its resources claim.
fn offering() -> Boaster {
    let offers = Offers { children: true, watching: true, ..Offers::default() };
    Boaster { offers, children: None, list: Listing::default(), mood: Mood::Ready }
}

impl Boaster {
    fn server(self) -> impl Fn() -> Server {
        move || server().resources(self.clone()).limits(|l| l.deadline = Duration::from_millis(100))
    }
}

impl Resources for Boaster {
    fn name(&self) -> &'static str {
        "the boaster"
    }

    fn offers(&self) -> Offers {
        self.offers
    }

    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        match self.mood {
            Mood::Ready => Ok((uri == ROOT).then(root)),
            Mood::Failing => Err(std::io::Error::other("password of db.internal was refused"))?,
            Mood::Stalling => std::future::pending().await,
            Mood::Panicking => panic!("password of db.internal"),
        }
    }

    async fn list(&self, _: Page<'_>, _: &Principal) -> Result<Listing, ToolError> {
        Ok(self.list.clone())
    }

    async fn children(
        &self,
        _: &str,
        _: Page<'_>,
        _: &Principal,
    ) -> Result<Option<Listing>, ToolError> {
        Ok(self.children.clone())
    }

    async fn read(&self, uri: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        let mut content = ResourceContents::of_text(uri, "text/plain", "boast");
        content.capabilities = root().capabilities;
        Ok(Some(content.into()))
    }

    async fn watch(&self, _: &str, _: &Changes) -> Result<Option<WatchGuard>, ToolError> {
        Ok(None)
    }
}

/// The error that says nothing, and the line in the log that says why.
async fn broken(peer: &mut Peer<'_>, log: &Log, method: &str, params: &Value, words: &str) {
    let error = peer.error(method, params, -32603).await;
    let what =
        if params.get("uri").is_some() { "answer for this resource" } else { "get its resources" };
    assert_eq!(error["message"], format!("The server could not {what}; its log says why"));
    if let Some(uri) = params.get("uri") {
        assert_eq!(&error["data"]["uri"], uri);
    }
    let lines = log.take();
    let line = lines.iter().find(|line| line.starts_with("ERROR")).expect("a line in the log");
    assert!(line.contains("provider=the boaster") && line.contains(words), "{line}");
    let trace = error["data"]["dev.candor/error"]["traceId"].as_str().expect("its name in the log");
    assert!(line.contains(trace), "{line}");
}

#[tokio::test(start_paused = true)]
async fn listable_resource_without_children_is_an_internal_error() {
    let log = Log::capture();
    everywhere(offering().server(), async |peer| {
        for method in ["resources/list", "resources/directory/read"] {
            let words = "says that it can be listed, and then is not";
            broken(peer, &log, method, &json!({"uri": ROOT}), words).await;
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn resource_that_lists_itself_is_an_internal_error() {
    let log = Log::capture();
    let narcissist = Boaster { children: Some(Listing::whole(vec![root()])), ..offering() };
    everywhere(narcissist.server(), async |peer| {
        broken(peer, &log, "resources/list", &json!({"uri": ROOT}), "lists itself").await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn list_whose_cursor_does_not_advance_is_an_internal_error() {
    let stuck = Listing { resources: Vec::new(), next: Some("here".to_owned()) };
    let boaster = Boaster { children: Some(stuck.clone()), list: stuck, ..offering() };
    let log = Log::capture();
    everywhere(boaster.server(), async |peer| {
        for mut params in [json!({"uri": ROOT}), json!({})] {
            let first = peer.result("resources/list", &params).await;
            params["cursor"] = first["nextCursor"].clone();
            assert!(params["cursor"].is_string(), "{first}");
            broken(peer, &log, "resources/list", &params, "begins where this one did").await;
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn watchable_resource_that_cannot_be_watched_is_refused() {
    let log = Log::capture();
    let words = "says that it can be watched, and then is not";
    everywhere(offering().server(), async |peer| {
        if peer.era == Era::Legacy {
            broken(peer, &log, "resources/subscribe", &json!({"uri": ROOT}), words).await;
        } else {
            assert_eq!(peer.watch(&[ROOT]).await, [""; 0], "the modern era refuses by omission");
            let lines = log.take();
            assert!(lines.iter().any(|line| line.contains(words)), "{lines:?}");
        }
    })
    .await;
}

/// Claims without offering anything.
fn empty_handed() -> Boaster {
    let list = Listing::whole(vec![root()]);
    Boaster { offers: Offers::default(), list, ..offering() }
}

#[tokio::test(start_paused = true)]
async fn capability_that_the_provider_does_not_offer_is_dropped() {
    let log = Log::capture();
    everywhere(empty_handed().server(), async |peer| {
        let neither = json!({"list": false, "subscribe": false});
        assert_eq!(peer.metadata(ROOT).await["capabilities"], neither);
        assert_eq!(peer.list().await[0]["capabilities"], neither);
        peer.error("resources/list", &json!({"uri": ROOT}), -32602).await;
        let lines = log.take();
        let [line] = lines.as_slice() else { panic!("one line, once: {lines:?}") };
        assert!(line.starts_with("WARN") && line.contains("provider=the boaster"), "{line}");
        assert!(line.contains("claims a capability that `Resources::offers` does not"), "{line}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn capability_of_a_content_is_dropped_if_not_offered() {
    everywhere(empty_handed().server(), async |peer| {
        let content = peer.read(ROOT).await[0].take();
        assert_eq!(content["capabilities"], json!({"list": false, "subscribe": false}));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn capability_of_a_child_is_dropped_if_not_offered() {
    let bold = Resource::new("boast:///bold", "bold").listable().watchable();
    let offers = Offers { children: true, ..Offers::default() };
    let boaster = Boaster { offers, children: Some(Listing::whole(vec![bold])), ..offering() };
    everywhere(boaster.server(), async |peer| {
        let children = peer.children(ROOT).await;
        assert_eq!(children[0]["capabilities"], json!({"list": true, "subscribe": false}));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn reason_of_a_provider_failure_is_only_in_the_log() {
    let log = Log::capture();
    let failing = Boaster { mood: Mood::Failing, ..offering() };
    everywhere(failing.server(), async |peer| {
        for method in ["resources/metadata", "resources/read", "resources/list"] {
            let error = peer.error(method, &json!({"uri": ROOT}), -32603).await;
            assert!(!error.to_string().contains("password"), "{error}");
            let lines = log.take();
            assert!(lines.iter().any(|line| line.contains("password of db.internal")), "{lines:?}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn provider_that_does_not_answer_times_out() {
    let log = Log::capture();
    let slow = Boaster { mood: Mood::Stalling, ..offering() };
    everywhere(slow.server(), async |peer| {
        broken(peer, &log, "resources/metadata", &json!({"uri": ROOT}), "took too long").await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn panicking_provider_leaves_the_server_running() {
    let panicking = Boaster { mood: Mood::Panicking, ..offering() };
    everywhere(panicking.server(), async |peer| {
        for method in ["resources/metadata", "resources/read", "resources/list"] {
            let error = peer.error(method, &json!({"uri": ROOT}), -32603).await;
            assert!(!error.to_string().contains("password"), "{error}");
        }
        assert_eq!(peer.list().await, json!([]), "the server keeps running");
    })
    .await;
}
