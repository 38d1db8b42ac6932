//! Resources as clients see them: a tree of what can be listed, described, read and watched.
//!
//! Every scenario runs six times: in both eras, over stdio, over HTTP, and by the endpoint in this process (`peer`). Where
//! there is no socket the clock is paused: a time limit that passes means "nothing more can happen", so silence is asserted
//! without waiting for luck.

#![allow(missing_docs)]

#[allow(unused_imports)]
mod common;

#[path = "resources/directory.rs"]
mod directory;
#[path = "resources/embedded.rs"]
mod embedded;
#[path = "resources/flood.rs"]
mod flood;
#[path = "resources/folders.rs"]
mod folders;
#[path = "resources/formats.rs"]
mod formats;
#[allow(dead_code)]
#[path = "stdio/client.rs"]
mod lines;
#[path = "resources/lists.rs"]
mod lists;
#[path = "resources/log.rs"]
mod log;
#[path = "resources/metadata.rs"]
mod metadata;
#[path = "resources/mirror.rs"]
mod mirror;
#[path = "resources/mounts.rs"]
mod mounts;
#[path = "resources/pages.rs"]
mod pages;
#[path = "resources/patterns.rs"]
mod patterns;
#[path = "resources/peer.rs"]
mod peer;
#[path = "resources/principals.rs"]
mod principals;
#[path = "resources/promises.rs"]
mod promises;
#[path = "resources/providers.rs"]
mod providers;
#[path = "resources/reading.rs"]
mod reading;
#[path = "resources/returning.rs"]
mod returning;
#[path = "resources/rules.rs"]
mod rules;
#[path = "resources/schema.rs"]
mod schema;
#[path = "resources/watching.rs"]
mod watching;

use candor_server::Server;
use candor_server::protocol::json::Number;
use candor_server::protocol::types::{Icon, Resource, Role};
use candor_server::resource::ResourceSet;
use common::server;
use peer::{Peer, everywhere, everywhere_knowing};
use serde_json::{Value, json};

/// What a client declares that reads our members themselves.
const EXTENSION: &str = "dev.candor/resource";

fn knowing() -> Value {
    json!({"extensions": {EXTENSION: {}}})
}

/// A resource of which everything is said.
fn described() -> Resource {
    let mut resource = Resource::new("docs:///report", "report")
        .titled("Quarterly report")
        .described("How it went")
        .of_type("text/plain")
        .sized(5)
        .modified("2026-01-15T10:00:00Z")
        .definite();
    resource.icons = Some(vec![Icon::new("https://example.org/report.png")]);
    let annotations = resource.annotations.as_mut().unwrap();
    annotations.audience = Some(vec![Role::User, Role::Assistant]);
    annotations.priority = Number::from_f64(0.5);
    resource
}

/// The same on the wire.
fn described_json() -> Value {
    json!({
        "uri": "docs:///report",
        "name": "report",
        "title": "Quarterly report",
        "description": "How it went",
        "mimeType": "text/plain",
        "size": 5,
        "icons": [{"src": "https://example.org/report.png"}],
        "annotations": {
            "audience": ["user", "assistant"],
            "priority": 0.5,
            "lastModified": "2026-01-15T10:00:00Z",
        },
        "capabilities": {"list": false, "subscribe": false},
    })
}

/// A tree of three levels and an empty folder:
///
/// ```text
/// docs:///          (listable)
///   docs:///report
///   docs:///old     (listable)
///     docs:///old/report
///   docs:///empty   (listable)
/// memo:///today     (watchable)
/// ```
fn tree() -> ResourceSet {
    let old = Resource::new("docs:///old/report", "old report");
    let inside = ResourceSet::new()
        .resource(described(), |_, _| async { Ok("hello") })
        .folder(
            Resource::new("docs:///old", "old"),
            ResourceSet::new().resource(old, |_, _| async { Ok("long ago") }),
        )
        .folder(Resource::new("docs:///empty", "empty"), ResourceSet::new());
    ResourceSet::new()
        .folder(Resource::new("docs:///", "docs"), inside)
        .resource(Resource::new("memo:///today", "today"), |_, _| async { Ok("Buy milk") })
        .watched("memo:///today")
}

fn docs() -> Server {
    server().resources(tree())
}

/// The URIs of what was listed or read.
fn uris(items: &Value) -> Vec<&str> {
    let items = items.as_array().unwrap_or_else(|| panic!("a list: {items}")).iter();
    items.map(|item| item["uri"].as_str().unwrap()).collect()
}
