//! A server that asks before it deletes, its callers, and an operator at its console.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use candor_console::Console;
use candor_server::store::{self, Store};
use candor_server::testing::TestClient;
use candor_server::tool::{JsonTool, Plan, ToolError};
use candor_server::{AskLevel, RunningServer, Server};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::site::{Reply, Site};

pub(crate) struct Desk {
    pub(crate) site: Site,
    pub(crate) engine: RunningServer,
    pub(crate) store: Arc<dyn Store>,
    /// How often the tool ran.
    pub(crate) ran: Arc<AtomicUsize>,
    /// What the preview sees.
    pub(crate) world: Arc<AtomicUsize>,
}

pub(crate) fn memory() -> Arc<dyn Store> {
    store::open("memory:", store::Options::default()).unwrap()
}

/// A call that deletes a note.
pub(crate) fn note(path: &str) -> Value {
    json!({"path": path})
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::with(|server| server, Console::allow_execute)
    }

    /// Who calls is told at once that it must wait.
    pub(crate) fn impatient() -> Self {
        Self::with(|server| server.hold(Duration::ZERO), Console::allow_execute)
    }

    pub(crate) fn with(
        server: impl FnOnce(Server) -> Server,
        console: impl FnOnce(Console) -> Console,
    ) -> Self {
        let (store, ran, world) = (memory(), Arc::default(), Arc::default());
        let asking = Server::new("test", "1").ledger(Arc::clone(&store)).ask(AskLevel::Destructive);
        let tool = delete(Arc::clone(&ran), Arc::clone(&world));
        let engine = server(asking.hold(Duration::from_secs(60)).tool(tool)).build().unwrap();
        let site = Site::around(console(Console::of(engine.clone())));
        Self { site, engine, store, ran, world }
    }

    pub(crate) fn ran(&self) -> usize {
        self.ran.load(Ordering::SeqCst)
    }

    /// Ada calls.
    pub(crate) fn call(&self, arguments: Value) -> JoinHandle<Value> {
        self.call_as("ada", arguments, None)
    }

    pub(crate) fn call_as(
        &self,
        who: &str,
        arguments: Value,
        key: Option<&str>,
    ) -> JoinHandle<Value> {
        let client = TestClient::of(&self.engine).by(who);
        let client = key.map_or_else(|| client.by(who), |key| client.keyed(key));
        tokio::spawn(called(client, "delete_note", arguments))
    }

    /// What waits, once so many do.
    pub(crate) async fn waiting(&self, many: usize) -> Vec<Value> {
        waiting(&self.site, many).await
    }

    /// The one that waits.
    pub(crate) async fn one(&self) -> Waiting {
        Waiting::of(&self.waiting(1).await[0])
    }

    pub(crate) async fn approve(&self, id: &str, body: Value) -> Reply {
        self.site.post(&format!("/approvals/{id}/approve"), body).await
    }

    pub(crate) async fn deny(&self, id: &str, body: Value) -> Reply {
        self.site.post(&format!("/approvals/{id}/deny"), body).await
    }

    /// A page, as the operator gets it.
    pub(crate) async fn page(&self, path: &str) -> String {
        page(&self.site, path).await
    }
}

/// Which question waits.
#[derive(Clone)]
pub(crate) struct Waiting {
    pub(crate) id: String,
    pub(crate) question: String,
}

impl Waiting {
    pub(crate) fn of(item: &Value) -> Self {
        let text = |name: &str| item[name].as_str().unwrap().to_owned();
        Self { id: text("id"), question: text("version") }
    }

    /// A yes or a no to it, and nothing else.
    pub(crate) fn named(&self) -> Value {
        json!({"version": self.question})
    }
}

pub(crate) async fn called(client: TestClient, tool: &'static str, arguments: Value) -> Value {
    let client = client.deadline(Duration::from_secs(120));
    client.request("tools/call", json!({"name": tool, "arguments": arguments})).await.unwrap()
}

pub(crate) async fn waiting(site: &Site, many: usize) -> Vec<Value> {
    for _ in 0..2000 {
        let list = site.ask("GET", "/approvals").known().send().await.ok();
        let list = list.as_array().unwrap().clone();
        if list.len() == many {
            return list;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never {many} calls wait");
}

pub(crate) async fn page(site: &Site, path: &str) -> String {
    let reply = site.ask("GET", path).header("accept", "text/html").known().send().await;
    assert_eq!(reply.status, 200, "{path}: {}", reply.body);
    assert_eq!(reply.header("content-type"), "text/html; charset=utf-8");
    reply.body
}

/// What a result says.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

/// The framework's own word for why a call was not made.
pub(crate) fn code(result: &Value) -> &str {
    result["_meta"]["dev.candor/error"]["code"].as_str().unwrap_or_default()
}

fn delete(ran: Arc<AtomicUsize>, world: Arc<AtomicUsize>) -> JsonTool {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "why": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": false,
    });
    JsonTool::new("delete_note", &schema, move |arguments, _| {
        let ran = Arc::clone(&ran);
        async move {
            ran.fetch_add(1, Ordering::SeqCst);
            Ok::<_, ToolError>(format!("Deleted {}", arguments["path"].as_str().unwrap()))
        }
    })
    .description("Deletes a note.")
    .preview(move |arguments, _| {
        let seen = world.load(Ordering::SeqCst);
        async move {
            let words = format!("Delete {} as of day {seen}.", arguments["path"].as_str().unwrap());
            Ok::<_, ToolError>(Plan::new(words, seen.to_string()))
        }
    })
}
