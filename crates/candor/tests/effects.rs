//! What a call does, from the author's words to the wire: `#[tool(…)]`, `#[effect(…)]`, rows and functions, as clients of both
//! eras see it; and the examples, whose calls do what was foreseen.

#![allow(missing_docs)]

#[path = "effects/file_server.rs"]
mod file_server;
#[path = "effects/functions.rs"]
mod functions;
#[path = "effects/mistakes.rs"]
mod mistakes;
#[path = "effects/motivation.rs"]
mod motivation;
#[path = "effects/rows.rs"]
mod rows;
#[path = "effects/scratch.rs"]
mod scratch;
#[path = "effects/toolboxes.rs"]
mod toolboxes;
#[path = "effects/variants.rs"]
mod variants;
#[path = "effects/words.rs"]
mod words;

use std::sync::Arc;

use candor::testing::TestClient;
use candor::tool::Tool;
use candor::{Server, json};
use serde_json::Value;

type Tools = Vec<Arc<dyn Tool>>;

fn server(tools: Tools) -> Server {
    Server::new("test", "1.0.0").tools(tools)
}

/// A client of each era.
fn both(tools: impl Fn() -> Tools) -> [TestClient; 2] {
    [server(tools()).test(), server(tools()).test_legacy()]
}

/// Hints as they are sent: read-only, destructive, idempotent, open world.
fn hints(read_only: bool, destructive: bool, idempotent: bool, open_world: bool) -> Value {
    json!({
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": open_world,
    })
}

fn reads() -> Value {
    hints(true, false, true, true)
}

fn adds() -> Value {
    hints(false, false, false, true)
}

fn worst() -> Value {
    hints(false, true, false, true)
}

/// What is published of a tool, as it comes.
async fn published(client: &TestClient, tool: &str) -> Value {
    let listed = client.request("tools/list", ()).await.unwrap();
    let tools = listed["tools"].as_array().unwrap();
    tools.iter().find(|listed| listed["name"] == tool).expect("the tool is listed").clone()
}

/// What the server says of a call.
async fn foreseen(client: &TestClient, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let answer = client.request("tools/annotations", &params).await;
    answer.unwrap_or_else(|error| panic!("{params}: {error:?}"))["annotations"].clone()
}

/// Asks about each call, in both eras.
async fn expect(
    tools: impl Fn() -> Tools,
    tool: &str,
    calls: impl IntoIterator<Item = (Value, Value)>,
) {
    let clients = both(tools);
    for (arguments, expected) in calls {
        for client in &clients {
            assert_eq!(foreseen(client, tool, arguments.clone()).await, expected, "{arguments}");
        }
    }
}

/// The static hints, in both eras, and that there is more to ask for.
async fn expect_static(tools: impl Fn() -> Tools, tool: &str, expected: &Value) {
    for client in both(tools) {
        let tool = published(&client, tool).await;
        assert_eq!(tool["annotations"], *expected, "{tool}");
        assert_eq!(tool["dynamicAnnotations"], true, "{tool}");
    }
}

/// Why a server with these tools cannot be built.
fn refused(tools: Tools) -> String {
    server(tools).build().expect_err("it cannot be built").to_string()
}
