//! What a call will do, said before it is made: `tools/annotations`, `tools/resolve`, and tools listed in parts.

#![allow(missing_docs)]

#[allow(unused_imports)]
mod common;

#[path = "foresight/acting.rs"]
mod acting;
#[path = "foresight/agreeing.rs"]
mod agreeing;
#[path = "foresight/announcing.rs"]
mod announcing;
#[path = "foresight/asking.rs"]
mod asking;
#[path = "foresight/dead_rows.rs"]
mod dead_rows;
#[path = "common/document.rs"]
mod document;
#[path = "foresight/evaluating.rs"]
mod evaluating;
#[path = "foresight/fields.rs"]
mod fields;
#[path = "foresight/laws.rs"]
mod laws;
#[allow(dead_code)]
#[path = "stdio/client.rs"]
mod lines;
#[path = "resources/log.rs"]
mod log;
#[path = "foresight/resolving.rs"]
mod resolving;
#[path = "foresight/schemas.rs"]
mod schemas;
#[path = "foresight/splitting.rs"]
mod splitting;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use candor_hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::Server;
use candor_server::testing::TestClient;
use candor_server::tool::{JsonTool, ToolError};
use common::{Session, Site, modern, server};
use serde_json::{Value, json};

const OURS: &str = "dev.candor/dynamic-annotations";
const RESOLUTION: &str = "io.modelcontextprotocol/tool-resolution";

/// Files in memory, and how often the tool ran.
#[derive(Clone, Default)]
struct Files {
    world: Arc<Mutex<BTreeMap<String, String>>>,
    runs: Arc<AtomicUsize>,
}

impl Files {
    fn set_up(&self) {
        *self.world.lock().unwrap() = BTreeMap::from([("a".to_owned(), "one".to_owned())]);
    }

    fn look(&self) -> BTreeMap<String, String> {
        self.world.lock().unwrap().clone()
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    fn act(&self, path: &str, action: &str, content: &str) -> Result<String, ToolError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let mut world = self.world.lock().unwrap();
        match action {
            "read" => {}
            "append" => world.entry(path.to_owned()).or_default().push_str(content),
            "replace" => {
                world.insert(path.to_owned(), content.to_owned());
            }
            "delete" => {
                world.remove(path);
            }
            _ => return Err(ToolError::new("no such action")),
        }
        Ok(world.get(path).cloned().unwrap_or_else(|| "gone".to_owned()))
    }

    /// One tool for files, which reads and deletes.
    fn tool(&self) -> JsonTool {
        let files = self.clone();
        JsonTool::new("manage_files", &files_schema(), move |args, _| {
            let text = |name: &str| args[name].as_str().unwrap_or_default().to_owned();
            let acted = files.act(&text("path"), &text("action"), &text("content"));
            async move { acted }
        })
        .description("Read, append, replace, or delete file contents")
        .effects(files_table())
    }

    fn server(&self) -> Server {
        server().tool(self.tool())
    }
}

fn files_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "File path to operate on"},
            "action": {
                "type": "string",
                "enum": ["read", "append", "replace", "delete"],
                "description": "Operation to perform",
            },
            "content": {"type": "string", "description": "Content for append/replace operations"},
        },
        "required": ["path", "action"],
    })
}

fn files_table() -> EffectTable {
    let row =
        |action: &str, hints| EffectRow::when("action", Condition::equals(action)).then(hints);
    EffectTable::new()
        .row(row("read", Hints::READS))
        .row(row("append", Hints::ADDS))
        .row(row("replace", Hints::CHANGES.idempotent()))
        .row(row("delete", Hints::DELETES.idempotent()))
        .closed_world()
}

/// A server with that tool.
fn files() -> Server {
    Files::default().server()
}

/// Read-only, destructive, idempotent, open world.
fn four(read_only: bool, destructive: bool, idempotent: bool, open_world: bool) -> Value {
    json!({
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": open_world,
    })
}

fn is(hints: Hints) -> Value {
    four(hints.is_read_only(), hints.is_destructive(), hints.is_idempotent(), hints.is_open_world())
}

/// A client of each era.
fn clients(server: impl Fn() -> Server) -> [TestClient; 2] {
    [server().test(), server().test_legacy()]
}

/// The same request in each era, over HTTP, and its answers.
async fn answers(site: &Site, method: &str, params: &Value) -> [Value; 2] {
    let session = Session::open(site, "2025-11-25").await;
    [
        site.send(modern(method, params)).await.json().await,
        session.request(method, params).await.json().await,
    ]
}

/// Results in each era.
async fn results(site: &Site, method: &str, params: &Value) -> [Value; 2] {
    answers(site, method, params).await.map(|mut answer| {
        assert_eq!(answer["id"], 1, "{answer}");
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].take()
    })
}

/// Errors in each era, with this code.
async fn errors(site: &Site, method: &str, params: &Value, code: i64) -> [Value; 2] {
    answers(site, method, params).await.map(|mut answer| {
        assert_eq!(answer["id"], 1, "{answer}");
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(answer["error"]["message"].is_string(), "{answer}");
        answer["error"].take()
    })
}
