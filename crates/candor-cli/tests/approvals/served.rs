//! A folder to serve, the ledger of who serves it, and a person at a terminal who decides.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

use crate::ledger::{candor, folder, told};
use crate::place::Place;
use crate::terminal::Terminal;

pub(crate) struct Served {
    around: PathBuf,
    pub(crate) ledger: Place,
}

impl Served {
    /// A folder with two notes.
    pub(crate) fn new(name: &str) -> Self {
        let around = folder(name);
        let ledger = Place::new(&around);
        Self::with(around, ledger)
    }

    pub(crate) fn with(around: PathBuf, ledger: Place) -> Self {
        let served = Self { around, ledger };
        fs::create_dir_all(served.folder().join("notes")).unwrap();
        for file in ["notes/a.txt", "notes/b.txt"] {
            served.write(file, "kept");
        }
        served
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.around.join("served")
    }

    /// Beside the folder.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.around.join(name)
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        fs::write(self.folder().join(path), content).unwrap();
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.folder().join(path).exists()
    }

    /// `candor files` of it.
    pub(crate) fn command(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
        command.arg("files").arg(self.folder()).arg("--ledger").arg(self.ledger.named());
        command.args(flags).env("XDG_STATE_HOME", self.beside("state"));
        command
    }

    pub(crate) fn approvals(&self, words: &[&str]) -> std::process::Command {
        let mut command = candor();
        command.arg("approvals").args(words).arg("--ledger").arg(self.ledger.named());
        command.env("NO_COLOR", "1");
        command
    }

    /// What waits for a person.
    pub(crate) fn queue(&self) -> Vec<Value> {
        told(&mut self.approvals(&["--json"])).lines()
    }

    /// The id of the one call that waits, once it does.
    pub(crate) async fn waiting(&self) -> String {
        for _ in 0..500 {
            if let [line] = &self.queue()[..] {
                return line["id"].as_str().unwrap().to_owned();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("nothing waits");
    }

    /// A person decides on the one call that waits, having seen it.
    pub(crate) async fn decide(&self, words: &[&str], seen: &str) -> String {
        let id = self.waiting().await;
        self.decide_on(words, &id[..12], seen)
    }

    /// The same where several may wait.
    pub(crate) fn decide_on(&self, words: &[&str], id: &str, seen: &str) -> String {
        let words = [&words[..1], &[id], &words[1..]].concat();
        let mut terminal = Terminal::of(self.approvals(&words));
        terminal.says("[y/N]");
        assert!(terminal.text().contains(seen), "{seen} in {}", terminal.text());
        terminal.types("y");
        let (code, text) = terminal.ended();
        assert_eq!(code, Some(0), "{text}");
        text
    }
}
