//! What is declared beside effects: in the description, and in what a call may do.

// Tools own their arguments, also those that only look at them.
#![allow(clippy::needless_pass_by_value)]

use std::sync::atomic::{AtomicUsize, Ordering};

use candor::prelude::*;
use candor::tool::{Plan, code};
use serde_json::Value;

use crate::server;

/// A number that changes.
#[derive(Default)]
struct World(AtomicUsize);

impl World {
    fn is(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Brings a file back
#[tool(adds, idempotent, undo = "remove")]
fn restore(path: String) -> String {
    path
}

fn show_removal(path: String) -> String {
    format!("Would remove {path}.")
}

/// Removes a file.
#[tool(deletes, idempotent, undo = "restore", rate = "10/min", serial = "files", preview = show_removal)]
fn remove(path: String) -> String {
    format!("Removed {path}.")
}

async fn show_wiping(path: String, world: State<World>) -> Result<Plan<String>, ToolError> {
    tokio::task::yield_now().await;
    let (shown, digest) = (format!("Would wipe {path}."), world.is().to_string());
    Ok(Plan::new(shown, digest))
}

/// Wipes a file.
#[tool(deletes, instead = "remove", preview = show_wiping, requires_preview, blocking)]
fn wipe(path: String, world: State<World>) -> usize {
    let _ = path;
    world.0.fetch_add(1, Ordering::SeqCst)
}

/// Sends a letter. Once it is out, it is out.
#[tool(deletes, omit(undo), rate = "1/day")]
fn send() {}

/// Burns it. This
/// cannot be undone.
#[tool(deletes, omit(retry))]
fn burn() {}

/// Says all itself
#[tool(deletes, idempotency = argument, rate = "5/s", omit)]
fn quiet() {}

/// Posts it
#[tool(adds, idempotency = argument)]
fn post() {}

/// Ships it
#[tool(adds, idempotency = key(order))]
fn ship(order: String) -> String {
    order
}

#[tool(unclassified, rate = "2/h")]
fn anything() {}

/// Reads
#[tool(reads, rate = "1/s")]
fn read() {}

fn all() -> Server {
    server(tools![restore, remove, wipe, send, burn, quiet, post, ship, anything, read])
        .state(World::default())
}

async fn listed() -> Value {
    let tools = all().test().tools().await;
    tools.iter().map(|tool| (tool.name.clone(), serde_json::to_value(tool).unwrap())).collect()
}

#[tokio::test]
async fn description_includes_the_declared_safeguards() {
    let tools = listed().await;
    for (name, said) in [
        (
            "restore",
            Some(
                "Brings a file back. Can be reverted with `remove`. Safe to retry with same inputs.",
            ),
        ),
        (
            "remove",
            Some(
                "Removes a file. Call preview_remove first to review changes. Can be reverted with `restore`. Safe to retry \
                 with same inputs. Max 10 calls per minute.",
            ),
        ),
        (
            "wipe",
            Some(
                "Wipes a file. Call preview_wipe first to review changes. This cannot be undone. Prefer `remove` if it is \
                 sufficient. Not safe to retry with same inputs.",
            ),
        ),
        (
            "send",
            Some(
                "Sends a letter. Once it is out, it is out. Not safe to retry with same inputs. Max 1 call per day.",
            ),
        ),
        ("burn", Some("Burns it. This\ncannot be undone.")),
        ("quiet", Some("Says all itself")),
        ("post", Some("Posts it. Safe to retry with the same idempotency_key.")),
        ("ship", Some("Ships it. Safe to retry with same inputs.")),
        ("anything", Some("Max 2 calls per hour.")),
        ("read", Some("Reads. Max 1 call per second.")),
        (
            "preview_remove",
            Some("Shows what remove would do with the same arguments, without doing it."),
        ),
        (
            "preview_wipe",
            Some(
                "Shows what wipe would do with the same arguments, without doing it. Its answer has the plan_token that wipe \
                 needs.",
            ),
        ),
    ] {
        assert_eq!(tools[name]["description"].as_str(), said, "{name}");
    }
}

#[tokio::test]
async fn preview_has_the_arguments_of_its_tool() {
    let tools = listed().await;
    let names: Vec<_> = tools.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names[..5], ["restore", "remove", "preview_remove", "wipe", "preview_wipe"]);
    let preview = &tools["preview_wipe"];
    let reads = json!({
        "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": true,
    });
    assert_eq!(preview["annotations"], reads);
    let mut wanted = tools["wipe"]["inputSchema"].clone();
    assert_eq!(wanted["required"], json!(["path", "plan_token"]));
    wanted["properties"].as_object_mut().unwrap().shift_remove("plan_token");
    wanted["required"] = json!(["path"]);
    assert_eq!(preview["inputSchema"], wanted);
}

#[tokio::test]
async fn required_preview_must_precede_the_call() {
    let client = all().test();
    let unseen = client.call("wipe", json!({"path": "a"})).await;
    assert_eq!(unseen.code(), Some(code::PREVIEW_REQUIRED));
    let instead = &unseen.raw()["_meta"]["dev.candor/error"]["instead"];
    assert_eq!(*instead, json!({"tool": "preview_wipe", "arguments": {"path": "a"}}));
    let shown = client.call("preview_wipe", json!({"path": "a"})).await;
    assert!(shown.text().starts_with("Would wipe a."), "{}", shown.text());
    let token = shown.plan_token().unwrap();
    assert!(shown.text().contains(token), "models read text only");
    let wipe = json!({"path": "a", "plan_token": token});
    let done = client.call("wipe", wipe.clone()).await;
    assert_eq!((done.is_error(), done.text()), (false, "0"));
    let stale = client.call("wipe", wipe).await;
    assert_eq!(stale.code(), Some(code::PLAN_STALE), "{}", stale.text());
    let without = client.call("remove", json!({"path": "a"})).await;
    assert_eq!(without.text(), "Removed a.", "no preview is required there");
    assert_eq!(client.call("preview_remove", json!({"path": "a"})).await.text(), "Would remove a.");
}

/// Tools of a value.
struct Shelf(usize);

#[toolbox]
impl Shelf {
    fn planned(&self, from: usize) -> Plan<String> {
        Plan::new(format!("Would clear {} of {}.", self.0 - from, self.0), "always")
    }

    async fn planned_later(&self, from: usize) -> Result<Vec<usize>, ToolError> {
        Ok((from..self.0).collect())
    }

    #[tool(deletes, preview = Self::planned, requires_preview)]
    async fn clear(&self, from: usize) -> usize {
        self.0 - from
    }

    #[tool(deletes, preview = Self::planned_later)]
    fn sweep(&self, from: usize) -> usize {
        self.0 - from
    }
}

#[tokio::test]
async fn toolbox_preview_is_a_method() {
    let client = server(Shelf(5).into_tools()).test();
    let shown = client.call("preview_clear", json!({"from": 2})).await;
    assert!(shown.text().starts_with("Would clear 3 of 5."), "{}", shown.text());
    let token = shown.plan_token();
    let done = client.call("clear", json!({"from": 2, "plan_token": token})).await;
    assert_eq!(done.text(), "3");
    let shown = client.call("preview_sweep", json!({"from": 3})).await;
    assert_eq!(shown.structured(), Some(&json!({"result": [3, 4]})));
}
