//! What the published protocol has no member for stands in `_meta`, too, for clients that do not know our members.

use candor_server::Server;
use candor_server::protocol::json::Object;
use candor_server::protocol::types::{Resource, ResourceContents};
use candor_server::resource::ResourceSet;
use serde_json::{Value, json};

use crate::common::server;
use crate::{EXTENSION, described, described_json, everywhere, everywhere_knowing, knowing};

/// All members, fully described, in a folder; and one that can be had in two formats.
fn documents() -> Server {
    let both = Resource::new("docs:///page", "page").formats(["text/html", "text/markdown"]);
    let inside = ResourceSet::new().resource(described(), |_, _| async { Ok("hello") }).resource(
        both,
        |uri, _| async move {
            Ok(vec![
                ResourceContents::of_text(uri.as_str(), "text/html", "<p>"),
                ResourceContents::of_text(uri, "text/markdown", "p"),
            ])
        },
    );
    server().resources(ResourceSet::new().folder(Resource::new("docs:///", "docs"), inside))
}

#[tokio::test(start_paused = true)]
async fn listed_resource_mirrors_capabilities_and_formats_in_meta() {
    everywhere(documents, async |peer| {
        let able = json!({"list": false, "subscribe": false});
        let children = peer.children("docs:///").await;
        let directory = peer.result("resources/directory/read", &json!({"uri": "docs:///"})).await;
        for list in [&children, &directory["resources"]] {
            assert_eq!(list[0]["_meta"], json!({EXTENSION: {"capabilities": able}}));
            let formats = json!(["text/html", "text/markdown"]);
            let expected = json!({EXTENSION: {"formats": formats, "capabilities": able}});
            assert_eq!(list[1]["_meta"], expected);
        }
        assert_eq!(peer.metadata("docs:///report").await, children[0]);
        let folder = json!({EXTENSION: {"capabilities": {"list": true, "subscribe": false}}});
        assert_eq!(peer.list().await[0]["_meta"], folder);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn content_mirrors_its_resource_in_meta() {
    everywhere(documents, async |peer| {
        let content = peer.read("docs:///report").await[0].take();
        let mut said = described_json();
        for published in ["uri", "mimeType"] {
            said.as_object_mut().unwrap().remove(published);
        }
        assert_eq!(content["_meta"], json!({EXTENSION: said}));
        for (member, value) in said.as_object().unwrap() {
            assert_eq!(content[member], *value, "the mirror and the member: {member}");
        }
    })
    .await;
}

/// Clients without the extension find the standard members unchanged.
#[tokio::test(start_paused = true)]
async fn standard_members_are_present_without_the_extension() {
    everywhere(documents, async |peer| {
        let content = peer.read("docs:///report").await[0].take();
        let published = ["uri", "mimeType", "text"].map(|key| content[key].clone());
        assert_eq!(published, ["docs:///report", "text/plain", "hello"].map(Value::from));
        let listed = peer.children("docs:///").await[0].take();
        for (member, value) in described_json().as_object().unwrap() {
            assert_eq!(listed[member], *value, "{member}");
        }
        for object in [&content, &listed] {
            assert!(object["_meta"].is_object() && object["_meta"][EXTENSION].is_object());
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn extension_drops_the_mirror_but_keeps_the_formats() {
    everywhere_knowing(&knowing(), documents, async |peer| {
        let children = peer.children("docs:///").await;
        assert_eq!(children[0], described_json());
        let formats = json!({EXTENSION: {"formats": ["text/html", "text/markdown"]}});
        assert_eq!(children[1]["_meta"], formats, "formats have no member of their own");
        assert_eq!(peer.metadata("docs:///report").await.get("_meta"), None);
        assert_eq!(peer.list().await[0].get("_meta"), None);
        for uri in ["docs:///report", "docs:///page", "docs:///"] {
            for content in peer.read(uri).await.as_array().unwrap() {
                assert_eq!(content.get("_meta"), None, "{content}");
                assert!(content["name"].is_string() && content["capabilities"].is_object());
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn meta_of_the_author_is_preserved() {
    let noted = || {
        let mut memo = Resource::new("memo:///a", "a");
        memo.meta = Some(Object::new().with("dev.example/colour", "red"));
        let set = ResourceSet::new().resource(memo, |uri, _| async move {
            let mut content = ResourceContents::of_text(uri, "text/plain", "a");
            content.meta = Some(Object::new().with("dev.example/page", &1));
            Ok(content)
        });
        server().resources(set)
    };
    everywhere(noted, async |peer| {
        let listed = peer.list().await[0].take();
        assert_eq!(listed["_meta"]["dev.example/colour"], "red");
        assert!(listed["_meta"][EXTENSION]["capabilities"].is_object());
        let content = peer.read("memo:///a").await[0].take();
        assert_eq!(content["_meta"]["dev.example/page"], 1);
        assert_eq!(content["_meta"][EXTENSION]["name"], "a");
    })
    .await;
}
