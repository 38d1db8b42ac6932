//! What servers in the wild do with several contents, each within the rules and in a few lines.

use candor_server::protocol::types::{Resource, ResourceContents, ResourceTemplate};
use candor_server::resource::{AsJson, ResourceSet};
use serde_json::{Value, json};

use crate::common::server;
use crate::{everywhere, uris};

/// A member of every content.
pub(crate) fn each<'a>(contents: &'a Value, member: &str) -> Vec<&'a Value> {
    contents.as_array().unwrap().iter().map(|content| &content[member]).collect()
}

fn contexts() -> ResourceSet {
    let context = |set: ResourceSet, name: &'static str| {
        let resource = Resource::new(format!("k8s:///contexts/{name}"), name);
        set.resource(resource, move |_, _| async move { Ok(AsJson(json!({"cluster": name}))) })
    };
    let all = ["dev", "staging", "production"].into_iter().fold(ResourceSet::new(), context);
    ResourceSet::new().folder(Resource::new("k8s:///contexts", "contexts"), all)
}

// Collection/List, 65 %
#[tokio::test(start_paused = true)]
async fn collection_is_served_as_a_folder() {
    everywhere(
        || server().resources(contexts()),
        async |peer| {
            let contents = peer.read("k8s:///contexts").await;
            assert_eq!(each(&contents, "name"), ["dev", "staging", "production"]);
            assert_eq!(each(&contents, "mimeType"), ["application/json"; 3]);
            assert_eq!(contents[0]["text"], r#"{"cluster":"dev"}"#);
            assert_eq!(uris(&peer.children("k8s:///contexts").await), uris(&contents));
        },
    )
    .await;
}

fn item() -> ResourceSet {
    ResourceSet::new().resource(
        Resource::new("test:///item", "item").formats(["text/plain", "application/octet-stream"]),
        |uri, _| async move {
            Ok(vec![
                ResourceContents::of_text(uri.as_str(), "text/plain", "item"),
                ResourceContents::of_blob(uri, "application/octet-stream", "aXRlbQ=="),
            ])
        },
    )
}

// Test/Example, 20 %
#[tokio::test(start_paused = true)]
async fn text_and_blob_of_one_item_are_two_formats() {
    everywhere(
        || server().resources(item()),
        async |peer| {
            let contents = peer.read("test:///item").await;
            assert_eq!(uris(&contents), ["test:///item"; 2]);
            assert_eq!(each(&contents, "size"), [4, 4]);
            assert_eq!(
                (&contents[0]["text"], &contents[1]["blob"]),
                (&json!("item"), &json!("aXRlbQ=="))
            );
        },
    )
    .await;
}

fn guide() -> ResourceSet {
    let section = |set: ResourceSet, number: usize| {
        let uri = format!("guide:///terraform/{number}");
        let section = Resource::new(uri, format!("section {number}")).of_type("text/markdown");
        set.resource(section, move |_, _| async move { Ok(format!("## {number}")) })
    };
    let sections = (1..=6).fold(ResourceSet::new(), section);
    ResourceSet::new().folder(Resource::new("guide:///terraform", "terraform"), sections)
}

// Composite/Sectioned, 8 %
#[tokio::test(start_paused = true)]
async fn guide_is_served_as_a_folder_of_sections() {
    everywhere(
        || server().resources(guide()),
        async |peer| {
            let contents = peer.read("guide:///terraform").await;
            assert_eq!(each(&contents, "text"), ["## 1", "## 2", "## 3", "## 4", "## 5", "## 6"]);
            assert_eq!(each(&contents, "mimeType"), ["text/markdown"; 6]);
            assert_eq!(peer.read("guide:///terraform/4").await[0]["text"], "## 4");
        },
    )
    .await;
}

fn gyazo() -> ResourceSet {
    ResourceSet::new().resource(
        Resource::new("gyazo:///42", "screenshot")
            .titled("A cat")
            .formats(["image/png", "text/markdown"])
            .modified("2026-01-15T10:00:00Z"),
        |uri, _| async move {
            Ok(vec![
                ResourceContents::of_blob(uri.as_str(), "image/png", "iVBORw=="),
                ResourceContents::of_text(uri, "text/markdown", "# A cat"),
            ])
        },
    )
}

// Resource + Metadata, 6 %. What describes the picture is its metadata; as markdown, it is another format of it.
#[tokio::test(start_paused = true)]
async fn picture_and_description_are_one_resource() {
    everywhere(
        || server().resources(gyazo()),
        async |peer| {
            let contents = peer.read("gyazo:///42").await;
            assert_eq!(each(&contents, "title"), ["A cat"; 2]);
            assert_eq!(contents[0]["annotations"]["lastModified"], "2026-01-15T10:00:00Z");
            assert_eq!(contents[1]["text"], "# A cat");
            assert_eq!(
                peer.metadata("gyazo:///42").await["title"],
                "A cat",
                "the metadata has it without the picture"
            );
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn template_serves_resources_that_are_not_listed() {
    let days = || {
        let family = ResourceTemplate::new("memo:///{day}", "memo");
        let set = ResourceSet::new().template(family, |_, variables, _| async move {
            Ok(format!("Nothing on {}", variables["day"]))
        });
        server().resources(set.unwrap())
    };
    everywhere(days, async |peer| {
        assert_eq!(peer.list().await, json!([]));
        assert_eq!(peer.read("memo:///monday").await[0]["text"], "Nothing on monday");
        assert_eq!(peer.metadata("memo:///monday").await["name"], "memo");
    })
    .await;
}
