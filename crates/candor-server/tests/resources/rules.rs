//! What reading may give. A provider that breaks a rule is not passed on: the client learns that it failed, the log why.

use candor_server::protocol::Principal;
use candor_server::protocol::json::Object;
use candor_server::protocol::types::{Annotations, ReadResourceResult, Resource, ResourceContents};
use candor_server::resource::{Contents, Resources};
use candor_server::tool::ToolError;
use candor_server::{Ctx, Server};
use serde_json::json;

use crate::common::server;
use crate::log::Log;
use crate::{everywhere, uris};

const URI: &str = "odd:///report";

/// Reads one resource as it was told to.
#[derive(Clone)]
struct Odd {
    resource: Resource,
    gives: ReadResourceResult,
}

impl Resources for Odd {
    fn name(&self) -> &'static str {
        "the odd one"
    }

    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        Ok((uri == self.resource.uri).then(|| self.resource.clone()))
    }

    async fn read(&self, _: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        Ok(Some(self.gives.clone().into()))
    }
}

fn odd(resource: Resource, contents: Vec<ResourceContents>) -> impl Fn() -> Server {
    let odd = Odd { resource, gives: ReadResourceResult::new(contents) };
    move || server().resources(odd.clone())
}

fn report() -> Resource {
    Resource::new(URI, "report").titled("Secret plan").definite()
}

fn text(uri: &str, mime_type: &str) -> ResourceContents {
    ResourceContents::of_text(uri, mime_type, "hello")
}

fn changed(change: impl FnOnce(&mut ResourceContents)) -> ResourceContents {
    let mut content = text(URI, "text/html");
    change(&mut content);
    content
}

fn blob(base64: &str) -> ResourceContents {
    ResourceContents::of_blob(URI, "image/png", base64)
}

/// Reading fails: with these words in the log, and without them on the wire.
async fn breaks(contents: Vec<ResourceContents>, words: &str) {
    let log = Log::capture();
    everywhere(odd(report(), contents), async |peer| {
        let error = peer.error("resources/read", &json!({"uri": URI}), -32603).await;
        let trace =
            error["data"]["dev.candor/error"]["traceId"].as_str().expect("its name").to_owned();
        assert_eq!(
            error,
            json!({
                "code": -32603,
                "message": "The server could not answer for this resource; its log says why",
                "data": {"uri": URI, "dev.candor/error": {"code": "internal", "traceId": trace}},
            })
        );
        let lines = log.take();
        let [line] = lines.as_slice() else { panic!("one line: {lines:?}") };
        assert!(line.starts_with("ERROR"), "{line}");
        assert!(line.contains("provider=the odd one") && line.contains(words), "{words}: {line}");
        assert!(line.contains(URI) && line.contains(&trace), "{line}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn read_without_contents_is_refused() {
    breaks(vec![], "no contents").await;
}

#[tokio::test(start_paused = true)]
async fn unlistable_resource_may_only_return_its_own_uri() {
    breaks(vec![text("odd:///other", "text/plain")], "its own URI only").await;
    let both = vec![text(URI, "text/plain"), text("odd:///other", "text/html")];
    breaks(both, "odd:///other").await;
}

#[tokio::test(start_paused = true)]
async fn contents_of_one_uri_need_distinct_formats() {
    breaks(vec![text(URI, "text/plain"), text(URI, "text/plain")], "two contents").await;
    let untyped = changed(|content| content.mime_type = None);
    breaks(vec![text(URI, "text/plain"), untyped], "needs its mimeType").await;
}

#[tokio::test(start_paused = true)]
async fn formats_must_agree_on_the_metadata() {
    let other = || Some("other".to_owned());
    for (content, member) in [
        (changed(|content| content.name = other()), "name"),
        (changed(|content| content.title = other()), "title"),
        (changed(|content| content.description = other()), "description"),
        (changed(|content| content.annotations = Some(Annotations::new())), "annotations"),
    ] {
        breaks(vec![text(URI, "text/plain"), content], &format!("agree on their {member}")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn content_must_agree_with_its_resource() {
    breaks(vec![changed(|content| content.title = Some("other".to_owned()))], "title").await;
}

#[tokio::test(start_paused = true)]
async fn declared_size_must_match_the_content() {
    let sized = changed(|content| content.size = Some(6.into()));
    breaks(vec![sized], "says that it has 6 bytes, and has 5").await;
    let mut encoded = blob("AAAA");
    encoded.size = Some(4.into());
    breaks(vec![encoded], "says that it has 4 bytes, and has 3").await;
}

#[tokio::test(start_paused = true)]
async fn content_must_be_either_text_or_blob() {
    breaks(vec![ResourceContents::new(URI)], "either text or blob").await;
    breaks(vec![changed(|content| content.blob = Some(String::new()))], "either text or blob")
        .await;
}

#[tokio::test(start_paused = true)]
async fn blob_must_be_base64() {
    for broken in ["a", "a b=", "====", "AAA", "AA-_", "AA==AA=="] {
        breaks(vec![blob(broken)], "not Base64").await;
    }
}

#[tokio::test(start_paused = true)]
async fn resource_without_capabilities_may_return_other_uris() {
    everywhere(silent(), async |peer| {
        let contents = peer.read(URI).await;
        assert_eq!(uris(&contents), [URI, "odd:///other"]);
        assert_eq!(contents[0]["name"], "report");
        assert_eq!(contents[0].get("capabilities"), None, "none are declared");
    })
    .await;
}

/// Says nothing of its capabilities, and gives more than was asked for.
fn silent() -> impl Fn() -> Server {
    let contents = vec![text(URI, "text/plain"), text("odd:///other", "text/plain")];
    odd(Resource::new(URI, "report"), contents)
}

/// What the log says of it, read three times.
async fn warnings_about(serving: impl Fn() -> Server, check: impl Fn(Vec<String>)) {
    let log = Log::capture();
    everywhere(serving, async |peer| {
        for _ in 0..3 {
            peer.read(URI).await;
        }
        check(log.take());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn missing_capabilities_are_logged_once() {
    warnings_about(silent(), |lines| {
        let warns = |line: &&String| {
            line.starts_with("WARN")
                && line.contains("provider=the odd one")
                && line.contains("omits its capabilities;")
        };
        assert_eq!(lines.iter().filter(warns).count(), 1, "{lines:?}");
    })
    .await;
    warnings_about(odd(report(), vec![text(URI, "text/plain")]), |lines| {
        assert!(lines.is_empty(), "declared capabilities are not logged: {lines:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn deprecated_other_uris_are_logged_once_with_advice() {
    warnings_about(silent(), |lines| {
        let warns = |line: &&String| line.contains("deprecated") && line.contains("listable");
        assert_eq!(lines.iter().filter(warns).count(), 1, "{lines:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn meta_of_results_and_contents_is_passed_on() {
    let mut gives = ReadResourceResult::new(vec![changed(|content| {
        content.meta = Some(Object::new().with("dev.example/page", &7));
    })]);
    gives.meta = Some(Object::new().with("dev.example/took", &3));
    let odd = Odd { resource: report(), gives };
    everywhere(
        || server().resources(odd.clone()),
        async |peer| {
            let result = peer.result("resources/read", &json!({"uri": URI})).await;
            assert_eq!(result["_meta"]["dev.example/took"], 3);
            assert_eq!(result["contents"][0]["_meta"]["dev.example/page"], 7);
        },
    )
    .await;
}
