//! The patterns that have no list in memory behind them, each as a small provider.

use candor_server::Ctx;
use candor_server::protocol::Principal;
use candor_server::protocol::types::{Resource, ResourceContents};
use candor_server::resource::{Contents, Listing, Offers, Page, ResourceSet, Resources};
use candor_server::tool::ToolError;
use serde_json::json;

use crate::common::server;
use crate::patterns::each;
use crate::{everywhere, uris};

/// Fifteen hundred events, of which nobody has a list.
struct Calendar;

impl Calendar {
    fn event(number: usize) -> Resource {
        Resource::new(format!("calendar:///{number}"), format!("event {number}")).definite()
    }
}

impl Resources for Calendar {
    fn offers(&self) -> Offers {
        Offers { children: true, ..Offers::default() }
    }

    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        if uri == "calendar:///" {
            return Ok(Some(Resource::new(uri, "calendar").listable()));
        }
        let number = uri.strip_prefix("calendar:///").and_then(|n| n.parse().ok());
        Ok(number.filter(|n| *n < 1500).map(Self::event))
    }

    async fn children(
        &self,
        _: &str,
        page: Page<'_>,
        _: &Principal,
    ) -> Result<Option<Listing>, ToolError> {
        Ok(Some(Listing::paged((0..1500).map(Self::event).collect(), page)))
    }

    async fn read(&self, uri: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        let content = |uri: &str| ResourceContents::of_text(uri, "text/plain", "lunch");
        Ok(Some(match uri {
            "calendar:///" => {
                (0..3).map(|n| content(&Self::event(n).uri)).collect::<Vec<_>>().into()
            }
            _ => content(uri).into(),
        }))
    }
}

// A collection that is not in memory. A read returns the next few.
#[tokio::test(start_paused = true)]
async fn large_collection_is_read_in_part_and_listed_in_pages() {
    everywhere(
        || server().resources(Calendar),
        async |peer| {
            let next = peer.read("calendar:///").await;
            assert_eq!(each(&next, "name"), ["event 0", "event 1", "event 2"]);
            let page = peer.result("resources/list", &json!({"uri": "calendar:///"})).await;
            assert_eq!(page["resources"].as_array().unwrap().len(), 1000);
            assert!(page["nextCursor"].is_string());
        },
    )
    .await;
}

/// Files by their ids, and any number of them as one resource that lists them.
struct Drive;

impl Drive {
    fn file(id: &str) -> Resource {
        Resource::new(format!("drive:{id}"), id).of_type("text/plain").definite()
    }

    fn ids(uri: &str) -> Option<impl Iterator<Item = &str>> {
        Some(uri.strip_prefix("drive-multi:?ids=")?.split(','))
    }
}

impl Resources for Drive {
    fn offers(&self) -> Offers {
        Offers { children: true, ..Offers::default() }
    }

    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        if Self::ids(uri).is_some() {
            return Ok(Some(Resource::new(uri, "several files").listable()));
        }
        Ok(uri.strip_prefix("drive:").map(Self::file))
    }

    async fn children(
        &self,
        uri: &str,
        page: Page<'_>,
        _: &Principal,
    ) -> Result<Option<Listing>, ToolError> {
        Ok(Self::ids(uri).map(|ids| Listing::paged(ids.map(Self::file).collect(), page)))
    }

    async fn read(&self, uri: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        let Some(ids) = Self::ids(uri) else { return Ok(Some("a file".into())) };
        let file = |id| ResourceContents::of_text(Self::file(id).uri, "text/plain", "a file");
        Ok(Some(ids.map(file).collect::<Vec<_>>().into()))
    }
}

// Batch Fetch, 8 %
#[tokio::test(start_paused = true)]
async fn batch_resource_lists_the_requested_items() {
    everywhere(
        || server().resources(Drive),
        async |peer| {
            let batch = "drive-multi:?ids=a,b,c";
            let contents = peer.read(batch).await;
            assert_eq!(uris(&contents), ["drive:a", "drive:b", "drive:c"]);
            assert_eq!(each(&contents, "name"), ["a", "b", "c"]);
            assert_eq!(uris(&peer.children(batch).await), uris(&contents));
            assert_eq!(peer.read("drive:b").await[0]["text"], "a file");
        },
    )
    .await;
}

