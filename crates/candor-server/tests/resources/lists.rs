//! `resources/list`: where clients begin, and what stands beneath a resource.

use candor_server::protocol::Principal;
use candor_server::protocol::types::Resource;
use candor_server::resource::{Contents, Listing, Offers, Page, ResourceSet, Resources};
use candor_server::tool::ToolError;
use candor_server::{Ctx, Server};
use serde_json::json;

use crate::common::server;
use crate::{docs, everywhere, uris};

#[tokio::test(start_paused = true)]
async fn list_without_a_uri_returns_the_top_level() {
    everywhere(docs, async |peer| {
        assert_eq!(uris(&peer.list().await), ["docs:///", "memo:///today"]);
        let result = peer.result("resources/list", &json!({})).await;
        assert_eq!(result.get("nextCursor"), None);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn list_with_a_uri_returns_its_direct_children() {
    everywhere(docs, async |peer| {
        let children = peer.children("docs:///").await;
        assert_eq!(uris(&children), ["docs:///report", "docs:///old", "docs:///empty"]);
        assert_eq!(uris(&peer.children("docs:///old").await), ["docs:///old/report"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn listed_child_equals_its_metadata() {
    everywhere(docs, async |peer| {
        let children = peer.children("docs:///").await;
        for child in children.as_array().unwrap() {
            assert_eq!(*child, peer.metadata(child["uri"].as_str().unwrap()).await);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn empty_folder_has_an_empty_list() {
    everywhere(docs, async |peer| {
        let result = peer.result("resources/list", &json!({"uri": "docs:///empty"})).await;
        assert_eq!(result, json!({"resources": []}));
    })
    .await;
}

/// Resources of before there were capabilities: nothing is said of what can be done with them.
struct Silent;

impl Resources for Silent {
    fn prefix(&self) -> &'static str {
        "silent:"
    }

    fn offers(&self) -> Offers {
        Offers { children: true, watching: true, ..Offers::default() }
    }

    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        Ok(Some(Resource::new(uri, "silent")))
    }

    async fn children(
        &self,
        _: &str,
        _: Page<'_>,
        _: &Principal,
    ) -> Result<Option<Listing>, ToolError> {
        panic!("nobody may ask: it was never said that there are any")
    }

    async fn read(&self, _: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        Ok(Some("nothing".into()))
    }
}

#[tokio::test(start_paused = true)]
async fn unlistable_and_missing_resources_have_different_errors() {
    let with_silent = || docs().resources(Silent);
    let not_listable = "This resource has no children to list: its capabilities.list is not true";
    // To official clients, data with a URI means that there is no such resource.
    let coded = json!({"dev.candor/error": {"code": "not_listable"}});
    let cases = [
        ("docs:///report", not_listable, coded.clone()),
        ("silent:///a/", not_listable, coded),
        ("docs:///nowhere", "Resource not found", json!({"uri": "docs:///nowhere"})),
    ];
    everywhere(with_silent, async |peer| {
        assert_eq!(peer.metadata("silent:///a/").await.get("capabilities"), None);
        for (uri, message, data) in &cases {
            let error = peer.error("resources/list", &json!({"uri": uri}), -32602).await;
            assert_eq!(error, json!({"code": -32602, "message": message, "data": data}));
        }
    })
    .await;
}

/// Looks like folders, and are none.
fn misleading() -> Server {
    let folder_by_type = Resource::new("docs:///a", "a").of_type("inode/directory");
    let folder_by_slash = Resource::new("docs:///b/", "b");
    let resources = ResourceSet::new()
        .resource(folder_by_type, |_, _| async { Ok("a") })
        .resource(folder_by_slash, |_, _| async { Ok("b") })
        .folder(Resource::new("docs:///plain", "plain"), ResourceSet::new());
    server().resources(resources)
}

#[tokio::test(start_paused = true)]
async fn media_type_and_slash_do_not_make_a_folder() {
    everywhere(misleading, async |peer| {
        for uri in ["docs:///a", "docs:///b/"] {
            assert_eq!(peer.metadata(uri).await["capabilities"]["list"], false);
            peer.error("resources/list", &json!({"uri": uri}), -32602).await;
        }
        assert_eq!(peer.metadata("docs:///plain").await["capabilities"]["list"], true);
        assert_eq!(peer.children("docs:///plain").await, json!([]));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn list_uri_must_be_a_string_or_null() {
    everywhere(docs, async |peer| {
        let default = peer.result("resources/list", &json!({})).await;
        for params in [json!({"uri": null}), json!({"uri": null, "cursor": null})] {
            let listed = peer.result("resources/list", &params).await;
            assert_eq!(listed["resources"], default["resources"], "{params}");
        }
        for uri in [json!(7), json!([])] {
            let error = peer.error("resources/list", &json!({"uri": uri}), -32602).await;
            let message = error["message"].as_str().unwrap();
            assert!(message.starts_with("Invalid params: /uri"), "{message}");
        }
    })
    .await;
}

/// Every number is a folder with the next one in it, and zero is in all of them: endless and with cycles.
struct Numbers;

impl Resources for Numbers {
    fn offers(&self) -> Offers {
        Offers { children: true, ..Offers::default() }
    }

    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        let number = uri.strip_prefix("number:").and_then(|n| n.parse::<u64>().ok());
        Ok(number.map(|number| Resource::new(uri, number.to_string()).listable()))
    }

    async fn children(
        &self,
        uri: &str,
        _: Page<'_>,
        who: &Principal,
    ) -> Result<Option<Listing>, ToolError> {
        let number: u64 = uri.trim_start_matches("number:").parse()?;
        let mut inside = Vec::new();
        for other in [number + 1, 0] {
            inside.extend(self.metadata(&format!("number:{other}"), who).await?);
        }
        inside.retain(|other| other.uri != uri);
        Ok(Some(Listing::whole(inside)))
    }

    async fn read(&self, uri: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        Ok(Some(uri.to_owned().into()))
    }
}

/// A client that walks such a tree must stop by itself. The server answers each step separately.
#[tokio::test(start_paused = true)]
async fn endless_and_cyclic_trees_are_listed_step_by_step() {
    everywhere(
        || server().resources(Numbers),
        async |peer| {
            assert_eq!(peer.list().await, json!([]));
            assert_eq!(uris(&peer.children("number:0").await), ["number:1"]);
            let far = peer.children("number:123456789").await;
            assert_eq!(uris(&far), ["number:123456790", "number:0"]);
        },
    )
    .await;
}
