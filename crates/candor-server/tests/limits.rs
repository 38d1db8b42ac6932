//! What stands between a call and its start: the plan that it follows, its rate, its turn. And what of it is said and checked
//! when tools are registered.

#![allow(missing_docs)]

#[allow(unused_imports)]
mod common;

#[path = "resources/log.rs"]
mod log;
#[path = "limits/neighbors.rs"]
mod neighbors;
#[path = "limits/order.rs"]
mod order;
#[path = "limits/plans.rs"]
mod plans;
#[path = "limits/rates.rs"]
mod rates;
#[path = "limits/serial.rs"]
mod serial;
#[path = "limits/together.rs"]
mod together;
#[path = "limits/words.rs"]
mod words;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candor_server::Server;
use candor_server::protocol::types::ToolAnnotations;
use candor_server::store::{MemoryStore, Options};
use candor_server::tool::{JsonTool, ToolError};
use serde_json::{Value, json};

/// Counts.
#[derive(Clone, Default)]
struct Counter(Arc<AtomicUsize>);

impl Counter {
    fn next(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// A tool that counts its calls.
    fn tool(&self, name: &str, schema: &Value) -> JsonTool {
        let counter = self.clone();
        JsonTool::new(name, schema, move |_, _| {
            let number = counter.next();
            async move { Ok::<_, ToolError>(json!({"number": number})) }
        })
    }
}

fn of(properties: &[&str]) -> Value {
    let all: serde_json::Map<_, _> =
        properties.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    json!({"type": "object", "properties": all, "required": properties, "additionalProperties": false})
}

fn hints(read_only: bool, destructive: bool, idempotent: bool) -> ToolAnnotations {
    let mut annotations = ToolAnnotations::new();
    annotations.read_only_hint = Some(read_only);
    annotations.destructive_hint = Some(destructive);
    annotations.idempotent_hint = Some(idempotent);
    annotations
}

fn deletes() -> ToolAnnotations {
    hints(false, true, false)
}

fn reads() -> ToolAnnotations {
    hints(true, false, true)
}

fn server() -> Server {
    Server::new("limits", "1").ledger(Arc::new(MemoryStore::new(Options::default())))
}
