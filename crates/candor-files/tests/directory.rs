//! A folder as clients of a server see it, in both eras: what the operating system says, and nothing from outside.
#![cfg(unix)]

mod common;

#[allow(dead_code, reason = "one connection for all test files")]
#[path = "watching/ear.rs"]
mod ear;
#[path = "directory/escapes.rs"]
mod escapes;
#[path = "directory/naming.rs"]
mod naming;
#[path = "directory/paging.rs"]
mod paging;
#[path = "directory/reading.rs"]
mod reading;
#[path = "directory/walk.rs"]
mod walk;

use candor_files::Directory;
use candor_server::Server;
use candor_server::testing::TestClient;
use common::Scratch;
use serde_json::{Value, json};

fn server(directory: Directory) -> Server {
    Server::new("files", "1.0.0").resources(directory)
}

/// A client of each era.
fn both(directory: &Directory) -> [TestClient; 2] {
    [server(directory.clone()).test(), server(directory.clone()).test_legacy()]
}

fn docs(scratch: &Scratch) -> Directory {
    Directory::open(scratch.inside("")).unwrap().at("docs:///")
}

async fn ask(client: &TestClient, method: &str, uri: &str) -> Value {
    let answer = client.request(method, json!({"uri": uri})).await;
    answer.unwrap_or_else(|error| panic!("{method} {uri}: {error:?}"))
}

async fn metadata(client: &TestClient, uri: &str) -> Value {
    ask(client, "resources/metadata", uri).await["resource"].take()
}

/// All pages of a folder.
async fn children(client: &TestClient, uri: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let mut params = json!({"uri": uri});
    loop {
        let mut page = client.request("resources/list", &params).await.unwrap();
        all.extend(page["resources"].as_array().unwrap().iter().cloned());
        match page["nextCursor"].take() {
            Value::Null => return all,
            cursor => params["cursor"] = cursor,
        }
    }
}

fn uri_of(resource: &Value) -> &str {
    resource["uri"].as_str().unwrap_or_else(|| panic!("no URI: {resource}"))
}
