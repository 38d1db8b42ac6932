//! Tools from functions: what `#[tool]`, `#[toolbox]`, `#[candor::args]` and `tools![]` make of a signature, as clients of both
//! eras see it.

#![allow(missing_docs)]
// Some tools have nothing to wait for.
#![allow(clippy::unused_async)]

#[path = "tools/accepted.rs"]
mod accepted;
#[path = "tools/arguments.rs"]
mod arguments;
#[path = "tools/broken.rs"]
mod broken;
#[path = "tools/content.rs"]
mod content;
#[path = "tools/dynamic.rs"]
mod dynamic;
#[path = "tools/errors.rs"]
mod errors;
#[cfg(all(
    feature = "chrono",
    feature = "rust_decimal",
    feature = "time",
    feature = "url",
    feature = "uuid"
))]
#[path = "tools/foreign.rs"]
mod foreign;
#[path = "tools/forms.rs"]
mod forms;
#[path = "tools/functions.rs"]
mod functions;
#[path = "tools/given.rs"]
mod given;
#[path = "run/http.rs"]
mod http;
#[path = "tools/injected.rs"]
mod injected;
#[path = "tools/keys.rs"]
mod keys;
#[path = "tools/log.rs"]
mod log;
#[path = "run/messages.rs"]
mod messages;
#[path = "tools/parameters.rs"]
mod parameters;
#[path = "tools/patterns.rs"]
mod patterns;
#[path = "run/process.rs"]
mod process;
#[path = "tools/prompts.rs"]
mod prompts;
#[path = "tools/safeguards.rs"]
mod safeguards;
#[path = "tools/types.rs"]
mod types;
#[path = "tools/values.rs"]
mod values;
#[path = "tools/ways.rs"]
mod ways;

use std::sync::Arc;

use candor::Server;
use candor::protocol::types::Tool as Listed;
use candor::testing::{TestClient, TestResult};
use candor::tool::Tool;
use serde_json::Value;
use ways::Ways;

type Tools = Vec<Arc<dyn Tool>>;

fn server(tools: Tools) -> Server {
    Server::new("test", "1.0.0").tools(tools)
}

/// A client of each era.
fn both(tools: impl Fn() -> Tools) -> [TestClient; 2] {
    [server(tools()).test(), server(tools()).test_legacy()]
}

/// Whom a test asks: a client in its own process, or that and one at a socket.
trait Asks {
    async fn listed(&self, tool: &str) -> Listed;
    async fn called(&self, tool: &str, arguments: &Value) -> TestResult;
}

impl Asks for TestClient {
    async fn listed(&self, tool: &str) -> Listed {
        self.tool(tool).await
    }

    async fn called(&self, tool: &str, arguments: &Value) -> TestResult {
        self.call(tool, arguments).await
    }
}

impl Asks for Ways {
    async fn listed(&self, tool: &str) -> Listed {
        self.tool(tool).await
    }

    async fn called(&self, tool: &str, arguments: &Value) -> TestResult {
        self.call(tool, arguments.clone()).await
    }
}

/// The input schema that is published of a tool.
async fn input(client: &impl Asks, tool: &str) -> Value {
    serde_json::from_str(client.listed(tool).await.input_schema.get()).unwrap()
}

/// The output schema that is published of a tool, if there is one.
async fn output(client: &impl Asks, tool: &str) -> Option<Value> {
    let schema = client.listed(tool).await.output_schema?;
    Some(serde_json::from_str(schema.get()).unwrap())
}

/// Calls a tool that must succeed, with structured content that fits what is published.
async fn call(client: &impl Asks, tool: &str, arguments: Value) -> TestResult {
    let called = client.called(tool, &arguments).await;
    assert!(!called.is_error(), "{tool} {arguments}: {}", called.text());
    if let Some(schema) = output(client, tool).await {
        let value = called.raw().get("structuredContent").expect("what is promised is there");
        let checked = jsonschema::validate(&schema, value);
        assert!(checked.is_ok(), "{tool}: {value} is not what {schema} promises");
    }
    called
}

/// The texts of the content, block by block.
fn texts(called: &TestResult) -> Vec<&str> {
    called.content().iter().map(|block| block.as_text().expect("a text")).collect()
}
