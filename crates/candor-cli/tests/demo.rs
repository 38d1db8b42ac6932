//! `candor demo`, as a process: a world of its own, in which everything works, and of which nothing is left.

#![cfg(unix)] // it is ended by signals
#![allow(missing_docs)]

#[path = "demo/crash.rs"]
mod crash;
#[path = "demo/ending.rs"]
mod ending;
#[path = "../../candor/tests/run/http.rs"]
mod http;
#[path = "../../candor/tests/run/messages.rs"]
mod messages;
#[path = "../../candor/tests/run/process.rs"]
mod process;
#[path = "demo/tour.rs"]
mod tour;
#[path = "demo/trying.rs"]
mod trying;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::process::Command;

use crate::http::{Reply, ask, post};
use crate::messages::modern;
use crate::process::Program;

/// Somebody's machine: their home, their state, their temporary files.
struct Machine(PathBuf);

impl Machine {
    /// One on which nothing is yet.
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("demo").join(name);
        let _ = fs::remove_dir_all(&path);
        for part in ["home", "state", "tmp", "cwd"] {
            fs::create_dir_all(path.join(part)).unwrap();
        }
        Self(path)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    fn demo(&self, flags: &[&str]) -> Command {
        self.candor(&[&["demo"], flags].concat())
    }

    fn candor(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
        command.args(words).current_dir(self.at("cwd"));
        command.env("HOME", self.at("home")).env("XDG_STATE_HOME", self.at("state"));
        command.env("TMPDIR", self.at("tmp"));
        command
    }

    /// The worlds that are there.
    fn worlds(&self) -> Vec<PathBuf> {
        entries(&self.at("tmp"))
    }

    fn has_no_world(&self) {
        assert!(self.worlds().is_empty(), "{:?}", self.worlds());
    }

    /// Nothing was made of which the user would know nothing.
    fn is_untouched(&self) {
        for part in ["home", "state", "cwd"] {
            let found = entries(&self.at(part));
            assert!(found.is_empty(), "{found:?}");
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// A demo that runs, and somebody who tries it over HTTP.
struct Demo {
    program: Program,
    /// What it said before it said where it listens.
    said: Vec<String>,
    address: String,
    world: PathBuf,
}

impl Demo {
    async fn start(machine: &Machine, flags: &[&str]) -> Self {
        let flags = [flags, &["--http", "127.0.0.1:0"]].concat();
        Self::of(machine, &mut machine.demo(&flags)).await
    }

    async fn of(machine: &Machine, command: &mut Command) -> Self {
        let mut program = Program::start(command);
        let mut said = Vec::new();
        let address = loop {
            let line = program.complaint().await;
            match line.strip_prefix("listening on http://") {
                Some(address) => break address.to_owned(),
                None => said.push(line),
            }
        };
        let [world] = &machine.worlds()[..] else { panic!("one world: {:?}", machine.worlds()) };
        Self { program, said, address, world: world.clone() }
    }

    fn port(&self) -> &str {
        self.address.strip_prefix("127.0.0.1:").expect("this machine")
    }

    /// The line that begins so.
    fn line(&self, beginning: &str) -> &str {
        let found = self.said.iter().find_map(|line| line.trim_start().strip_prefix(beginning));
        found.unwrap_or_else(|| panic!("no {beginning} in {:?}", self.said)).trim()
    }

    async fn ask(&self, method: &str, params: &Value) -> Value {
        let reply = post(&self.address, &modern(1, method, params), &[]).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let mut answer = reply.json();
        assert!(answer["error"].is_null(), "{method} {params}: {answer}");
        answer["result"].take()
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments})).await
    }

    /// A call that succeeds; its structured answer.
    async fn done(&self, tool: &str, arguments: Value) -> Value {
        let mut result = self.call(tool, arguments).await;
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"].take()
    }

    /// Through the REST API of the console, with the token of its link.
    async fn operator(&self, verb: &str, path: &str, body: &Value) -> Reply {
        let (_, token) = self.line("console").split_once("/#token=").expect("a token");
        let token = format!("Bearer {}", token.split(' ').next().unwrap());
        let body = if verb == "GET" { String::new() } else { body.to_string() };
        let reply = ask(&self.address, verb, path, &[("Authorization", &token)], &body).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply
    }

    fn has(&self, file: &str) -> bool {
        self.world.join("scratch").join(file).exists()
    }

    /// Tells it to end, and sees it end in good order.
    async fn end(self) {
        self.program.terminate();
        let ended = self.program.ended().await;
        assert_eq!(ended.status.code(), Some(0), "{:?}", ended.stderr);
        assert_eq!(ended.stdout, [""; 0]);
    }
}
