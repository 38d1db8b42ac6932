//! `resources/read`: contents that say what they are.

use candor_server::protocol::Principal;
use candor_server::protocol::types::Resource;
use candor_server::resource::{Contents, ResourceSet, Resources};
use candor_server::tool::ToolError;
use candor_server::{Ctx, Server};
use serde_json::{Value, json};

use crate::common::server;
use crate::{described, described_json, docs, everywhere, everywhere_knowing, knowing, uris};

/// What a content says of its resource.
pub(crate) fn metadata_of(content: &Value) -> Value {
    let mut members = content.as_object().unwrap().clone();
    members.retain(|key, _| !["text", "blob", "_meta"].contains(&key.as_str()));
    Value::Object(members)
}

#[tokio::test(start_paused = true)]
async fn content_is_the_metadata_of_its_resource_plus_text() {
    let one = || {
        server().resources(ResourceSet::new().resource(described(), |_, _| async { Ok("hello") }))
    };
    everywhere_knowing(&knowing(), one, async |peer| {
        let mut expected = described_json();
        expected["text"] = json!("hello");
        let result = peer.result("resources/read", &json!({"uri": "docs:///report"})).await;
        assert_eq!(result, json!({"contents": [expected]}));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn binary_content_is_a_blob_with_its_decoded_size() {
    let bytes = || {
        let picture = Resource::new("docs:///dot", "dot").of_type("image/png");
        let set =
            ResourceSet::new().resource(picture, |_, _| async { Ok(vec![0xff_u8, 0, 0x80, 1]) });
        server().resources(set)
    };
    everywhere(bytes, async |peer| {
        let content = peer.read("docs:///dot").await[0].take();
        assert_eq!((&content["blob"], &content["size"]), (&json!("/wCAAQ=="), &json!(4)));
        assert_eq!(content["mimeType"], "image/png");
        assert_eq!(content.get("text"), None);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn read_list_and_metadata_agree_on_a_resource() {
    everywhere_knowing(&knowing(), docs, async |peer| {
        let content = metadata_of(&peer.read("docs:///report").await[0]);
        assert_eq!(content, described_json());
        assert_eq!(peer.metadata("docs:///report").await, content);
        assert_eq!(peer.children("docs:///").await[0], content);
    })
    .await;
}

/// A title that changes with every request, by a provider that has it in one place.
struct Clock(std::sync::atomic::AtomicUsize);

impl Resources for Clock {
    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        let hour = self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Ok(Some(Resource::new(uri, "clock").titled(format!("{hour} o'clock")).definite()))
    }

    async fn read(&self, _: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        Ok(Some("tick".into()))
    }
}

// Content and metadata are of the same time.
#[tokio::test(start_paused = true)]
async fn content_has_the_metadata_of_the_time_of_the_read() {
    everywhere(
        || server().resources(Clock(Default::default())),
        async |peer| {
            assert_eq!(peer.metadata("time:now").await["title"], "0 o'clock");
            assert_eq!(peer.read("time:now").await[0]["title"], "1 o'clock");
            assert_eq!(peer.metadata("time:now").await["title"], "2 o'clock");
        },
    )
    .await;
}

fn two_of_one_uri() -> Server {
    let first = Resource::new("docs:///a", "first");
    let second = Resource::new("docs:///a", "second");
    let set = ResourceSet::new()
        .resource(first, |_, _| async { Ok("first") })
        .resource(second, |_, _| async { Ok("second") });
    server().resources(set)
}

#[tokio::test(start_paused = true)]
async fn first_of_two_equal_uris_is_read_and_described() {
    everywhere(two_of_one_uri, async |peer| {
        assert_eq!(peer.read("docs:///a").await[0]["text"], "first");
        assert_eq!(peer.metadata("docs:///a").await["name"], "first");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn only_the_first_of_two_equal_uris_is_listed() {
    everywhere(two_of_one_uri, async |peer| {
        let list = peer.list().await;
        assert_eq!(uris(&list), ["docs:///a"]);
        assert_eq!(list[0]["name"], "first");
    })
    .await;
}
