//! A folder, served by `candor files DIR`, and everything that must not be.
//!
//! `Served` is the folder, with a secret beside it; `Host` is a client of one era that talks to the program over stdio;
//! `Tree` is what is on the disk, to be compared with what was.

mod arranging;
mod changing;
mod contents;
mod effects;
mod escaping;
mod flags;
#[cfg(unix)]
mod linking;
mod listing;
mod over_http;
mod previewing;
mod read_only;
mod repeated;
mod resources;
mod searching;
#[cfg(unix)]
mod swapping;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::messages::{initialize, modern, request, text};
use crate::process::Program;
use crate::{candor_files, folder};
use tree::Tree;

/// What stands beside the folder; in no answer may it stand.
const SECRET: &str = "nobody may read this";

/// A folder to serve. What is around it is part of the test and not of the folder.
struct Served {
    around: PathBuf,
}

impl Served {
    /// An empty folder.
    fn empty(name: &str) -> Self {
        let around = folder(name);
        fs::create_dir_all(around.join("outside/deep")).unwrap();
        fs::write(around.join("outside/secret.txt"), SECRET).unwrap();
        fs::write(around.join("outside/deep/secret.txt"), SECRET).unwrap();
        fs::create_dir(around.join("served folder, ü")).unwrap();
        Self { around }
    }

    /// A folder with a bit of everything.
    fn prepared(name: &str) -> Self {
        let served = Self::empty(name);
        served.write("hello.txt", "Hello, folder!");
        served.write("sub/inner.md", "# Inner");
        served.write("sub/deeper/100% größer? #1.txt", "deep");
        served.write("bytes.bin", [0xff, 0x00, 0xfe]);
        served.write(".hidden", "hidden");
        served.write(".config/inner.txt", "hidden");
        served
    }

    fn path(&self) -> PathBuf {
        self.around.join("served folder, ü")
    }

    fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.path().join(path)
    }

    fn outside(&self, path: &str) -> PathBuf {
        self.around.join("outside").join(path)
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    fn has(&self, path: &str) -> bool {
        fs::symlink_metadata(self.at(path)).is_ok()
    }

    fn tree(&self) -> Tree {
        Tree::of(&self.path())
    }

    fn tree_outside(&self) -> Tree {
        Tree::of(&self.outside(""))
    }

    fn command(&self, flags: &[&str]) -> Command {
        let mut command = candor_files(&self.path());
        command.args(flags);
        command
    }

    /// Serves it to a host of this era.
    async fn to(&self, era: Era, flags: &[&str]) -> Host {
        Host::of(self.command(flags).arg("--stdio"), era).await
    }

    /// Serves it to a host of the modern era.
    async fn serve(&self) -> Host {
        self.to(Era::Modern, &[]).await
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Legacy,
    Modern,
}

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// A client of one era.
struct Host {
    program: Program,
    era: Era,
    asked: u64,
}

impl Host {
    async fn of(command: &mut Command, era: Era) -> Self {
        let mut host = Self { program: Program::start(command), era, asked: 0 };
        if era == Era::Legacy {
            host.program.ask(&initialize(0)).await;
            host.notify("notifications/initialized", &json!({})).await;
        }
        host
    }

    async fn notify(&mut self, method: &str, params: &Value) {
        let notification = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.program.write(&notification.to_string()).await;
    }

    /// Sends a request without waiting for its answer; gives its id.
    async fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.asked += 1;
        let message = match self.era {
            Era::Legacy => request(self.asked, method, params),
            Era::Modern => modern(self.asked, method, params),
        };
        self.program.write(&message.to_string()).await;
        self.asked
    }

    /// The answer to a request; notifications before it are passed over.
    async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.program.next().await;
            if message["method"].is_null() {
                assert_eq!(message["id"], id, "not the answer: {message}");
                return message;
            }
        }
    }

    async fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params).await;
        self.answer(id).await
    }

    async fn result(&mut self, method: &str, params: &Value) -> Value {
        let mut answer = self.ask(method, params).await;
        assert!(answer["error"].is_null(), "{method} {params}: {answer}");
        answer["result"].take()
    }

    async fn error(&mut self, method: &str, params: &Value) -> Value {
        let mut answer = self.ask(method, params).await;
        assert!(answer["error"]["code"].is_i64(), "{method} {params}: {answer}");
        answer["error"].take()
    }

    async fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments})).await
    }

    /// Calls a tool that must succeed; its text.
    async fn done(&mut self, tool: &str, arguments: &Value) -> String {
        let answer = self.call(tool, arguments).await;
        assert_ne!(answer["result"]["isError"], true, "{tool} {arguments}: {answer}");
        text(&answer).to_owned()
    }

    /// Calls a tool that must succeed; its structured answer.
    async fn structured(&mut self, tool: &str, arguments: &Value) -> Value {
        let mut answer = self.call(tool, arguments).await;
        assert_ne!(answer["result"]["isError"], true, "{tool} {arguments}: {answer}");
        answer["result"]["structuredContent"].take()
    }

    /// Calls a tool that must fail, with this code; its text.
    async fn refused(&mut self, tool: &str, arguments: &Value, code: &str) -> String {
        let answer = self.call(tool, arguments).await;
        assert_eq!(answer["result"]["isError"], true, "{tool} {arguments}: {answer}");
        let told = &answer["result"]["_meta"]["dev.candor/error"];
        assert_eq!(told["code"], code, "{tool} {arguments}: {answer}");
        text(&answer).to_owned()
    }

    /// The URI of the folder.
    async fn root(&mut self) -> String {
        let listed = self.result("resources/list", &json!({})).await;
        listed["resources"][0]["uri"].as_str().unwrap().to_owned()
    }
}

/// Arguments of `manage_files`.
fn manage(action: &str, path: &str) -> Value {
    json!({"action": action, "path": path})
}

/// The same with a content.
fn manage_with(action: &str, path: &str, content: &str) -> Value {
    json!({"action": action, "path": path, "content": content})
}

/// Arguments of `move_files`.
fn arrange(action: &str, from: &str, to: &str) -> Value {
    json!({"action": action, "from": from, "to": to})
}

/// One member of each element.
fn each<'a>(list: &'a Value, member: &str) -> Vec<&'a str> {
    let list = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    list.iter().map(|element| element[member].as_str().unwrap_or_default()).collect()
}

/// What a thread does over and over while something else happens.
struct Meanwhile {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Meanwhile {
    fn again_and_again(mut act: impl FnMut() + Send + 'static) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let end = ends.clone();
        let thread = std::thread::spawn(move || {
            let mut times = 0;
            while !end.load(Ordering::Relaxed) {
                act();
                times += 1;
            }
            times
        });
        Self { ends, thread: Some(thread) }
    }

    /// Ends it; says how often it was done.
    fn end(mut self) -> u64 {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Meanwhile {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}