/// Whatever is searched for is a resource that lists what was found.
struct Search(ResourceSet);

impl Resources for Search {
    fn offers(&self) -> Offers {
        Offers { children: true, ..Offers::default() }
    }

    async fn metadata(&self, uri: &str, who: &Principal) -> Result<Option<Resource>, ToolError> {
        match uri.strip_prefix("search:?q=") {
            Some(words) => Ok(Some(Resource::new(uri, words).listable())),
            None => self.0.metadata(uri, who).await,
        }
    }

    async fn children(
        &self,
        _: &str,
        page: Page<'_>,
        who: &Principal,
    ) -> Result<Option<Listing>, ToolError> {
        self.0.list(page, who).await.map(Some)
    }

    async fn read(&self, uri: &str, ctx: Ctx) -> Result<Option<Contents>, ToolError> {
        if !uri.starts_with("search:") {
            return self.0.read(uri, ctx).await;
        }
        let top = ["doc:7", "doc:3", "doc:9"];
        let found = top.map(|uri| ResourceContents::of_text(uri, "text/plain", "… cats …"));
        Ok(Some(found.to_vec().into()))
    }
}

// Search Results, 4 %
#[tokio::test(start_paused = true)]
async fn search_resource_lists_its_results() {
    let search = || {
        let documents = (0..10).fold(ResourceSet::new(), |set, n| {
            let document = Resource::new(format!("doc:{n}"), format!("document {n}"));
            set.resource(document, |_, _| async { Ok("cats, from the beginning") })
        });
        server().resources(Search(documents))
    };
    everywhere(search, async |peer| {
        let found = peer.read("search:?q=cats").await;
        assert_eq!(uris(&found), ["doc:7", "doc:3", "doc:9"], "the best first");
        assert_eq!(each(&found, "name"), ["document 7", "document 3", "document 9"]);
        assert_eq!(peer.children("search:?q=cats").await.as_array().unwrap().len(), 10);
        assert_eq!(peer.read("doc:3").await[0]["text"], "cats, from the beginning");
    })
    .await;
}

/// A build: its status is its own content, its errors stand beneath it.
struct Build;

impl Resources for Build {
    fn offers(&self) -> Offers {
        Offers { children: true, ..Offers::default() }
    }

    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        Ok(match uri {
            "build:///7" => Some(Resource::new(uri, "build 7").listable()),
            "build:///7/1" | "build:///7/2" => Some(Resource::new(uri, "error").definite()),
            _ => None,
        })
    }

    async fn children(
        &self,
        _: &str,
        page: Page<'_>,
        who: &Principal,
    ) -> Result<Option<Listing>, ToolError> {
        let mut errors = Vec::new();
        for uri in ["build:///7/1", "build:///7/2"] {
            errors.extend(self.metadata(uri, who).await?);
        }
        Ok(Some(Listing::paged(errors, page)))
    }

    async fn read(&self, uri: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        let text = |uri: &str, text: &str| ResourceContents::of_text(uri, "text/plain", text);
        let errors = [text("build:///7/1", "E0382"), text("build:///7/2", "E0502")];
        Ok(Some(match uri {
            "build:///7" => [vec![text(uri, "2 errors")], errors.to_vec()].concat().into(),
            _ => errors.into_iter().find(|error| error.uri == uri).unwrap().into(),
        }))
    }
}

// Header + Items, 4 %
#[tokio::test(start_paused = true)]
async fn header_is_the_folders_content_and_items_are_children() {
    everywhere(
        || server().resources(Build),
        async |peer| {
            let contents = peer.read("build:///7").await;
            assert_eq!(uris(&contents), ["build:///7", "build:///7/1", "build:///7/2"]);
            assert_eq!(each(&contents, "text"), ["2 errors", "E0382", "E0502"]);
            assert_eq!(each(&contents, "name"), ["build 7", "error", "error"]);
            assert_eq!(uris(&peer.children("build:///7").await), uris(&contents)[1..]);
        },
    )
    .await;
}
