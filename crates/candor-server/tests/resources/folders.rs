//! Reading what lists children: some of them, all of them, or something of its own.

use candor_server::Ctx;
use candor_server::protocol::Principal;
use candor_server::protocol::types::{Resource, ResourceContents};
use candor_server::resource::{Contents, Listing, Offers, Page, ResourceSet, Resources};
use candor_server::tool::ToolError;
use serde_json::json;

use crate::common::server;
use crate::reading::metadata_of;
use crate::{docs, everywhere, everywhere_knowing, knowing, uris};

/// A folder: two children in TypeScript, with or without the names that only the tree knows.
struct Sources {
    named: bool,
}

const SRC: &str = "file:///projects/src";
const FILES: [(&str, &str); 2] =
    [("main.ts", "import { app } from './app';\n..."), ("app.ts", "export const app = ...")];

impl Resources for Sources {
    fn prefix(&self) -> &'static str {
        "file:///projects"
    }

    fn offers(&self) -> Offers {
        Offers { children: true, ..Offers::default() }
    }

    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        if uri == SRC {
            return Ok(Some(Resource::new(SRC, "src").listable()));
        }
        let file = FILES.iter().find(|(name, _)| uri == format!("{SRC}/{name}"));
        Ok(file.map(|(name, _)| {
            Resource::new(uri, *name).of_type("text/typescript").titled("Source").definite()
        }))
    }

    async fn children(
        &self,
        _: &str,
        page: Page<'_>,
        who: &Principal,
    ) -> Result<Option<Listing>, ToolError> {
        let mut files = Vec::new();
        for (name, _) in FILES {
            files.extend(self.metadata(&format!("{SRC}/{name}"), who).await?);
        }
        Ok(Some(Listing::paged(files, page)))
    }

    async fn read(&self, uri: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        let content = |(name, text): (&str, &str)| {
            let mut content = ResourceContents::new(format!("{SRC}/{name}"));
            content.text = Some(text.to_owned());
            if self.named {
                content.name = Some(name.to_owned());
                content.mime_type = Some("text/typescript".to_owned());
            }
            content
        };
        let all = FILES.into_iter().map(content);
        Ok(Some(all.filter(|c| uri == SRC || c.uri == uri).collect::<Vec<_>>().into()))
    }
}

#[tokio::test(start_paused = true)]
async fn reading_a_folder_can_return_its_children() {
    everywhere_knowing(
        &knowing(),
        || server().resources(Sources { named: true }),
        async |peer| {
            let expected = FILES.map(|(name, text)| {
                json!({
                    "uri": format!("{SRC}/{name}"),
                    "name": name,
                    "title": "Source",
                    "mimeType": "text/typescript",
                    "size": text.len(),
                    "capabilities": {"list": false, "subscribe": false},
                    "text": text,
                })
            });
            assert_eq!(peer.read(SRC).await, json!(expected));
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn children_without_metadata_are_described_by_the_tree() {
    everywhere_knowing(
        &knowing(),
        || server().resources(Sources { named: false }),
        async |peer| {
            for (content, (name, text)) in
                peer.read(SRC).await.as_array().unwrap().iter().zip(FILES)
            {
                let mut expected = peer.metadata(&format!("{SRC}/{name}")).await;
                assert_eq!(expected["title"], "Source");
                expected["size"] = json!(text.len());
                assert_eq!(metadata_of(content), expected);
            }
        },
    )
    .await;
}

// Reading the folder also reads its children.
#[tokio::test(start_paused = true)]
async fn child_read_with_its_folder_equals_the_child_read_alone() {
    everywhere_knowing(
        &knowing(),
        || server().resources(Sources { named: true }),
        async |peer| {
            let along = peer.read(SRC).await;
            let alone = peer.read(&format!("{SRC}/main.ts")).await;
            assert_eq!(along[0], alone[0]);
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn reading_a_large_folder_returns_only_some_children() {
    let large = || {
        let files = (0..60).fold(ResourceSet::new(), |set, n| {
            let file = Resource::new(format!("docs:///{n}"), n.to_string());
            set.resource(file, |uri, _| async move { Ok(uri) })
        });
        server().resources(ResourceSet::new().folder(Resource::new("docs:///", "docs"), files))
    };
    everywhere(large, async |peer| {
        let read = peer.read("docs:///").await;
        let listed = peer.children("docs:///").await;
        assert_eq!(listed.as_array().unwrap().len(), 60);
        assert!(read.as_array().unwrap().len() < 60, "only some of them");
        assert_eq!(uris(&read), uris(&listed)[..uris(&read).len()]);
        assert!(!uris(&read).is_empty());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn folder_with_a_repeated_uri_is_read_and_listed_with_the_first_only() {
    let twice = || {
        let inside = ["first", "second"].into_iter().fold(ResourceSet::new(), |set, text| {
            let file = Resource::new("docs:///same", text);
            set.resource(file, move |_, _| async move { Ok(text) })
        });
        server().resources(ResourceSet::new().folder(Resource::new("docs:///", "docs"), inside))
    };
    everywhere(twice, async |peer| {
        assert_eq!(uris(&peer.children("docs:///").await), ["docs:///same"]);
        let read = peer.read("docs:///").await;
        assert_eq!(uris(&read), ["docs:///same"]);
        assert_eq!(read[0]["text"], "first");
    })
    .await;
}

// Only a resource that cannot be listed must have at least one content.
#[tokio::test(start_paused = true)]
async fn empty_folder_is_read_as_nothing() {
    everywhere(docs, async |peer| {
        assert_eq!(peer.read("docs:///empty").await, json!([]));
        assert_eq!(
            uris(&peer.read("docs:///").await),
            ["docs:///report"],
            "subfolders are not read"
        );
    })
    .await;
}

/// A directory with a summary of its own.
struct Summary;

impl Resources for Summary {
    fn offers(&self) -> Offers {
        Offers { children: true, ..Offers::default() }
    }

    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        Ok(match uri {
            "wiki:///" => Some(Resource::new(uri, "wiki").of_type("text/markdown").listable()),
            "wiki:///a" => Some(Resource::new(uri, "a").definite()),
            _ => None,
        })
    }

    async fn children(
        &self,
        _: &str,
        _: Page<'_>,
        who: &Principal,
    ) -> Result<Option<Listing>, ToolError> {
        Ok(Some(Listing::whole(self.metadata("wiki:///a", who).await?.into_iter().collect())))
    }

    async fn read(&self, uri: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        Ok(Some(if uri == "wiki:///" { "# One page" } else { "A" }.into()))
    }
}

#[tokio::test(start_paused = true)]
async fn resource_can_be_both_read_and_listed() {
    everywhere_knowing(
        &knowing(),
        || server().resources(Summary),
        async |peer| {
            assert_eq!(
                peer.read("wiki:///").await,
                json!([{
                    "uri": "wiki:///",
                    "name": "wiki",
                    "mimeType": "text/markdown",
                    "size": 10,
                    "capabilities": {"list": true, "subscribe": false},
                    "text": "# One page",
                }])
            );
            assert_eq!(uris(&peer.children("wiki:///").await), ["wiki:///a"]);
        },
    )
    .await;
}
