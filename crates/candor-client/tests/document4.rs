//! Resource trees of a server that implements document 4 and knows nothing of this project: both eras, both transports.

mod common;

use std::future::IntoFuture as _;
use std::path::PathBuf;
use std::process::Stdio;

use candor_client::{Client, Connect, Era, Error, Interest, Program};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use common::soon;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/document4.py");

/// A way to the scripted server, and what the server was asked.
struct Way {
    name: String,
    connect: Option<Connect>,
    asked: PathBuf,
    /// Ends with the test.
    _server: Option<tokio::process::Child>,
}

impl Way {
    fn connect(&mut self) -> Connect {
        self.connect.take().expect("connects once")
    }

    /// The requests of one method, each as its `uri`, or an empty text for none.
    fn asked(&self, method: &str) -> Vec<String> {
        let text = std::fs::read_to_string(&self.asked).unwrap_or_default();
        let messages = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        messages
            .filter(|message| message["method"] == method)
            .map(|message| message["params"]["uri"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

/// The four ways to a server with these quirks.
async fn ways(test: &str, quirks: &[&str]) -> Vec<Way> {
    let folder = std::env::temp_dir().join(format!("candor-document4-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut ways = Vec::new();
    for era in [Era::Legacy, Era::Modern] {
        let word = if era == Era::Legacy { "legacy" } else { "modern" };
        let asked = |transport: &str| folder.join(format!("{test}-{word}-{transport}"));

        let at = asked("stdio");
        let program = Program::new("python3").args([SCRIPT, word]).args(quirks.to_vec());
        let program = program.env("ASKED", at.to_string_lossy());
        let connect = Some(Client::start(program));
        ways.push(Way { name: format!("{word} stdio"), connect, asked: at, _server: None });

        let at = asked("http");
        let mut server = Command::new("python3");
        server.args([SCRIPT, word, "--http"]).args(quirks).env("ASKED", &at);
        let mut server = server.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let url = soon(lines.next_line()).await.unwrap().unwrap();
        let connect = Some(Client::connect(url));
        ways.push(Way { name: format!("{word} HTTP"), connect, asked: at, _server: Some(server) });
    }
    ways
}

async fn walked(client: &Client, uri: Option<&str>) -> Vec<(usize, String)> {
    let mut walk = uri.map_or_else(|| client.walk_all(), |uri| client.walk(uri));
    let mut found = Vec::new();
    while let Some(step) = soon(walk.next()).await {
        let step = step.unwrap();
        found.push((step.depth, step.resource.uri.trim_start_matches("doc:///").to_owned()));
    }
    assert_eq!(walk.stopped(), None);
    found
}

fn tree(steps: &[(usize, &str)]) -> Vec<(usize, String)> {
    steps.iter().map(|(depth, uri)| (*depth, (*uri).to_owned())).collect()
}

#[tokio::test]
async fn walk_of_a_document_4_server_lists_each_listable_resource_by_its_uri() {
    for mut way in ways("walk", &[]).await {
        let name = way.name.clone();
        let client = soon(way.connect().into_future()).await.unwrap();
        let beneath = [(0, "src"), (1, "src/a"), (1, "src/loop"), (1, "src/b"), (0, "readme")];
        assert_eq!(walked(&client, None).await, tree(&beneath), "{name}");
        let whole: Vec<_> = beneath.iter().map(|(depth, uri)| (depth + 1, *uri)).collect();
        let whole = [&[(0, "")][..], &whole].concat();
        assert_eq!(walked(&client, Some("doc:///")).await, tree(&whole), "{name}");
        let listed = way.asked("resources/list");
        assert!(listed.contains(&"doc:///src/loop".to_owned()), "{name}: {listed:?}");
        assert!(!listed.iter().any(|uri| uri == "doc:///readme"), "not listable: {listed:?}");
        assert!(way.asked("resources/read").is_empty(), "{name}: no content is loaded");
        let children = soon(client.children("doc:///")).await.unwrap().unwrap();
        assert_eq!(children.len(), 2, "{name}");
        let refused = soon(client.children("doc:///readme")).await.unwrap_err();
        assert!(matches!(refused, Error::Server(_)), "{name}: {refused}");
        soon(client.close()).await;
    }
}

#[tokio::test]
async fn metadata_of_a_document_4_server_comes_from_its_method() {
    for mut way in ways("metadata", &[]).await {
        let name = way.name.clone();
        let client = soon(way.connect().into_future()).await.unwrap();
        let readme = soon(client.metadata("doc:///readme")).await.unwrap();
        assert_eq!((readme.title.as_deref(), readme.is_watchable()), (Some("Read me"), true));
        assert_eq!(way.asked("resources/metadata"), ["doc:///readme"], "{name}");
        assert!(way.asked("resources/list").is_empty() && way.asked("resources/read").is_empty());
        let missing = soon(client.metadata("doc:///nowhere")).await.unwrap_err();
        assert!(matches!(missing, Error::Server(_)), "{name}: {missing}");
        soon(client.close()).await;
    }
}

#[tokio::test]
async fn metadata_without_the_method_comes_from_the_list_or_the_content() {
    for quirk in ["no-metadata", "odd-metadata"] {
        for mut way in ways(quirk, &[quirk]).await {
            let name = format!("{quirk}, {}", way.name);
            let client = soon(way.connect().into_future()).await.unwrap();
            let listed = soon(client.describe("doc:///readme")).await.unwrap();
            assert_eq!(listed.resource.title.as_deref(), Some("Read me"), "{name}");
            // Only -32601 says that the method is missing.
            let refused = listed.refused.map(|error| error.to_string());
            assert_eq!(refused.is_some(), quirk == "odd-metadata", "{name}: {refused:?}");
            let read = soon(client.metadata("doc:///src/a")).await.unwrap();
            assert_eq!(read.name, "a", "{name}");
            assert_eq!(way.asked("resources/read"), ["doc:///src/a"], "{name}");
            let missing = soon(client.metadata("doc:///nowhere")).await.unwrap_err();
            assert!(matches!(missing, Error::Server(_)), "{name}: {missing}");
            // The client stores an answer of -32601. Another error may be about one resource, until a listed one has it too.
            let asked = way.asked("resources/metadata").len();
            assert_eq!(asked, if quirk == "no-metadata" { 1 } else { 2 }, "{name}");
            soon(client.close()).await;
        }
    }
}

#[tokio::test]
async fn metadata_error_is_final_if_another_resource_has_metadata() {
    for mut way in ways("broken", &["broken-metadata"]).await {
        let name = way.name.clone();
        let client = soon(way.connect().into_future()).await.unwrap();
        // One that is listed, and one that only a read could describe.
        for uri in ["doc:///readme", "doc:///src/a"] {
            let refused = soon(client.metadata(uri)).await.unwrap_err();
            assert!(refused.to_string().contains("Index is broken"), "{name}: {refused}");
        }
        assert!(way.asked("resources/read").is_empty(), "{name}");
        soon(client.close()).await;
    }
}

/// Document 4, section 5: a read of a container may return nothing but its children.
#[tokio::test]
async fn container_metadata_is_never_taken_from_a_child() {
    for quirks in [&["no-metadata"][..], &["no-metadata", "ignores-uri"]] {
        for mut way in ways(&format!("container-{}", quirks.len()), quirks).await {
            let name = format!("{quirks:?}, {}", way.name);
            let client = soon(way.connect().into_future()).await.unwrap();
            let folder = soon(client.metadata("doc:///src/loop")).await.unwrap();
            assert_eq!(folder.uri, "doc:///src/loop", "{name}");
            // Only the server that lists children proves that it does.
            assert_eq!(folder.is_listable(), quirks.len() == 1, "{name}");
            let whole = [(0, "src/loop"), (1, "src"), (2, "src/a"), (2, "src/b")];
            assert_eq!(walked(&client, Some("doc:///src/loop")).await, tree(&whole), "{name}");
            let respelled = soon(client.metadata("DOC:///src/%61")).await.unwrap();
            assert_eq!(respelled.name, "a", "{name}");
            soon(client.close()).await;
        }
    }
}

#[tokio::test]
async fn metadata_from_a_read_of_another_resource_is_an_error() {
    for mut way in ways("strays", &["no-metadata", "strays"]).await {
        let client = soon(way.connect().into_future()).await.unwrap();
        let error = soon(client.metadata("doc:///src/b")).await.unwrap_err();
        assert!(error.to_string().contains("not listable"), "{}: {error}", way.name);
        soon(client.close()).await;
    }
}

#[tokio::test]
async fn not_found_from_a_server_with_metadata_is_final() {
    // The error of the last one names no resource. Its metadata of a listed resource shows that it has the method.
    for (quirks, listed) in [
        (&["reads-all", "names-uri"][..], 0),
        (&["reads-all", "names-uri", "empty-default"], 0),
        (&["reads-all"], 1),
    ] {
        for mut way in ways(&quirks.concat(), quirks).await {
            let name = format!("{quirks:?}, {}", way.name);
            let client = soon(way.connect().into_future()).await.unwrap();
            for _ in 0..2 {
                let missing = soon(client.metadata("doc:///nope")).await.unwrap_err();
                assert!(missing.to_string().contains("Resource not found"), "{name}: {missing}");
            }
            let whole = way.asked("resources/list").into_iter().filter(String::is_empty).count();
            // The code of the legacy era says by itself that the resource is missing. The modern list has two pages.
            let expected = if name.contains("legacy") { 0 } else { listed * 2 };
            assert_eq!(whole, expected, "{name}");
            assert!(way.asked("resources/read").is_empty(), "{name}");
            soon(client.close()).await;
        }
    }
}

#[tokio::test]
async fn children_are_listed_despite_an_empty_default_list() {
    for quirks in [&["empty-default"][..], &["unknown-empty"], &["empty-default", "unknown-empty"]]
    {
        for mut way in ways(&quirks.concat(), quirks).await {
            let name = format!("{quirks:?}, {}", way.name);
            let client = soon(way.connect().into_future()).await.unwrap();
            let nothing = soon(client.children("doc:///nowhere")).await;
            let expected = if quirks.contains(&"unknown-empty") { Some(0) } else { None };
            let nothing = nothing.ok().map(|found| found.unwrap().len());
            assert_eq!(nothing, expected, "{name}");
            let whole = [(0, ""), (1, "src"), (2, "src/a"), (2, "src/loop"), (2, "src/b")];
            let whole = [&whole[..], &[(1, "readme")]].concat();
            assert_eq!(walked(&client, Some("doc:///")).await, tree(&whole), "{name}");
            let children = soon(client.children("doc:///")).await.unwrap().unwrap();
            assert_eq!(children.len(), 2, "{name}");
            soon(client.close()).await;
        }
    }
}

#[tokio::test]
async fn walk_never_takes_the_default_list_for_children() {
    for mut way in ways("ignores", &["ignores-uri"]).await {
        let name = way.name.clone();
        let client = soon(way.connect().into_future()).await.unwrap();
        assert!(soon(client.children("doc:///src/loop")).await.unwrap().is_none(), "{name}");
        // Only a read of the folder shows its children.
        let found = walked(&client, Some("doc:///src")).await;
        let expected = [(0, "src"), (1, "src/a"), (1, "src/loop"), (1, "src/b")];
        assert_eq!(found, tree(&expected), "{name}");
        soon(client.close()).await;
    }
}

#[tokio::test]
async fn watchable_resource_is_subscribed_without_a_server_capability() {
    for mut way in ways("subscribe", &[]).await.into_iter().filter(|way| way.name.starts_with('l'))
    {
        let client = soon(way.connect().into_future()).await.unwrap();
        let interest = |uri: &str| Interest::new().resource(uri);
        soon(client.listen(interest("doc:///readme"))).await.unwrap();
        assert_eq!(way.asked("resources/subscribe"), ["doc:///readme"], "{}", way.name);
        let refused = soon(client.listen(interest("doc:///src"))).await.unwrap_err();
        assert!(matches!(refused, Error::Unsupported(_)), "{}: {refused}", way.name);
        soon(client.close()).await;
    }
}
