//! A folder is served, a client that cannot ask its person deletes, and somebody at a terminal decides.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::ledger::{Told, candor, folder, told};
use crate::messages::{initialize, request, text};
use crate::process::Program;
use crate::terminal::Terminal;

struct Served {
    program: Program,
    folder: PathBuf,
    ledger: PathBuf,
}

impl Served {
    async fn new(name: &str) -> Self {
        let around = folder(name);
        fs::create_dir_all(around.join("served/notes")).unwrap();
        for file in ["notes/a.txt", "notes/b.txt"] {
            fs::write(around.join("served").join(file), "kept").unwrap();
        }
        Self::at(&around).await
    }

    async fn at(around: &Path) -> Self {
        let (folder, ledger) = (around.join("served"), around.join("ledger.db"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
        command.arg("files").arg(&folder).arg("--stdio").arg("--ledger").arg(&ledger);
        command.env("XDG_STATE_HOME", around.join("state"));
        let mut program = Program::start(&mut command);
        program.ask(&initialize(0)).await;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        program.write(&ready.to_string()).await;
        Self { program, folder, ledger }
    }

    /// The process ends, its client with it, and another one takes its place.
    async fn restarted(self) -> Self {
        let around = self.folder.parent().unwrap().to_owned();
        self.program.kill().await;
        Self::at(&around).await
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

    fn has(&self, path: &str) -> bool {
        self.folder.join(path).exists()
    }

    fn approvals(&self, words: &[&str]) -> std::process::Command {
        let mut command = candor();
        command.arg("approvals").args(words).arg("--ledger").arg(&self.ledger);
        command.env("NO_COLOR", "1");
        command
    }

    /// The id of the one call that waits, once it does.
    async fn waiting(&self) -> String {
        for _ in 0..500 {
            let listed: Told = told(&mut self.approvals(&["--json"]));
            if let [line] = &listed.lines()[..] {
                return line["id"].as_str().unwrap().to_owned();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("nothing waits");
    }

    /// A person decides, having seen it.
    async fn decide(&self, words: &[&str], seen: &str) -> String {
        let id = self.waiting().await;
        let words = [&words[..1], &[&id[..12]], &words[1..]].concat();
        let mut terminal = Terminal::of(self.approvals(&words));
        terminal.says("[y/N]");
        assert!(terminal.text().contains(seen), "{seen} in {}", terminal.text());
        terminal.types("y");
        let (code, text) = terminal.ended();
        assert_eq!(code, Some(0), "{text}");
        text
    }
}

#[tokio::test]
async fn approved_it_is_done_once() {
    let mut served = Served::new("approvals, served").await;
    served.delete(1, "notes/a.txt").await;
    served.waiting().await;
    assert!(served.has("notes/a.txt"), "nothing happens before somebody says so");
    let text = served.decide(&["approve"], "\"path\": \"notes/a.txt\"").await;
    assert!(text.contains("claims to be: tester 1"), "{text}");
    assert!(text.contains("DELETES"), "{text}");
    let answer = served.answer(1).await;
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert!(!served.has("notes/a.txt"));

    // The approval is used up: the same call again is another one, and a person is asked anew.
    fs::write(served.folder.join("notes/a.txt"), "new").unwrap();
    served.delete(2, "notes/a.txt").await;
    served.decide(&["deny", "--reason", "it is new"], "notes/a.txt").await;
    let answer = served.answer(2).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(self::text(&answer).contains("it is new"), "{answer}");
    assert!(served.has("notes/a.txt"));
}

#[tokio::test]
async fn who_comes_back_with_the_same_call_finds_what_was_decided() {
    let mut served = Served::new("approvals, later").await;
    let keyed = || json!({"dev.candor/idempotencyKey": "tidy-up"});
    served.delete_with(1, "notes/a.txt", keyed()).await;
    served.waiting().await;
    let mut served = served.restarted().await;
    assert!(served.has("notes/a.txt"));
    served.decide(&["approve"], "  key        tidy-up\n").await;
    assert!(served.has("notes/a.txt"), "an approval starts nothing by itself");
    served.delete_with(1, "notes/a.txt", keyed()).await;
    let first = served.answer(1).await;
    assert_ne!(first["result"]["isError"], true, "{first}");
    assert!(!served.has("notes/a.txt"));

    // The key again: the first result, nobody is asked, nothing is done.
    fs::write(served.folder.join("notes/a.txt"), "new").unwrap();
    served.delete_with(2, "notes/a.txt", keyed()).await;
    let again = served.answer(2).await;
    assert_eq!(again["result"]["content"], first["result"]["content"], "{again}");
    assert!(served.has("notes/a.txt"));
}

#[tokio::test]
async fn permitted_for_a_while_nobody_is_asked() {
    let mut served = Served::new("approvals, permitted").await;
    served.delete(1, "notes/a.txt").await;
    served.decide(&["approve", "--for", "5m", "--under", "path=notes"], "stands beneath it").await;
    served.answer(1).await;
    served.delete(2, "notes/b.txt").await;
    let answer = served.answer(2).await;
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert!(!served.has("notes/a.txt") && !served.has("notes/b.txt"));

    let grant = told(&mut served.approvals(&["grants", "--json"])).json();
    let id = grant["id"].as_str().unwrap();
    told(&mut served.approvals(&["revoke", id])).text();
    fs::write(served.folder.join("notes/b.txt"), "again").unwrap();
    served.delete(3, "notes/b.txt").await;
    served.waiting().await;
    assert!(served.has("notes/b.txt"));
}
