//! A folder is served, a client that cannot ask its person deletes, and somebody at a terminal decides.

use serde_json::{Value, json};

use crate::ledger::told;
use crate::messages::{initialize, request, text};
use crate::process::Program;
use crate::served::Served;

/// A host of the legacy era that cannot ask its person, and its server.
struct Host {
    program: Program,
    served: Served,
}

impl Host {
    async fn new(name: &str) -> Self {
        Self::of(Served::new(name)).await
    }

    async fn of(served: Served) -> Self {
        let mut program = Program::start(&mut served.command(&["--stdio"]));
        program.ask(&initialize(0)).await;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        program.write(&ready.to_string()).await;
        Self { program, served }
    }

    /// The process ends, its client with it, and another one takes its place.
    async fn restarted(self) -> Self {
        self.program.kill().await;
        Self::of(self.served).await
    }

    /// Sends a call that deletes.
    async fn delete(&mut self, number: u64, path: &str) {
        self.delete_with(number, path, json!({})).await;
    }

    async fn delete_with(&mut self, number: u64, path: &str, meta: Value) {
        let arguments = json!({"action": "delete", "path": path});
        let params = json!({"name": "manage_files", "arguments": arguments, "_meta": meta});
        self.program.write(&request(number, "tools/call", &params).to_string()).await;
    }

    async fn answer(&mut self, number: u64) -> Value {
        loop {
            let message = self.program.next().await;
            if message["id"] == number {
                return message;
            }
        }
    }
}

#[tokio::test]
async fn approved_call_runs_once() {
    let mut host = Host::new("approvals, served").await;
    host.delete(1, "notes/a.txt").await;
    host.served.waiting().await;
    assert!(host.served.has("notes/a.txt"), "nothing runs before the approval");
    let text = host.served.decide(&["approve"], "\"path\": \"notes/a.txt\"").await;
    assert!(text.contains("claims to be: tester 1"), "{text}");
    assert!(text.contains("Deletes"), "{text}");
    let answer = host.answer(1).await;
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert!(!host.served.has("notes/a.txt"));

    // The approval is used. The same call again needs another one.
    host.served.write("notes/a.txt", "new");
    host.delete(2, "notes/a.txt").await;
    host.served.decide(&["deny", "--reason", "it is new"], "notes/a.txt").await;
    let answer = host.answer(2).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(self::text(&answer).contains("it is new"), "{answer}");
    assert!(host.served.has("notes/a.txt"));
}

#[tokio::test]
async fn approval_applies_after_the_server_restarts() {
    let mut host = Host::new("approvals, later").await;
    let keyed = || json!({"dev.candor/idempotencyKey": "tidy-up"});
    host.delete_with(1, "notes/a.txt", keyed()).await;
    host.served.waiting().await;
    let mut host = host.restarted().await;
    assert!(host.served.has("notes/a.txt"));
    host.served.decide(&["approve"], "  key        tidy-up\n").await;
    assert!(host.served.has("notes/a.txt"), "an approval alone starts nothing");
    host.delete_with(1, "notes/a.txt", keyed()).await;
    let first = host.answer(1).await;
    assert_ne!(first["result"]["isError"], true, "{first}");
    assert!(!host.served.has("notes/a.txt"));

    // The same key again: the first result replays, and nothing runs.
    host.served.write("notes/a.txt", "new");
    host.delete_with(2, "notes/a.txt", keyed()).await;
    let again = host.answer(2).await;
    assert_eq!(again["result"]["content"], first["result"]["content"], "{again}");
    assert!(host.served.has("notes/a.txt"));
}

#[tokio::test]
async fn call_under_a_grant_runs_without_approval() {
    let mut host = Host::new("approvals, permitted").await;
    host.delete(1, "notes/a.txt").await;
    host.served.decide(&["approve", "--for", "5m", "--under", "path=notes"], "or inside it").await;
    host.answer(1).await;
    host.delete(2, "notes/b.txt").await;
    let answer = host.answer(2).await;
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert!(!host.served.has("notes/a.txt") && !host.served.has("notes/b.txt"));

    let grant = told(&mut host.served.approvals(&["grants", "--json"])).json();
    let id = grant["id"].as_str().unwrap();
    told(&mut host.served.approvals(&["revoke", id])).text();
    host.served.write("notes/b.txt", "again");
    host.delete(3, "notes/b.txt").await;
    host.served.waiting().await;
    assert!(host.served.has("notes/b.txt"));
}
